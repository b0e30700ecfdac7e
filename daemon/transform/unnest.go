package transform

import "github.com/tidemark-stream/tidemark/sdk/batch"

// CodeNotAList is the reason of rows whose field unnest cannot take apart.
const CodeNotAList = "not_a_list"

// Unnest makes a row of each element of an array, with the other fields beside it. It belongs to one goroutine.
type Unnest struct {
	ref   Ref
	as    string
	index string
	m     machine

	origin []uint32
	starts []uint32
}

// NewUnnest takes the field apart that is named by a program (Program.Field). as names the column of the elements; "" is the field's
// own path. index names a column for their numbers, from 0; "" is none.
func NewUnnest(field *Program, as, index string) *Unnest {
	u := &Unnest{ref: field.refs[0], as: as, index: index}
	if as == "" {
		u.as = u.ref.Path
	}
	return u
}

// Apply takes over b and returns a batch with a row for each element, in order, or for a batch without any an empty one. Times, marks,
// the places of the records and the source's position go along; raw rows do not, because one raw row has become several.
//
// A row where the field is null or missing, or the array is empty, counts as filtered. A row where it is something else is
// refused: rejects gets b before it is released, to take its new Bad entries. It may be nil.
func (u *Unnest) Apply(b *batch.Batch, rejects func(b *batch.Batch, from int)) (*batch.Batch, Counts) {
	from := len(b.Bad)
	c := Counts{In: uint64(b.Alive())}
	sel := u.m.begin(b, []Ref{u.ref})
	field := &fieldNode{ref: 0}

	u.origin = u.origin[:0]
	out := b.Fork()
	var elems batch.Column
	u.starts = u.starts[:0]
	next := 0
	for _, row := range sel {
		for ; next <= int(row); next++ {
			u.starts = append(u.starts, uint32(len(u.origin)))
		}
		u.m.row = int(row)
		v := field.compute(&u.m)
		if v.isNull() {
			c.Filtered++
			continue
		}
		before := len(u.origin)
		ok := v.kind == batch.JSON && elements(v.text, func(e []byte) bool {
			u.origin = append(u.origin, row)
			u.put(out, &elems, b, v, e)
			return true
		})
		switch {
		case !ok:
			b.Refuse(int(row), CodeNotAList, u.ref.Path+" is "+describeNoList(v)+", not a list")
		case len(u.origin) == before:
			c.Filtered++
		}
	}
	for ; next <= b.N; next++ {
		u.starts = append(u.starts, uint32(len(u.origin)))
	}
	u.finish(out, b, elems)
	c.Rejected = uint64(len(b.Bad) - from)
	c.Out = uint64(len(u.origin))
	if c.Rejected > 0 {
		b.Narrow(from)
		if rejects != nil {
			rejects(b, from)
		}
	}
	b.Release()
	return out, c
}

// put adds an element. Text without escapes is not copied: it lies in the batch already.
func (u *Unnest) put(out *batch.Batch, elems *batch.Column, b *batch.Batch, list value, e []byte) {
	v := fromJSON(e)
	bits := v.bits
	if v.isText() {
		if off, inside := offsetIn(list.text, v.text); inside && list.stored {
			bits = list.bits&^0xffffffff + uint64(off)<<32 | uint64(len(v.text))
		} else {
			from := len(out.Extra)
			out.Extra = append(out.Extra, v.text...)
			bits = batch.ExtraRef(from, len(v.text))
		}
	}
	elems.Kinds = append(elems.Kinds, v.kind)
	elems.Bits = append(elems.Bits, bits)
	elems.Present |= 1 << v.kind
}

// offsetIn says where part begins in whole, if they are the same memory.
func offsetIn(whole, part []byte) (int, bool) {
	if cap(part) == 0 || cap(whole) < cap(part) {
		return 0, false
	}
	off := cap(whole) - cap(part)
	return off, off+len(part) <= len(whole) && len(part) > 0 && &whole[off] == &part[0]
}

// finish turns the fork into the batch of the new rows.
func (u *Unnest) finish(out, b *batch.Batch, elems batch.Column) {
	n := len(u.origin)
	out.N, out.Sel, out.Offsets = n, nil, nil
	out.Places = make([]int64, n)
	for i, row := range u.origin {
		out.Places[i] = b.RowPosition(int(row))
	}
	times := out.Times
	out.Times = nil
	if len(times) > 0 {
		out.Times = make([]int64, n)
		for i, row := range u.origin {
			out.Times[i] = times[row]
		}
	}
	marks := make([]batch.Mark, len(b.Marks))
	for i, m := range b.Marks {
		marks[i] = batch.Mark{After: u.starts[m.After], Watermark: m.Watermark}
	}
	out.Marks = marks
	var kept []batch.Column
	for i := range b.Columns {
		c := &b.Columns[i]
		if c.Name == u.as || c.Name == u.index && u.index != "" || c.Name == u.ref.Path || within(u.as, c.Name) || within(u.ref.Path, c.Name) {
			continue
		}
		d := batch.Column{Name: c.Name, Present: c.Present, Kinds: make([]batch.Kind, n), Bits: make([]uint64, n)}
		for k, row := range u.origin {
			d.Kinds[k], d.Bits[k] = c.Kinds[row], c.Bits[row]
		}
		kept = append(kept, d)
	}
	elems.Name = u.as
	kept = append(kept, elems)
	if u.index != "" {
		d := batch.Column{Name: u.index, Kinds: make([]batch.Kind, n), Bits: make([]uint64, n)}
		number := 0
		for k := range u.origin {
			if k > 0 && u.origin[k] == u.origin[k-1] {
				number++
			} else {
				number = 0
			}
			d.SetInt(k, int64(number))
		}
		kept = append(kept, d)
	}
	out.Columns = kept
}

// describeNoList shows a value that is no list.
func describeNoList(v value) string {
	if v.kind == batch.JSON && len(v.text) > 0 && v.text[0] == '{' {
		return "the object " + shortened(string(v.text[:min(len(v.text), 256)]), 40)
	}
	return describe(v)
}
