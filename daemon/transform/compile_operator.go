package transform

import (
	"fmt"
	"regexp"

	"github.com/expr-lang/expr/ast"
)

func (c *compiler) unary(n *ast.UnaryNode) node {
	switch n.Operator {
	case "not", "!":
		return &notNode{typed{TypeBool}, c.need(n.Node, TypeBool, "not")}
	case "-":
		of := c.need(n.Node, TypeNumber, "-")
		return &signNode{typed{numberType(of.static())}, of}
	case "+":
		of := c.need(n.Node, TypeNumber, "+")
		return &plusNode{typed{numberType(of.static())}, of}
	}
	return c.add(CodeUnsupported, n, "", "there is no operator %s", n.Operator)
}

func numberType(t Type) Type {
	if t.numeric() {
		return t
	}
	return TypeNumber
}

var relations = map[string]relation{"==": equal, "!=": unequal, "<": less, "<=": lessOrEqual, ">": greater, ">=": greaterOrEqual}

func (c *compiler) binary(n *ast.BinaryNode) node {
	switch n.Operator {
	case "and", "&&", "or", "||":
		word := "and"
		if n.Operator == "or" || n.Operator == "||" {
			word = "or"
		}
		return &logicNode{typed{TypeBool}, word == "or", c.need(n.Left, TypeBool, word), c.need(n.Right, TypeBool, word)}
	case "??":
		l, r := c.compile(n.Left), c.compile(n.Right)
		return &elseNode{typed{joined(l.static(), r.static())}, l, r}
	case "==", "!=", "<", "<=", ">", ">=":
		return c.comparison(n)
	case "in":
		return c.membership(n)
	case "contains", "startsWith", "endsWith":
		return &textNode{typed{TypeBool}, n.Operator, textTests[n.Operator], c.need(n.Left, TypeString, n.Operator), c.need(n.Right, TypeString, n.Operator)}
	case "matches":
		return c.match(n)
	case "+", "-", "*", "/", "%", "**", "^":
		return c.arithmetic(n)
	case "..":
		return c.add(CodeUnsupported, n, "write a >= 1 and a <= 3", "there are no ranges")
	}
	return c.add(CodeUnsupported, n, "", "there is no operator %s", n.Operator)
}

// isNil is true for the word nil itself.
func isNil(n ast.Node) bool {
	_, ok := n.(*ast.NilNode)
	return ok
}

func (c *compiler) comparison(n *ast.BinaryNode) node {
	rel := relations[n.Operator]
	if isNil(n.Left) || isNil(n.Right) {
		other := n.Left
		if isNil(n.Left) {
			other = n.Right
		}
		of := c.compile(other)
		if rel > unequal {
			return c.add(CodeOperand, n, "write == nil or != nil", "nothing is less or greater than nil")
		}
		return &nullNode{typed{TypeBool}, of, rel == unequal}
	}
	// `not a == b` means (not a) == b in the grammar, which nobody means.
	if u, ok := n.Left.(*ast.UnaryNode); ok && u.Operator == "not" {
		return c.add(CodeOperand, n, "write not (a == b), or a != b", "not belongs to what is left of %s alone", n.Operator)
	}
	l, r := c.compile(n.Left), c.compile(n.Right)
	lt, rt := l.static(), r.static()
	if !lt.may(rt) && !(lt.numeric() && rt.numeric()) && !(isList(lt) && isList(rt)) {
		return c.add(CodeOperand, n, comparisonHint(lt, rt), "%s is compared with %s", lt.people(), rt.people())
	}
	if rel > unequal {
		for i, t := range []Type{lt, rt} {
			if t == TypeBool || isList(t) {
				return c.add(CodeOperand, []ast.Node{n.Left, n.Right}[i], "", "%s is for numbers, strings and times, not %s", n.Operator, t.people())
			}
		}
	}
	return &compareNode{typed{TypeBool}, rel, l, r}
}

func isList(t Type) bool { return t == TypeList || t == TypeObject }

func comparisonHint(a, b Type) string {
	if b == TypeTime {
		a, b = b, a
	}
	switch {
	case a == TypeTime && b == TypeString:
		return `write timestamp("…")`
	case a == TypeTime && b.numeric():
		return "write int(…) around the timestamp for its milliseconds"
	case a.numeric() || b.numeric():
		return "write int(…) or float(…) around the string, or declare the field's type"
	}
	return ""
}

