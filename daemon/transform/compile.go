package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// maxSource bounds the text of an expression: the parser recurses into brackets.
const maxSource = 16 << 10

// Compile checks an expression against a schema and compiles it. want is the type that the result must be able to have; TypeAny accepts
// everything. All mistakes are returned, not only the first, except that after a mistake of syntax there is nothing to check.
func Compile(source string, schema Schema, want Type) (*Program, Mistakes) {
	tree, mistakes := parse(source)
	if mistakes != nil {
		return nil, mistakes
	}
	c := &compiler{source: source, schema: schema, refs: map[string]int{}}
	root := c.compile(tree)
	if len(c.mistakes) == 0 && !canBe(root, want) {
		c.add(CodeResult, tree, "", "the expression gives %s; %s is needed", given(root), want.people())
	}
	if len(c.mistakes) > 0 {
		slices.SortStableFunc(c.mistakes, func(a, b Mistake) int { return a.Offset - b.Offset })
		return nil, c.mistakes
	}
	return &Program{source: source, label: shortened(source, 80), root: root, refs: c.list}, nil
}

// parse reads the text with expr's parser, whose functions are all taken away: names in front of a bracket are ours.
func parse(source string) (tree ast.Node, mistakes Mistakes) {
	if len(source) > maxSource {
		return nil, Mistakes{{Code: CodeSyntax, Width: 1, Summary: fmt.Sprintf("the expression has %d bytes; %d are allowed", len(source), maxSource)}}
	}
	if strings.TrimSpace(source) == "" {
		return nil, Mistakes{{Code: CodeSyntax, Width: 1, Summary: "the expression is empty"}}
	}
	if !utf8.ValidString(source) {
		return nil, Mistakes{{Code: CodeSyntax, Width: 1, Summary: "the expression is not valid UTF-8"}}
	}
	config := conf.CreateNew()
	for name := range config.Builtins {
		config.Disabled[name] = true
	}
	t, err := parser.ParseWithConfig(source, config)
	if err == nil {
		return t.Node, nil
	}
	m := Mistake{Code: CodeSyntax, Width: 1, Summary: err.Error()}
	var at *file.Error
	if errors.As(err, &at) {
		m.Offset = min(at.From, utf8.RuneCountInString(source))
		m.Width = max(at.To-at.From, 1)
		m.Summary, m.Hint = reword(at.Message)
		if number, ok := outOfRange(at.Message); ok { // the parser stands behind it
			m.Summary, m.Offset, m.Width = "the number "+number+" is out of range", max(m.Offset-len(number), 0), len(number)
		}
	}
	return nil, Mistakes{m}
}

// reword says what expr's parser says in the words of this package.
func reword(message string) (summary, hint string) {
	token, unexpected := strings.CutPrefix(message, "unexpected token ")
	if _, text, ok := strings.Cut(token, `("`); ok {
		token = strings.TrimSuffix(text, `")`)
	}
	switch {
	case token == "EOF":
		return "the expression ends too early", ""
	case unexpected && token == "=":
		return "= is not expected here", "equality is written =="
	case unexpected && token == "#":
		return "# is for conditions over the elements of a list", ""
	case unexpected:
		return token + " is not expected here", ""
	case strings.HasPrefix(message, "unrecognized character"):
		return message, `a field whose name is not a word is written $env["the name"]`
	case message == "literal not terminated":
		return "the string is not closed", ""
	}
	return message, ""
}

// outOfRange finds the number that is said to be too large.
func outOfRange(message string) (number string, ok bool) {
	_, number, ok = strings.Cut(message, `parsing "`)
	if !ok || !strings.HasSuffix(message, "value out of range") {
		return "", false
	}
	number, _, ok = strings.Cut(number, `"`)
	return number, ok
}

// compiler turns expr's tree into nodes.
type compiler struct {
	source   string
	schema   Schema
	refs     map[string]int
	list     []Ref
	mistakes Mistakes

	locals []local // of let, innermost last
	slots  int
	depth  int // of predicates
}

type local struct {
	name string
	slot int
	t    Type
}

// broken stands for a part with a mistake, so that the rest can be checked all the same.
var broken = &constNode{typed{TypeAny}, null}

// add notes a mistake about a part of the text.
func (c *compiler) add(code string, at ast.Node, hint, format string, args ...any) node {
	from, to := extent(at)
	from = min(from, utf8.RuneCountInString(c.source))
	c.mistakes = append(c.mistakes, Mistake{Code: code, Offset: from, Width: max(to-from, 1), Hint: hint, Summary: fmt.Sprintf(format, args...)})
	return broken
}

