package batch

import "slices"

// Grow adds n rows to b: every column, and Times where b has a row time, gets n more cells of undefined content, to be Set by the
// caller. It returns the number of the first new row. Batches of results are built this way; b must not have raw rows.
func (b *Batch) Grow(n int) int {
	first := b.N
	b.N += n
	for i := range b.Columns {
		c := &b.Columns[i]
		c.Kinds = slices.Grow(c.Kinds, n)[:b.N]
		c.Bits = slices.Grow(c.Bits, n)[:b.N]
	}
	b.Times = slices.Grow(b.Times, n)[:b.N]
	return first
}

// AppendRows copies the cells and times of rows from..to of src to the end of b, text included. An empty b without columns takes
// the names of src's; otherwise both must have the same columns in the same order.
func (b *Batch) AppendRows(src *Batch, from, to int) {
	if b.N == 0 && len(b.Columns) == 0 {
		for i := range src.Columns {
			b.AddColumn(src.Columns[i].Name)
		}
	}
	first := b.Grow(to - from)
	copy(b.Times[first:], src.Times[from:to])
	for i := range b.Columns {
		c, s := &b.Columns[i], &src.Columns[i]
		copy(c.Kinds[first:], s.Kinds[from:to])
		if s.Present&(1<<String|1<<JSON) == 0 {
			copy(c.Bits[first:], s.Bits[from:to])
			c.Present |= present(s.Kinds[from:to], s.Present)
			continue
		}
		for r := from; r < to; r++ {
			k, bits := s.Kinds[r], s.Bits[r]
			c.Present |= 1 << k
			if k == String || k == JSON {
				text := src.Text(bits)
				bits = ExtraRef(len(b.Extra), len(text))
				b.Extra = append(b.Extra, text...)
			}
			c.Bits[first+r-from] = bits
		}
	}
}

func present(kinds []Kind, all uint16) uint16 {
	if all&(all-1) == 0 && len(kinds) > 0 {
		return all
	}
	var p uint16
	for _, k := range kinds {
		p |= 1 << k
	}
	return p
}

// Fork returns a batch with the same rows, columns, times and selection, whose columns and selection can be changed without
// touching b: what a branch of the graph works on. It holds a share of b until it is released itself. Columns must be added or
// replaced, not written in place.
func (b *Batch) Fork() *Batch {
	b.Retain(1)
	f := &Batch{ // field by field: others may count their shares of b meanwhile
		N: b.N, Source: b.Source, Partition: b.Partition,
		Data: b.Data, Offsets: b.Offsets, Trailer: b.Trailer,
		Base: b.Base, Unit: b.Unit, Places: b.Places[:len(b.Places):len(b.Places)], Position: b.Position, Header: b.Header,
		Times: b.Times[:len(b.Times):len(b.Times)], Marks: b.Marks, Before: b.Before,
		Columns: slices.Clone(b.Columns),
		Extra:   b.Extra[:len(b.Extra):len(b.Extra)], // an append moves to memory of its own
		refs:    1, parent: b,
	}
	if b.Sel != nil {
		f.Sel = slices.Clone(b.Sel)
	}
	return f
}
