package watermark

import (
	"encoding/binary"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// appendRow encodes row i of b so that it can be kept apart from its batch and stored in a checkpoint: position, unit, trailer, raw
// bytes, and each column with its name, kind and value.
func appendRow(out []byte, b *batch.Batch, i int) []byte {
	out = binary.AppendVarint(out, b.RowPosition(i))
	out = append(out, byte(b.Unit), b.Trailer)
	raw := []byte(nil)
	if len(b.Offsets) > 0 {
		raw = b.Data[b.Offsets[i]:b.Offsets[i+1]]
	}
	out = appendBytes(out, raw)
	out = binary.AppendUvarint(out, uint64(len(b.Columns)))
	for k := range b.Columns {
		c := &b.Columns[k]
		out = appendBytes(out, []byte(c.Name))
		out = append(out, byte(c.Kinds[i]))
		if isText(c.Kinds[i]) {
			out = appendBytes(out, b.Text(c.Bits[i]))
		} else {
			out = binary.AppendUvarint(out, c.Bits[i])
		}
	}
	return out
}

// storedRow is an encoded row, taken apart. Its slices are those of the encoding.
type storedRow struct {
	position int64
	unit     batch.PositionUnit
	trailer  uint8
	raw      []byte
	cells    []storedCell
}

type storedCell struct {
	name []byte
	kind batch.Kind
	bits uint64
	text []byte
}

func readRow(encoded []byte) (storedRow, error) {
	r := reader{rest: encoded}
	s := storedRow{position: r.varint(), unit: batch.PositionUnit(r.byte()), trailer: r.byte(), raw: r.bytes()}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		c := storedCell{name: r.bytes(), kind: batch.Kind(r.byte())}
		if isText(c.kind) {
			c.text = r.bytes()
		} else {
			c.bits = r.uvarint()
		}
		if c.kind > batch.Time {
			r.bad = true
		}
		s.cells = append(s.cells, c)
	}
	return s, r.end("held row")
}

// follows reports whether the row can stand after the last one of b with its position right.
func (s *storedRow) follows(b *batch.Batch) bool {
	if s.unit != b.Unit || s.trailer != b.Trailer {
		return false
	}
	if s.unit == batch.ByteOffset {
		return s.position == b.Base+int64(b.Offsets[b.N])
	}
	return s.position == b.Base+int64(b.N)
}

// rebuild makes batches out of encoded rows of one partition, in their order; rows that do not follow each other in the partition
// get a batch of their own, so that every row keeps its position. The batches have no Position: the place where the source
// continues does not move by them.
func rebuild(source, partition uint32, rows []jumper, out []*batch.Batch) []*batch.Batch {
	var b *batch.Batch
	for _, j := range rows {
		s, err := readRow(j.row)
		if err != nil {
			panic("watermark: a row that was held here cannot be read: " + err.Error()) // checked by Restore where it comes from outside
		}
		if b == nil || !s.follows(b) {
			b = batch.Get()
			b.Source, b.Partition, b.Base, b.Unit, b.Trailer = source, partition, s.position, s.unit, s.trailer
			b.Offsets = append(b.Offsets, 0)
			out = append(out, b)
		}
		appendStored(b, &s, j.time)
	}
	return out
}

func appendStored(b *batch.Batch, s *storedRow, time int64) {
	i := b.N
	b.N++
	b.Data = append(b.Data, s.raw...)
	b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	b.Times = append(b.Times, time)
	for k := range b.Columns {
		c := &b.Columns[k]
		c.Kinds, c.Bits = append(c.Kinds, batch.Missing), append(c.Bits, 0)
	}
	for _, cell := range s.cells {
		c := b.Column(string(cell.name))
		if c == nil {
			c = b.AddColumn(string(cell.name))
			for row := range i {
				c.SetMissing(row)
			}
		}
		if isText(cell.kind) {
			b.SetText(c, i, cell.kind, string(cell.text))
		} else {
			c.Set(i, cell.kind, cell.bits)
		}
	}
	for k := range b.Columns { // cells that this row does not have
		if c := &b.Columns[k]; c.Kinds[i] == batch.Missing {
			c.SetMissing(i)
		}
	}
}

// cut copies rows from..to of b, dead ones included, into a batch of their own. The last part of a batch takes its Position along.
func cut(b *batch.Batch, from, to int) *batch.Batch {
	d := batch.Get()
	d.N, d.Source, d.Partition, d.Header, d.Trailer, d.Unit = to-from, b.Source, b.Partition, b.Header, b.Trailer, b.Unit
	d.Base = b.RowPosition(from)
	base, end := 0, 0 // the part of Data that goes along
	if len(b.Offsets) > 0 {
		base, end = int(b.Offsets[from]), int(b.Offsets[to])
		d.Data = append(d.Data, b.Data[base:end]...)
		for _, o := range b.Offsets[from : to+1] {
			d.Offsets = append(d.Offsets, o-uint32(base))
		}
	}
	d.Times = append(d.Times, b.Times[from:to]...)
	if b.Sel != nil {
		d.Select()
		d.Sel = d.Sel[:0]
		for _, row := range b.Sel {
			if int(row) >= from && int(row) < to {
				d.Sel = append(d.Sel, row-uint32(from))
			}
		}
	}
	for _, bad := range b.Bad {
		if int(bad.Row) >= from && int(bad.Row) < to {
			bad.Row -= uint32(from)
			d.Bad = append(d.Bad, bad)
		}
	}
	for _, r := range b.Rejects {
		if at := int(r.After); at >= from && (at < to || to == b.N) {
			r.After -= uint32(from)
			d.Rejects = append(d.Rejects, r)
		}
	}
	if to == b.N {
		d.Position = append(d.Position, b.Position...)
	}
	for k := range b.Columns {
		c := d.AddColumn(b.Columns[k].Name)
		s := &b.Columns[k]
		for i := range d.N {
			kind, bits := s.Kinds[from+i], s.Bits[from+i]
			if isText(kind) {
				bits = move(d, b, bits, base, end)
			}
			c.Set(i, kind, bits)
		}
	}
	return d
}

// move returns a reference in d to the text that bits points to in b. Text inside the part of Data that has been copied is not copied
// again.
func move(d, b *batch.Batch, bits uint64, base, end int) uint64 {
	text := b.Text(bits)
	if off := int(bits >> 32); bits>>63 == 0 && off >= base && off+len(text) <= end {
		return batch.Ref(off-base, len(text))
	}
	at := len(d.Extra)
	d.Extra = append(d.Extra, text...)
	return batch.ExtraRef(at, len(text))
}

func isText(k batch.Kind) bool { return k == batch.String || k == batch.JSON }

func appendBytes(out, b []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(b))), b...)
}
