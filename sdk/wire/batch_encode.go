package wire

import (
	"encoding/binary"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// whole writes a batch with everything in it; a selection is not looked at, the rows are all alive. b must not change until the frame has
// arrived.
func (f *frame) whole(b *batch.Batch) {
	f.number(1, uint64(b.N))
	f.number(2, uint64(b.Partition))
	f.bytes(3, b.Data)
	if len(b.Offsets) > 0 {
		f.bytes(4, bytesOfUint32(b.Offsets))
	}
	f.number(5, uint64(b.Trailer))
	f.number(6, uint64(b.Base))
	if b.Unit == batch.ByteOffset {
		f.number(7, 1)
	}
	f.bytes(8, b.Position)
	f.bytes(9, bytesOfInt64(b.Times))
	f.marks(10, b.Marks)
	for i := range b.Columns {
		c := &b.Columns[i]
		kind, uniform := c.Uniform()
		if uniform {
			f.column(c.Name, kind, nil, c.Bits)
		} else {
			f.column(c.Name, 0, bytesOfKinds(c.Kinds), c.Bits)
		}
	}
	f.bytes(12, b.Extra)
	for i := range b.Rejects {
		r := &b.Rejects[i]
		f.uvarint(tag(13, bytesType))
		f.uvarint(uint64(sizeNumber(1, uint64(r.After)) + sizeBytes(2, len(r.Code)) + sizeBytes(3, len(r.Message)) +
			sizeBytes(4, len(r.Data)) + sizeNumber(5, uint64(r.Length)) + sizePosition(r)))
		f.number(1, uint64(r.After))
		f.text_(2, r.Code)
		f.text_(3, r.Message)
		f.bytes(4, r.Data)
		f.number(5, uint64(r.Length))
		if r.HasPosition { // present even when it is 0
			f.uvarint(tag(6, varintType))
			f.uvarint(uint64(r.Position))
		}
	}
	f.badRows(14, b.Bad)
}

func sizePosition(r *batch.Reject) int {
	if !r.HasPosition {
		return 0
	}
	return sizeUvarint(tag(6, varintType)) + sizeUvarint(uint64(r.Position))
}

// column writes a column; kinds is nil when all cells have one kind.
func (f *frame) column(name string, kind batch.Kind, kinds []byte, bits []uint64) {
	if kinds == nil && kind <= batch.Null {
		bits = nil
	}
	size := sizeBytes(1, len(name)) + sizeBytes(3, len(kinds)) + sizeBytes(4, 8*len(bits))
	if kinds == nil {
		size += sizeNumber(2, uint64(kind))
	}
	f.uvarint(tag(11, bytesType))
	f.uvarint(uint64(size))
	f.text_(1, name)
	if kinds == nil {
		f.number(2, uint64(kind))
	}
	f.bytes(3, kinds)
	f.bytes(4, bytesOfUint64(bits))
}

const markBytes = 16

func (f *frame) marks(field int, marks []batch.Mark) {
	if len(marks) == 0 {
		return
	}
	f.uvarint(tag(field, bytesType))
	f.uvarint(uint64(len(marks) * markBytes))
	for _, m := range marks {
		f.head = binary.LittleEndian.AppendUint64(f.head, uint64(m.After))
		f.head = binary.LittleEndian.AppendUint64(f.head, uint64(m.Watermark))
	}
	f.size += len(marks) * markBytes
}

func (f *frame) badRows(field int, bad []batch.BadRow) {
	for _, x := range bad {
		f.uvarint(tag(field, bytesType))
		f.uvarint(uint64(sizeNumber(1, uint64(x.Row)) + sizeBytes(2, len(x.Code)) + sizeBytes(3, len(x.Message))))
		f.number(1, uint64(x.Row))
		f.text_(2, x.Code)
		f.text_(3, x.Message)
	}
}

// Wanted is what a plugin's description asks for.
type Wanted struct {
	Columns []string // names; nil with All
	All     bool     // every column
	Raw     bool     // the records' bytes
}

// WantedBy is what the description asks for: its fields and the columns of its options.
func WantedBy(d Description) Wanted {
	w := Wanted{All: d.AllFields, Raw: d.Raw}
	if w.All {
		return w
	}
	for _, f := range d.Fields {
		w.Columns = append(w.Columns, f.Name)
	}
	for _, o := range d.Options {
		if o.Type == ExprOption || o.Type == FieldOption {
			w.Columns = append(w.Columns, o.Name)
		}
	}
	return w
}

func (w *Wanted) has(name string) bool {
	for _, c := range w.Columns {
		if c == name {
			return true
		}
	}
	return w.All && !batch.IsAside(name)
}

// selected writes the selected rows of a batch, as far as they are wanted: timestamps and columns, their text gathered, perhaps the raw
// rows. Without a selection the numbers are sent from where they lie.
func (f *frame) selected(b *batch.Batch, want *Wanted) {
	sel := b.Sel
	n := b.Alive()
	f.number(1, uint64(n))
	f.number(2, uint64(b.Partition))
	if want.Raw && len(b.Offsets) > 0 {
		f.rawRows(b)
	}
	if len(b.Times) == b.N {
		if sel == nil {
			f.bytes(9, bytesOfInt64(b.Times))
		} else {
			f.i64 = grow(f.i64, n)
			for i, row := range sel {
				f.i64[i] = b.Times[row]
			}
			f.bytes(9, bytesOfInt64(f.i64))
		}
	}
	for i := range b.Columns {
		c := &b.Columns[i]
		if !want.has(c.Name) {
			continue
		}
		const references = 1<<batch.String | 1<<batch.JSON
		kind, uniform := c.Uniform()
		kinds, bits := bytesOfKinds(c.Kinds), c.Bits
		if sel != nil {
			if !uniform {
				kinds = f.kindVector(n)
				for k, row := range sel {
					kinds[k] = byte(c.Kinds[row])
				}
			}
			bits = f.vector(n)
			for k, row := range sel {
				bits[k] = c.Bits[row]
			}
		}
		if c.Present&references != 0 {
			if sel == nil {
				bits = f.vector(n)
				copy(bits, c.Bits)
			}
			f.gather(b, kind, uniform, kinds, bits)
		}
		if uniform {
			kinds = nil
		}
		f.column(c.Name, kind, kinds, bits)
	}
	f.bytes(12, f.text)
}

// gather copies the text that cells point to, and lets them point to the copy.
func (f *frame) gather(b *batch.Batch, kind batch.Kind, uniform bool, kinds []byte, bits []uint64) {
	if uniform {
		for i, ref := range bits {
			s := b.Text(ref)
			bits[i] = batch.ExtraRef(len(f.text), len(s))
			f.text = append(f.text, s...)
		}
		return
	}
	for i, ref := range bits {
		if k := batch.Kind(kinds[i]); k == batch.String || k == batch.JSON {
			s := b.Text(ref)
			bits[i] = batch.ExtraRef(len(f.text), len(s))
			f.text = append(f.text, s...)
		}
	}
}

// rawLines writes the selected raw rows with their line ends.
func (f *frame) rawLines(b *batch.Batch) {
	if b.Sel == nil {
		f.rawRows(b)
		return
	}
	f.u32 = append(grow(f.u32, 0), 0)
	for _, row := range b.Sel {
		f.text2 = append(f.text2, b.Data[b.Offsets[row]:b.Offsets[row+1]]...)
		f.u32 = append(f.u32, uint32(len(f.text2)))
	}
	f.bytes(3, f.text2)
	f.bytes(4, bytesOfUint32(f.u32))
	f.number(5, uint64(b.Trailer))
}

func (f *frame) rawRows(b *batch.Batch) {
	if b.Sel == nil {
		f.bytes(3, b.Data)
		f.bytes(4, bytesOfUint32(b.Offsets))
		f.number(5, uint64(b.Trailer))
		return
	}
	f.u32 = append(grow(f.u32, 0), 0)
	for _, row := range b.Sel {
		f.text2 = append(f.text2, b.Row(int(row))...)
		f.u32 = append(f.u32, uint32(len(f.text2)))
	}
	f.bytes(3, f.text2)
	f.bytes(4, bytesOfUint32(f.u32))
}
