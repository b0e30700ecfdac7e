package transform

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
)

// call is a call of a function by its name.
func (c *compiler) call(n *ast.CallNode) node {
	name, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return c.add(CodeUnsupported, n, "write f(x) instead of x.f()", "values have no methods")
	}
	f := function(name.Value)
	if f == nil {
		return c.unknown(n, name.Value)
	}
	args := make([]node, len(n.Arguments))
	types := make([]Type, len(n.Arguments))
	for i, a := range n.Arguments {
		args[i] = c.compile(a)
		types[i] = args[i].static()
	}
	if most := len(f.Params); len(args) < f.Min || len(args) > most && !f.More {
		return c.add(CodeArguments, n, "as in "+f.Example, "%s takes %s, not %d", f.Name, f.count(), len(args))
	}
	for i, t := range types {
		if !t.may(f.param(i)) {
			c.add(CodeOperand, n.Arguments[i], "", "%s takes %s, not %s", f.Name, f.param(i).people(), t.people())
		}
	}
	if t := types; len(f.kinds) > 0 && !slices.ContainsFunc(f.kinds, t[0].may) {
		c.add(CodeOperand, n.Arguments[0], "", "%s takes %s, not %s", f.Name, anyOf(f.kinds), t[0].people())
	}
	c.checkConstants(f, n, args)
	t := f.Result
	if f.result != nil {
		t = f.result(types)
	}
	return &callNode{typed{t}, f, args}
}

// anyOf lists types for people.
func anyOf(types []Type) string {
	text := ""
	for i, t := range types {
		switch {
		case i > 0 && i == len(types)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += t.people()
	}
	return text
}

// checkConstants finds mistakes in constant arguments that every row would run into.
func (c *compiler) checkConstants(f *Function, n *ast.CallNode, args []node) {
	for i, a := range args {
		k, ok := a.(*constNode)
		if !ok || k.v.text == nil {
			continue
		}
		text := string(k.v.text)
		switch {
		case f.Name == "truncate" && i == 1:
			if ms, err := parseDuration(text); err != nil {
				c.add(CodeConstant, n.Arguments[i], "", "%v", err)
			} else if ms <= 0 {
				c.add(CodeConstant, n.Arguments[i], "", "truncate needs a duration above zero")
			}
		case f.Name == "timestamp" && i == 1:
			if _, known := timeUnits[text]; !known {
				c.add(CodeConstant, n.Arguments[i], "write s, ms, us or ns", "%q is not a unit of numeric times", text)
			}
		}
	}
}

func (f *Function) count() string {
	switch most := len(f.Params); {
	case f.More:
		return fmt.Sprintf("%d or more arguments", f.Min)
	case f.Min == most && most == 1:
		return "1 argument"
	case f.Min == most:
		return fmt.Sprintf("%d arguments", most)
	default:
		return fmt.Sprintf("%d to %d arguments", f.Min, most)
	}
}

// function finds a function by its name.
func function(name string) *Function {
	for _, f := range Functions() {
		if f.Name == name {
			return &f
		}
	}
	return nil
}

// Names from other languages, and what they are called here.
var otherNames = map[string]string{
	"length": "len", "size": "len", "toLower": "lower", "tolower": "lower", "lowercase": "lower", "toUpper": "upper", "toupper": "upper", "uppercase": "upper",
	"str": "string", "toString": "string", "toInt": "int", "toFloat": "float", "number": "float", "ifnull": "coalesce", "nvl": "coalesce",
	"substring": "text[from:to]", "substr": "text[from:to]", "includes": "text contains part", "regex": "text matches pattern", "match": "text matches pattern",
	"if": "condition ? a : b", "date": "timestamp", "parse_time": "timestamp", "exists": "any", "every": "all", "some": "any",
}

func (c *compiler) unknown(n ast.Node, name string) node {
	if name == "now" {
		return c.add(CodeFunction, n, "use the record's own fields", "there is no now(): a result must not depend on when a record is processed")
	}
	var names []string
	for _, f := range append(Functions(), Predicates()...) {
		names = append(names, f.Name)
	}
	hint := ""
	if here := otherNames[name]; here != "" {
		hint = "write " + here
	} else if near := nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return c.add(CodeFunction, n, hint, "there is no function %s", name)
}

// predicate is a function over the elements of a list.
func (c *compiler) predicate(n *ast.BuiltinNode) node {
	var f *Function
	for _, p := range Predicates() {
		if p.Name == n.Name {
			f = &p
		}
	}
	if f == nil {
		return c.unknown(n, n.Name)
	}
	if len(n.Arguments) < f.Min || len(n.Arguments) > 2 {
		hint := "as in " + f.Example
		if n.Name == "count" && len(n.Arguments) == 1 {
			hint = "len(…) is the number of all elements"
		}
		return c.add(CodeArguments, n, hint, "%s needs a condition", n.Name)
	}
	out := &predicateNode{typed: typed{f.Result}, name: n.Name, list: c.need(n.Arguments[0], TypeList, n.Name)}
	if len(n.Arguments) == 2 {
		c.depth++
		body := n.Arguments[1]
		if p, ok := body.(*ast.PredicateNode); ok {
			body = p.Node
		}
		switch n.Name {
		case "map":
			out.body = c.compile(body)
		case "sum":
			out.body = c.need(body, TypeNumber, "sum")
		default:
			out.body = c.need(body, TypeBool, n.Name)
		}
		c.depth--
	}
	return out
}

// element is # and #index.
func (c *compiler) element(n *ast.PointerNode) node {
	switch {
	case c.depth == 0:
		return c.add(CodeUnsupported, n, "", "# is for conditions over the elements of a list")
	case n.Name == "index":
		return &elementNode{typed{TypeInt}, true}
	case n.Name != "":
		return c.add(CodeUnsupported, n, "there are # and #index", "there is no #%s", n.Name)
	}
	return &elementNode{typed{TypeAny}, false}
}