func (c *compiler) arithmetic(n *ast.BinaryNode) node {
	op := n.Operator[0]
	if n.Operator == "**" {
		op = '^'
	}
	if name := c.hyphened(n); name != "" {
		return c.add(CodeField, n, fmt.Sprintf("write $env[%q]", name), "this subtracts one field from another, and there is a field %q", name)
	}
	l, r := c.compile(n.Left), c.compile(n.Right)
	lt, rt := l.static(), r.static()
	t, ok := arithmeticType(op, lt, rt)
	if !ok {
		hint := ""
		if op == '+' && (lt == TypeString || rt == TypeString) {
			hint = "write string(…) around what is not a string"
		}
		return c.add(CodeOperand, n, hint, "%s %s %s is not possible", lt.people(), n.Operator, rt.people())
	}
	return &arithNode{typed{t}, op, l, r}
}

// hyphened is the name of a known field with a hyphen that n was probably meant to be: user-id.
func (c *compiler) hyphened(n *ast.BinaryNode) string {
	l, lok := n.Left.(*ast.IdentifierNode)
	r, rok := n.Right.(*ast.IdentifierNode)
	if n.Operator != "-" || !lok || !rok {
		return ""
	}
	name := l.Value + "-" + r.Value
	if _, known := c.schema.Fields[name]; known {
		return name
	}
	return ""
}

// arithmeticType is the type of a op b; false when no row could have a result.
func arithmeticType(op byte, a, b Type) (Type, bool) {
	if a == TypeNull || b == TypeNull {
		return TypeNull, true
	}
	known := func(t Type) bool { return t != TypeAny }
	switch {
	case op == '/' || op == '^':
		return TypeFloat, a.may(TypeNumber) && b.may(TypeNumber)
	case op == '%':
		return TypeInt, a.may(TypeInt) && b.may(TypeInt)
	case a == TypeInt && b == TypeInt:
		return TypeInt, true
	case a.numeric() && b.numeric():
		if a == TypeFloat || b == TypeFloat {
			return TypeFloat, true
		}
		return TypeNumber, true
	case op == '*':
		return TypeNumber, a.may(TypeNumber) && b.may(TypeNumber)
	case op == '+' && a == TypeString && b == TypeString:
		return TypeString, true
	case a == TypeTime && b == TypeTime:
		return TypeInt, op == '-'
	case a == TypeTime && known(b):
		return TypeTime, b.may(TypeInt)
	case b == TypeTime && known(a):
		return TypeTime, op == '+' && a.may(TypeInt)
	case known(a) && known(b):
		return TypeAny, false
	}
	// One side is decided row by row.
	k := a
	if k == TypeAny {
		k = b
	}
	switch k {
	case TypeBool, TypeList, TypeObject:
		return TypeAny, false
	case TypeString:
		return TypeString, op == '+'
	}
	return TypeAny, true
}

func (c *compiler) membership(n *ast.BinaryNode) node {
	of, list := c.compile(n.Left), c.compile(n.Right)
	if t := list.static(); !t.may(TypeList) && !t.may(TypeObject) {
		hint := ""
		if t == TypeString {
			hint = "for a part of a text write text contains part"
		}
		return c.add(CodeOperand, n.Right, hint, "in needs a list or an object, not %s", t.people())
	}
	out := &inNode{typed: typed{TypeBool}, of: of, list: list}
	k, constant := list.(*constNode)
	if !constant || k.v.list == nil {
		return out
	}
	out.set = map[string]bool{}
	fits := len(k.v.list.items) == 0
	for i, v := range k.v.list.items {
		if v.isNull() {
			return c.add(CodeOperand, n.Right, "write x == nil or x in […]", "nil in a list is never found")
		}
		if v.list != nil || v.kind > 0 && v.isText() && v.kind != textValue(nil).kind {
			out.set = nil // lists in lists are compared one by one
			return out
		}
		out.set[string(identity(nil, v))] = true
		out.some = append(out.some, k.v.list.items[i])
		fits = fits || of.static().may(typeOf(v, TypeAny)) || of.static().numeric() && v.isNumber()
	}
	if !fits {
		return c.add(CodeOperand, n, "", "%s is never among these values", of.static().people())
	}
	return out
}

func (c *compiler) match(n *ast.BinaryNode) node {
	out := &matchNode{typed: typed{TypeBool}, left: c.need(n.Left, TypeString, "matches"), right: c.need(n.Right, TypeString, "matches")}
	if k, ok := out.right.(*constNode); ok && k.v.text != nil {
		p, err := regexp.Compile(string(k.v.text))
		if err != nil {
			return c.add(CodeConstant, n.Right, "patterns are RE2: https://github.com/google/re2/wiki/Syntax", "%s", err.Error())
		}
		out.pattern = p
	}
	return out
}
