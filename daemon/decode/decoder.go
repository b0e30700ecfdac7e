package decode

import (
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Decoder turns rows of one format into columns. It belongs to one goroutine.
type Decoder struct {
	fields []field
	format format
	text   *textDecoder // the format's shared part; nil for json
	named  []string     // see Names
	bad    badRows
}

// format is what each format implements: it fills cols (cell by cell, all of them for every row that is not refused) for the
// live rows of b in order. cols[i] belongs to fields[i]; the column of Spec.Whole, where asked for, is the last one.
type format interface {
	decode(b *batch.Batch, cols []batch.Column, bad *badRows)
}

// overwriter is a format that may write a cell twice; Present is then counted again.
type overwriter interface{ overwrote() bool }

// field is a Field with everything resolved.
type field struct {
	Field
	flat  string // name in formats without nesting
	times *Timestamps
}

// badRows collects refusals in the order of rows.
type badRows struct{ rows []batch.BadRow }

func (r *badRows) refuse(row int, code, message string) {
	r.rows = append(r.rows, batch.BadRow{Row: uint32(row), Code: code, Message: message})
}

// New checks spec and builds a decoder for it. All mistakes are reported at once; the decoder is nil when there are any.
func New(spec Spec) (*Decoder, Errors) {
	c := checker{spec: &spec}
	d := &Decoder{fields: c.resolveFields()}
	d.format, d.text = c.build(d)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	if spec.Whole {
		d.fields = append(d.fields, field{Field: Field{Name: WholeColumn, Type: TypeJSON}})
	}
	return d, nil
}

// Check says what is wrong with spec.
func Check(spec Spec) Errors {
	_, errs := New(spec)
	return errs
}

// Names are the fields that rows of this format have, as far as the spec tells (declared columns, groups of the pattern,
// the fixed fields of clf and syslog). Nil when only the data tells, as for json, logfmt and csv with a header row.
func (d *Decoder) Names() []string { return d.named }

// SetReference gives the processing time (ms) at which the next batches arrived. Times without a year get the year that
// brings them nearest to it. Without a reference and without Spec.Year such times are refused.
func (d *Decoder) SetReference(ms int64) {
	for i := range d.fields {
		if t := d.fields[i].times; t != nil {
			t.SetReference(ms)
		}
	}
	if d.text != nil && d.text.times != nil {
		d.text.times.SetReference(ms)
	}
}

// Decode appends one column for each field of the spec to b, in their order (then WholeColumn, if asked for). Rows that
// cannot be decoded are added to b.Bad, ascending, and leave b.Sel. Rows that were not selected before are not looked at;
// the cells of rows that are not selected afterwards mean nothing.
func (d *Decoder) Decode(b *batch.Batch) {
	base, from := len(b.Columns), len(b.Bad)
	for i := range d.fields {
		b.AddColumn(d.fields[i].Name)
	}
	cols := b.Columns[base:]
	d.bad.rows = b.Bad
	d.format.decode(b, cols, &d.bad)
	b.Bad, d.bad.rows = d.bad.rows, nil
	b.Narrow(from)
	refused := len(b.Bad)
	if d.text == nil {
		// Formats of text convert while they split; the values of json come as they are.
		for i := range d.fields {
			next := len(b.Bad)
			d.convertColumn(b, &cols[i], &d.fields[i])
			b.Narrow(next)
		}
		if len(b.Bad) > refused {
			slices.SortFunc(b.Bad[from:], func(x, y batch.BadRow) int { return int(x.Row) - int(y.Row) })
		}
	}
	o, ok := d.format.(overwriter)
	if len(b.Bad) > from || ok && o.overwrote() {
		for i := range cols {
			resetPresent(b, &cols[i])
		}
	}
	fillDead(b, cols)
}

// fillDead gives the cells of rows that are not selected a kind that the column has anyway: memory is recycled, so anything
// could stand there, and one refused row must not make a uniform column look mixed.
func fillDead(b *batch.Batch, cols []batch.Column) {
	if b.Sel == nil {
		return
	}
	for c := range cols {
		col := &cols[c]
		kind := batch.Missing
		for k := batch.Missing; k <= batch.Time; k++ {
			if col.Present&(1<<k) != 0 {
				kind = k
				break
			}
		}
		next := 0
		for _, r := range b.Sel {
			for ; next < int(r); next++ {
				col.Kinds[next], col.Bits[next] = kind, 0
			}
			next = int(r) + 1
		}
		for ; next < b.N; next++ {
			col.Kinds[next], col.Bits[next] = kind, 0
		}
		if len(b.Sel) == 0 && b.N > 0 {
			col.Present |= 1 << kind
		}
	}
}

// resetPresent recounts the kinds of a column, for when a cell was overwritten or belongs to a refused row.
func resetPresent(b *batch.Batch, col *batch.Column) {
	col.Present = 0
	if b.Sel == nil {
		for _, k := range col.Kinds[:b.N] {
			col.Present |= 1 << k
		}
		return
	}
	for _, r := range b.Sel {
		col.Present |= 1 << col.Kinds[r]
	}
}
