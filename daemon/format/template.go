package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/tidemark-stream/tidemark/daemon/jsontext"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// rowTemplate is a compiled template. The usual one, text and {{.field}} and nothing else, is a list of pieces; anything
// more is left to text/template.
type rowTemplate struct {
	fields      []string // the fields it reads, sorted
	pieces      []piece  // nil when general is used
	general     *template.Template
	epochMillis bool
	data        map[string]any
	out         bytes.Buffer
}

// piece is a literal, or the value of fields[field].
type piece struct {
	text  string
	field int // -1: a literal
}

// parseTemplate compiles a template. The error is an *OptionError.
func parseTemplate(text string, epochMillis bool) (*rowTemplate, error) {
	t, err := template.New("template").Funcs(template.FuncMap{"json": toJSON, "upper": strings.ToUpper, "lower": strings.ToLower}).
		Option("missingkey=error").Parse(text)
	if err != nil {
		message := strings.TrimPrefix(err.Error(), "template: ")
		return nil, &OptionError{Option: "template", Message: message, Hint: `a template is text with fields in it: "{{.user}}: {{.events}}"`}
	}
	r := &rowTemplate{fields: []string{}, epochMillis: epochMillis, data: map[string]any{}}
	seen := fieldSet{}
	for _, d := range t.Templates() {
		if d.Tree != nil {
			seen.node(d.Root, true)
		}
	}
	r.fields = append(r.fields, slices.Sorted(maps.Keys(seen))...)
	if r.pieces = simplePieces(t.Root, r.fields); r.pieces == nil {
		r.general = t
	}
	return r, nil
}

// simplePieces returns nil for a template that is more than text and fields.
func simplePieces(root *parse.ListNode, fields []string) []piece {
	out := []piece{}
	for _, n := range root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			out = append(out, piece{text: string(n.Text), field: -1})
		case *parse.ActionNode:
			if len(n.Pipe.Decl) != 0 || len(n.Pipe.Cmds) != 1 || len(n.Pipe.Cmds[0].Args) != 1 {
				return nil
			}
			f, ok := n.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
			if !ok || len(f.Ident) != 1 {
				return nil
			}
			i, _ := slices.BinarySearch(fields, f.Ident[0])
			out = append(out, piece{field: i})
		default:
			return nil
		}
	}
	return out
}

// fieldSet collects the fields of the row that a template reads: {{.name}} where the dot is the row, and {{$.name}} anywhere.
type fieldSet map[string]bool

// node looks at n. dot says that the dot is the row there; inside range and with it is something else.
func (s fieldSet) node(node parse.Node, dot bool) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, c := range n.Nodes {
				s.node(c, dot)
			}
		}
	case *parse.ActionNode:
		s.pipe(n.Pipe, dot)
	case *parse.TemplateNode:
		s.pipe(n.Pipe, dot)
	case *parse.IfNode:
		s.branch(&n.BranchNode, dot, dot)
	case *parse.RangeNode:
		s.branch(&n.BranchNode, dot, false)
	case *parse.WithNode:
		s.branch(&n.BranchNode, dot, false)
	}
}

func (s fieldSet) branch(n *parse.BranchNode, dot, inside bool) {
	s.pipe(n.Pipe, dot)
	s.node(n.List, inside)
	s.node(n.ElseList, dot)
}

func (s fieldSet) pipe(p *parse.PipeNode, dot bool) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		for _, a := range c.Args {
			s.argument(a, dot)
		}
	}
}

func (s fieldSet) argument(node parse.Node, dot bool) {
	switch n := node.(type) {
	case *parse.FieldNode:
		if dot {
			s[n.Ident[0]] = true
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			s[n.Ident[1]] = true
		}
	case *parse.PipeNode:
		s.pipe(n, dot)
	case *parse.ChainNode:
		s.argument(n.Node, dot)
	}
}

var lineFeed = []byte{'\n'}

// append writes one row without a line feed at its end, whether the template has one or not. f's columns are bound to t.fields.
func (t *rowTemplate) append(dst []byte, f *Formatter, in *batch.Batch, row int) ([]byte, error) {
	if t.general == nil {
		at := len(dst)
		for _, p := range t.pieces {
			if p.field < 0 {
				dst = append(dst, p.text...)
			} else {
				dst = f.appendText(dst, in, p.field, row)
			}
		}
		return dst[:at+len(bytes.TrimSuffix(dst[at:], lineFeed))], nil
	}
	for i, name := range t.fields {
		t.data[name] = t.value(f.columns[i], in, row)
	}
	t.out.Reset()
	if err := t.general.Execute(&t.out, t.data); err != nil {
		return dst, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "template: "))
	}
	return append(dst, bytes.TrimSuffix(t.out.Bytes(), lineFeed)...), nil
}

// Float is a float in a template's data: it prints as all formats write floats, and counts as a number for printf and comparisons.
type Float float64

func (v Float) String() string { return string(jsontext.AppendFloat(nil, float64(v))) }

// value is a cell as a template sees it: int64, uint64, Float, bool, string, Time; what has no value is the empty string, which is
// false for {{if}}.
func (t *rowTemplate) value(c *batch.Column, in *batch.Batch, row int) any {
	if c == nil {
		return ""
	}
	bits := c.Bits[row]
	switch c.Kinds[row] {
	case batch.Bool:
		return bits != 0
	case batch.Int:
		return int64(bits)
	case batch.Uint:
		return bits
	case batch.Float:
		return Float(math.Float64frombits(bits))
	case batch.String:
		return string(in.Text(bits))
	case batch.JSON:
		return string(appendPlain(nil, in, batch.JSON, bits))
	case batch.Time:
		if noTime(int64(bits)) {
			return ""
		}
		return Time{int64(bits), t.epochMillis}
	}
	return ""
}

// toJSON is the template function json: it writes a value as JSON.
func toJSON(v any) (string, error) {
	switch v := v.(type) {
	case Time:
		if v.epochMillis {
			return v.String(), nil
		}
		return string(jsontext.AppendString(nil, []byte(v.String()))), nil
	case Float:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return `"` + v.String() + `"`, nil
		}
		return v.String(), nil
	case string:
		return string(jsontext.AppendString(nil, []byte(v))), nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}
