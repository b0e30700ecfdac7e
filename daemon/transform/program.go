package transform

import (
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// CodeExpression is the reason of rows for which an expression could not be computed.
const CodeExpression = "expression"

// Program is a compiled expression. It is immutable and may be used by many goroutines, each with an [Evaluator] of its own.
type Program struct {
	source string
	label  string // the source, shortened, for messages
	root   node
	refs   []Ref
}

// Ref is a field that an expression uses.
type Ref struct {
	Path   string // user, a.b, a["x.y"], a[0]
	Steps  []Step
	Offset int // characters before its first use in the source text
	Width  int

	prefixes []string // paths of the fields that it lies in, outermost first
}

// Source is the text that the program was compiled from.
func (p *Program) Source() string { return p.source }

// Fields are the fields that the expression uses, each once, in the order of their first use: what decode has to project. A batch may
// instead have a column that a field lies in ("a" for "a.b"), which is then walked for each row.
func (p *Program) Fields() []Ref { return p.refs }

// Paths are the paths of Fields.
func (p *Program) Paths() []string {
	out := make([]string, len(p.refs))
	for i := range p.refs {
		out[i] = p.refs[i].Path
	}
	return out
}

// Type is what is known about the results.
func (p *Program) Type() Type { return p.root.static() }

// Field returns the path if the expression is nothing but a field.
func (p *Program) Field() (string, bool) {
	if f, ok := p.root.(*fieldNode); ok {
		return p.refs[f.ref].Path, true
	}
	return "", false
}

// Constant returns the value of an expression without fields, as a cell's kind and bits, or as text.
func (p *Program) Constant() (kind batch.Kind, bits uint64, text string, ok bool) {
	k, ok := p.root.(*constNode)
	if !ok {
		return 0, 0, "", false
	}
	if k.v.kind == batch.JSON {
		return batch.JSON, 0, string(appendJSON(nil, k.v)), true
	}
	return k.v.kind, k.v.bits, string(k.v.text), true
}

// Evaluator runs a program. It keeps memory from batch to batch and belongs to one goroutine at a time.
type Evaluator struct {
	p *Program
	m machine
}

// Evaluator makes a new evaluator.
func (p *Program) Evaluator() *Evaluator { return &Evaluator{p: p} }

// Program is what the evaluator runs.
func (e *Evaluator) Program() *Program { return e.p }

// Eval computes the expression for the alive rows of b and writes the values into out, a column of b (or of the same length). Texts
// that are computed go to b.Extra. Rows for which it cannot be computed are refused with CodeExpression and leave the selection;
// it returns how many. Cells of dead rows become Missing.
//
// out must not be a column that the expression reads.
func (e *Evaluator) Eval(b *batch.Batch, out *batch.Column) int {
	sel := e.m.begin(b, e.p.refs)
	if len(sel) < b.N {
		clear(out.Kinds)
		clear(out.Bits)
	}
	out.Present = 0
	e.p.root.columnar(&e.m, sel, out)
	if out.Present&(1<<failed) == 0 {
		return 0
	}
	return e.refuse(b, sel, out)
}

// refuse takes the rows that have failed out of b.
func (e *Evaluator) refuse(b *batch.Batch, sel []uint32, out *batch.Column) int {
	from := len(b.Bad)
	out.Present = 0
	for _, row := range sel {
		if out.Kinds[row] == failed {
			b.Refuse(int(row), CodeExpression, e.p.label+": "+e.m.errs[out.Bits[row]])
			out.Kinds[row], out.Bits[row] = batch.Missing, 0
			continue
		}
		out.Present |= 1 << out.Kinds[row]
	}
	b.Narrow(from)
	return len(b.Bad) - from
}
