package plan

import (
	"errors"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/tidemark-stream/tidemark/daemon/decode"
)

// Expressions checks the syntax of expressions and finds the fields that they read. Types are left open.
type Expressions struct{}

// Check implements [ExprChecker].
func (Expressions) Check(src string, typeOf func(string) (string, bool)) (ExprInfo, []ExprMistake) {
	if strings.TrimSpace(src) == "" {
		return ExprInfo{}, []ExprMistake{{0, 1, "the expression is empty", ""}}
	}
	tree, err := parser.Parse(src)
	if err != nil {
		var at *file.Error
		if errors.As(err, &at) {
			return ExprInfo{}, []ExprMistake{{at.Column, 1, at.Message, ""}}
		}
		return ExprInfo{}, []ExprMistake{{0, len([]rune(src)), err.Error(), ""}}
	}
	v := &reads{}
	info := ExprInfo{Type: "any"}
	if p, ok := pathOf(tree.Node); ok {
		info.Field = p.String()
		info.Type, _ = typeOf(info.Field)
		info.Reads = []string{info.Field}
		return info, nil
	}
	ast.Walk(&tree.Node, v)
	for _, f := range v.fields {
		typeOf(f)
	}
	info.Reads = v.fields
	return info, nil
}

// reads collects the longest paths of an expression.
type reads struct {
	fields []string
}

// Visit is called after a node's children, so a longer path replaces the shorter one that it begins with.
func (r *reads) Visit(n *ast.Node) {
	p, ok := pathOf(*n)
	if !ok {
		return
	}
	if m, is := (*n).(*ast.MemberNode); is {
		if shorter, ok := pathOf(m.Node); ok {
			r.fields = without(r.fields, shorter.String())
		}
	}
	if !has(r.fields, p.String()) {
		r.fields = append(r.fields, p.String())
	}
}

// pathOf is the path that a node reads, when it is nothing but that.
func pathOf(n ast.Node) (decode.Path, bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return decode.Path{{Name: n.Value}}, true
	case *ast.ChainNode:
		return pathOf(n.Node)
	case *ast.MemberNode:
		p, ok := pathOf(n.Node)
		if !ok {
			return nil, false
		}
		switch i := n.Property.(type) {
		case *ast.StringNode:
			return append(p, decode.Step{Name: i.Value}), true
		case *ast.IntegerNode:
			return append(p, decode.Step{Index: i.Value, Array: true}), i.Value >= 0
		}
	}
	return nil, false
}
