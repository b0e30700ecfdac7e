package transform

import "github.com/tidemark-stream/tidemark/sdk/batch"

// Filter keeps the rows for which a condition is true; false and null rows are filtered. It belongs to one goroutine.
type Filter struct {
	where  *Evaluator
	result batch.Column
}

// NewFilter makes a filter of a program that was compiled with TypeBool.
func NewFilter(where *Program) *Filter { return &Filter{where: where.Evaluator()} }

// Apply narrows the selection of b. A row whose condition cannot be computed, or is no bool, is refused.
func (f *Filter) Apply(b *batch.Batch) Counts {
	c := Counts{In: uint64(b.Alive())}
	if cap(f.result.Kinds) < b.N {
		f.result.Kinds, f.result.Bits = make([]batch.Kind, b.N), make([]uint64, b.N)
	}
	f.result.Kinds, f.result.Bits = f.result.Kinds[:b.N], f.result.Bits[:b.N]
	c.Rejected = uint64(f.where.Eval(b, &f.result))
	if f.result.Present&^(1<<batch.Bool|1<<batch.Null|1<<batch.Missing) != 0 {
		c.Rejected += f.notBool(b)
	}
	sel := b.Select()
	b.Sel = f.passing(sel)
	c.Out = uint64(len(b.Sel))
	c.Filtered = uint64(len(sel)) - c.Out
	return c
}

// passing narrows sel, in place, to the rows with a true condition.
func (f *Filter) passing(sel []uint32) []uint32 {
	kinds, bits := f.result.Kinds, f.result.Bits
	count := 0
	if k, ok := f.result.Uniform(); ok && k == batch.Bool {
		for _, row := range sel { // without a branch, because nobody can predict it
			sel[count] = row
			count += int(bits[row])
		}
		return sel[:count]
	}
	for _, row := range sel {
		if kinds[row] == batch.Bool && bits[row] != 0 {
			sel[count] = row
			count++
		}
	}
	return sel[:count]
}

// notBool refuses the rows whose condition has another type, which only expressions of unknown type can have.
func (f *Filter) notBool(b *batch.Batch) uint64 {
	from := len(b.Bad)
	for _, row := range b.Select() {
		if k := f.result.Kinds[row]; k > batch.Bool {
			b.Refuse(int(row), CodeExpression, f.where.p.label+": a condition is a bool, not "+describe(f.where.m.cell(&f.result, int(row))))
		}
	}
	b.Narrow(from)
	return uint64(len(b.Bad) - from)
}