// extent is the first and last character of everything in a tree.
func extent(n ast.Node) (from, to int) {
	v := &extentVisitor{from: n.Location().From, to: n.Location().To}
	ast.Walk(&n, v)
	return v.from, v.to
}

type extentVisitor struct{ from, to int }

func (v *extentVisitor) Visit(n *ast.Node) {
	if l := (*n).Location(); l.To > 0 {
		v.from, v.to = min(v.from, l.From), max(v.to, l.To)
	}
}

// compile turns one node of the tree into ours, and computes it at once if it consists of constants.
func (c *compiler) compile(n ast.Node) node {
	before := len(c.mistakes)
	out := c.part(n)
	if len(c.mistakes) > before || !foldable(out) {
		return out
	}
	m := &machine{b: &batch.Batch{N: 1}}
	v := out.compute(m)
	if v.kind == failed {
		return c.add(CodeConstant, n, "", "%s", m.errs[v.bits])
	}
	if v.isText() && v.list == nil {
		v.text = slices.Clone(v.text)
	}
	return &constNode{typed{typeOf(v, out.static())}, v}
}

func (c *compiler) part(n ast.Node) node {
	switch n := n.(type) {
	case *ast.NilNode:
		return &constNode{typed{TypeNull}, null}
	case *ast.BoolNode:
		return &constNode{typed{TypeBool}, boolValue(n.Value)}
	case *ast.IntegerNode:
		return &constNode{typed{TypeInt}, intValue(int64(n.Value))}
	case *ast.FloatNode:
		return &constNode{typed{TypeFloat}, floatValue(n.Value)}
	case *ast.StringNode:
		return &constNode{typed{TypeString}, textValue([]byte(n.Value))}
	case *ast.IdentifierNode:
		return c.identifier(n)
	case *ast.MemberNode:
		return c.member(n)
	case *ast.ChainNode:
		return c.part(n.Node) // a?.b: here every step from nothing gives null
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.VariableDeclaratorNode:
		return c.let(n)
	case *ast.ArrayNode:
		out := &listNode{typed: typed{TypeList}}
		for _, e := range n.Nodes {
			out.items = append(out.items, c.compile(e))
		}
		return out
	case *ast.MapNode:
		out := &objectNode{typed: typed{TypeObject}}
		for _, p := range n.Pairs {
			pair := p.(*ast.PairNode)
			out.names = append(out.names, c.compile(pair.Key))
			out.values = append(out.values, c.compile(pair.Value))
		}
		return out
	case *ast.SliceNode:
		return c.slice(n)
	case *ast.CallNode:
		return c.call(n)
	case *ast.BuiltinNode:
		return c.predicate(n)
	case *ast.PointerNode:
		return c.element(n)
	case *ast.SequenceNode:
		return c.add(CodeUnsupported, n, "write one expression", "; puts several expressions in a row, of which only one would count")
	case *ast.BytesNode:
		return c.add(CodeUnsupported, n, `write a string: "…"`, "there are no byte strings")
	}
	return c.add(CodeUnsupported, n, "", "this is not part of the language here")
}

func (c *compiler) slice(n *ast.SliceNode) node {
	out := &sliceNode{of: c.compile(n.Node)}
	switch t := out.of.static(); {
	case t == TypeString, t == TypeList:
		out.t = t
	case !t.may(TypeString) && !t.may(TypeList):
		return c.add(CodeOperand, n, "", "[:] is for lists and strings, not %s", t.people())
	}
	for i, e := range []ast.Node{n.From, n.To} {
		if e == nil {
			continue
		}
		x := c.need(e, TypeInt, "[:]")
		if i == 0 {
			out.from = x
		} else {
			out.to = x
		}
	}
	return out
}

func (c *compiler) conditional(n *ast.ConditionalNode) node {
	out := &condNode{cond: c.need(n.Cond, TypeBool, "a condition"), yes: c.compile(n.Exp1), no: c.compile(n.Exp2)}
	out.t = joined(out.yes.static(), out.no.static())
	return out
}

func (c *compiler) let(n *ast.VariableDeclaratorNode) node {
	bound := c.compile(n.Value)
	slot := c.slots
	c.slots++
	c.locals = append(c.locals, local{n.Name, slot, bound.static()})
	body := c.compile(n.Expr)
	c.locals = c.locals[:len(c.locals)-1]
	return &letNode{typed{body.static()}, slot, bound, body}
}

// need compiles n and notes a mistake if its type cannot be the wanted one.
func (c *compiler) need(n ast.Node, want Type, who string) node {
	out := c.compile(n)
	if !canBe(out, want) {
		return c.add(CodeOperand, n, "", "%s takes %s, not %s", who, want.people(), given(out))
	}
	return out
}
