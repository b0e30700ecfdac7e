package transform

import (
	"sort"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// identifier is a name: of let, or a field.
func (c *compiler) identifier(n *ast.IdentifierNode) node {
	for i := len(c.locals) - 1; i >= 0; i-- {
		if l := c.locals[i]; l.name == n.Value {
			return &localNode{typed{l.t}, l.slot}
		}
	}
	switch n.Value {
	case "$env":
		return c.add(CodeUnsupported, n, `write $env["name"] for a field whose name is not a word`, "$env by itself has no value")
	case "null":
		return c.add(CodeSyntax, n, "write nil", "null is written nil")
	}
	return c.field([]Step{{Name: n.Value}}, n)
}

// field is a reference to a field of the record.
func (c *compiler) field(steps []Step, at ast.Node) node {
	path := pathString(steps)
	t, known := c.schema.look(steps)
	if !known {
		if inner, ok := c.schema.Fields[pathString(steps[:1])]; ok && len(steps) > 1 {
			return c.add(CodeField, at, "", "%s is %s and has nothing inside", pathString(steps[:1]), inner.people())
		}
		names := make([]string, 0, len(c.schema.Fields))
		for name := range c.schema.Fields {
			names = append(names, name)
		}
		sort.Strings(names)
		hint := "there are " + strings.Join(names, ", ")
		if near := nearest(path, names); near != "" {
			hint = "did you mean " + near + "?"
		} else if len(names) == 0 {
			hint = ""
		}
		return c.add(CodeField, at, hint, "there is no field %s", path)
	}
	i, ok := c.refs[path]
	if !ok {
		i = len(c.list)
		c.refs[path] = i
		from, to := extent(at)
		r := Ref{Path: path, Steps: steps, Offset: from, Width: max(to-from, 1)}
		for k := 1; k < len(steps); k++ {
			r.prefixes = append(r.prefixes, pathString(steps[:k]))
		}
		c.list = append(c.list, r)
	}
	return &fieldNode{typed{t}, i}
}

// path is the constant path of a chain of members that begins with a field; false when it is something else.
func (c *compiler) path(n ast.Node) ([]Step, bool) {
	switch n := n.(type) {
	case *ast.ChainNode:
		return c.path(n.Node)
	case *ast.IdentifierNode:
		for _, l := range c.locals {
			if l.name == n.Value {
				return nil, false
			}
		}
		if n.Value == "$env" {
			return nil, true
		}
		return []Step{{Name: n.Value}}, true
	case *ast.MemberNode:
		steps, ok := c.path(n.Node)
		if !ok {
			return nil, false
		}
		switch p := n.Property.(type) {
		case *ast.StringNode:
			return append(steps, Step{Name: p.Value}), true
		case *ast.IntegerNode:
			if p.Value >= 0 && len(steps) > 0 {
				return append(steps, Step{Index: p.Value, Array: true}), true
			}
		}
	}
	return nil, false
}

func (c *compiler) member(n *ast.MemberNode) node {
	if steps, ok := c.path(n); ok && len(steps) > 0 {
		return c.field(steps, n)
	}
	of := c.compile(n.Node)
	if t := of.static(); !t.may(TypeList) && !t.may(TypeObject) {
		return c.add(CodeOperand, n, "", "%s has nothing inside", t.people())
	}
	if p, ok := n.Property.(*ast.StringNode); ok {
		return &memberNode{of: of, name: p.Value}
	}
	key := c.compile(n.Property)
	if t := key.static(); !t.may(TypeInt) && !t.may(TypeString) {
		return c.add(CodeOperand, n.Property, "", "[…] takes a name or a whole number, not %s", t.people())
	}
	return &memberNode{of: of, key: key}
}
