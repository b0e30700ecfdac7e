package wire

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// ApplyAssignment writes an assigner's answer about the selected rows of b into b: times (nil: the previous ones stay), marks, markers and
// refused rows all count selected rows only and are turned into row numbers of b. It returns the rows of the markers, using memory.
func ApplyAssignment(b *batch.Batch, times []int64, marks []batch.Mark, markers []uint32, bad []batch.BadRow, memory []uint32) []uint32 {
	if len(b.Times) != b.N {
		b.Times = b.Times[:0]
		for range b.N {
			b.Times = append(b.Times, batch.NoTimestamp)
		}
	}
	memory = memory[:0]
	from := len(b.Bad)
	if b.Sel == nil {
		if times != nil {
			copy(b.Times, times)
		}
		b.Marks = append(b.Marks[:0], marks...)
		memory = append(memory, markers...)
		b.Bad = append(b.Bad, bad...)
	} else {
		for i, t := range times {
			b.Times[b.Sel[i]] = t
		}
		b.Marks = b.Marks[:0]
		for _, m := range marks {
			if m.After > 0 {
				m.After = b.Sel[m.After-1] + 1
			}
			b.Marks = append(b.Marks, m)
		}
		for _, row := range markers {
			memory = append(memory, b.Sel[row])
		}
		for _, x := range bad {
			x.Row = b.Sel[x.Row]
			b.Bad = append(b.Bad, x)
		}
	}
	b.Narrow(from)
	return memory
}

// Dense makes dst a view of the selected rows of src, which must have a selection: columns and timestamps are copied, text is shared.
// memory belongs to dst alone and is used again; raw asks for the rows' bytes, too, which are copied.
func Dense(dst, src *batch.Batch, memory *DenseMemory, raw bool) {
	n := len(src.Sel)
	dst.N, dst.Partition, dst.Data, dst.Extra, dst.Trailer = n, src.Partition, src.Data, src.Extra, 0
	dst.Offsets = nil
	if raw && len(src.Offsets) > 0 {
		// The columns point into the old data, so that the rows come behind it.
		dst.Trailer = src.Trailer
		memory.data = append(memory.data[:0], src.Data...)
		memory.offsets = append(memory.offsets[:0], uint32(len(memory.data)))
		for _, row := range src.Sel {
			memory.data = append(memory.data, src.Data[src.Offsets[row]:src.Offsets[row+1]]...)
			memory.offsets = append(memory.offsets, uint32(len(memory.data)))
		}
		dst.Data, dst.Offsets = memory.data, memory.offsets
	}
	dst.Columns = dst.Columns[:0]
	for i := range src.Columns {
		from := &src.Columns[i]
		to := dst.AddColumn(from.Name)
		for k, row := range src.Sel {
			to.Kinds[k], to.Bits[k] = from.Kinds[row], from.Bits[row]
			to.Present |= 1 << from.Kinds[row]
		}
	}
	dst.Times = dst.Times[:0]
	if len(src.Times) != src.N {
		for range n {
			dst.Times = append(dst.Times, batch.NoTimestamp)
		}
		return
	}
	for _, row := range src.Sel {
		dst.Times = append(dst.Times, src.Times[row])
	}
}

// DenseMemory is memory for Dense.
type DenseMemory struct {
	data    []byte
	offsets []uint32
}

// CheckTransformed compares the shape of a transform's answer with its batch.
func CheckTransformed(origin *[]uint32, out, in int) error {
	if len(*origin) != out {
		return fmt.Errorf("it gave %d rows and the origin of %d", out, len(*origin))
	}
	last := uint32(0)
	for _, row := range *origin {
		if row < last || int(row) >= in {
			return fmt.Errorf("it gave a row that comes from row %d, behind one from row %d, of %d", row, last, in)
		}
		last = row
	}
	return nil
}

// ApplyTransformed finishes a transform's answer about the selected rows of in: origin and bad count selected rows and become row numbers
// of in; timestamps, places and marks are carried over to out, bad rows are refused in in. It returns origin.
func ApplyTransformed(in, out *batch.Batch, origin []uint32, bad []batch.BadRow) []uint32 {
	out.Partition = in.Partition
	if in.Sel != nil {
		for i, row := range origin {
			origin[i] = in.Sel[row]
		}
		for i := range bad {
			bad[i].Row = in.Sel[bad[i].Row]
		}
	}
	out.Unit, out.Places = in.Unit, out.Places[:0]
	for _, row := range origin {
		out.Places = append(out.Places, in.RowPosition(int(row)))
	}
	out.Times = out.Times[:0]
	if len(in.Times) == in.N {
		for _, row := range origin {
			out.Times = append(out.Times, in.Times[row])
		}
	}
	out.Marks = out.Marks[:0]
	k := 0
	for _, m := range in.Marks {
		for k < len(origin) && origin[k] < m.After {
			k++
		}
		m.After = uint32(k)
		out.Marks = append(out.Marks, m)
	}
	from := len(in.Bad)
	in.Bad = append(in.Bad, bad...)
	in.Narrow(from)
	return origin
}
