package wire

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// maxRows bounds the memory that a few bytes can ask for: a column of missing values has no bytes on the wire.
const maxRows = 1 << 20

// batch reads a Batch message into an empty batch, copying every vector once, to where it stays, and checks it: no reference and no
// offset leads outside, so that nothing behind can fall over what a plugin has sent.
func (r *reader) batch(length int, b *batch.Batch) error {
	err := r.message(length, func(number, wireType, n int) (bool, error) {
		if wireType == varintType {
			v, err := r.uvarint()
			switch number {
			case 1:
				if v > maxRows {
					return true, fmt.Errorf("%d rows; a batch has at most %d", v, maxRows)
				}
				b.N = int(v)
			case 2:
				b.Partition = uint32(v)
			case 5:
				if v > 255 {
					return true, fmt.Errorf("a trailer of %d bytes", v)
				}
				b.Trailer = uint8(v)
			case 6:
				b.Base = int64(v)
			case 7:
				if v != 0 {
					b.Unit = batch.ByteOffset
				}
			}
			return true, err
		}
		if wireType != bytesType {
			return false, nil
		}
		switch number {
		case 3:
			b.Data = r.bytes(b.Data, n)
		case 4:
			if n%4 != 0 {
				return true, fmt.Errorf("%d bytes are no uint32s", n)
			}
			b.Offsets = grow(b.Offsets, n/4)
			r.copy(bytesOfUint32(b.Offsets))
		case 8:
			b.Position = r.bytes(b.Position, n)
		case 9:
			if n%8 != 0 {
				return true, fmt.Errorf("%d bytes are no int64s", n)
			}
			b.Times = grow(b.Times, n/8)
			r.copy(bytesOfInt64(b.Times))
		case 10:
			var err error
			b.Marks, err = r.marks(b.Marks, n)
			return true, err
		case 11:
			return true, r.column(b, n)
		case 12:
			b.Extra = r.bytes(b.Extra, n)
		case 13:
			return true, r.reject(b, n)
		case 14:
			var err error
			b.Bad, err = r.badRow(b.Bad, n)
			return true, err
		default:
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return check(b)
}

func (r *reader) marks(marks []batch.Mark, n int) ([]batch.Mark, error) {
	if n%markBytes != 0 {
		return marks, fmt.Errorf("%d bytes are no marks", n)
	}
	var one [markBytes]byte
	for ; n > 0; n -= markBytes {
		r.copy(one[:])
		marks = append(marks, batch.Mark{After: binary.LittleEndian.Uint32(one[:]), Watermark: int64(binary.LittleEndian.Uint64(one[8:]))})
	}
	return marks, nil
}

// column reads a Column message. The memory and the name of the batch's last use are taken over where they fit.
func (r *reader) column(b *batch.Batch, length int) error {
	recycled := ""
	if n := len(b.Columns); n < cap(b.Columns) {
		recycled = b.Columns[:n+1][n].Name
	}
	c := b.AddColumn("")
	c.Kinds, c.Bits = c.Kinds[:0], c.Bits[:0]
	var kind batch.Kind
	err := r.message(length, func(number, wireType, n int) (bool, error) {
		switch {
		case number == 1 && wireType == bytesType:
			c.Name = r.name(n, recycled)
		case number == 2 && wireType == varintType:
			v, err := r.uvarint()
			if v > uint64(batch.Time) {
				return true, fmt.Errorf("there is no kind %d", v)
			}
			kind = batch.Kind(v)
			return true, err
		case number == 3 && wireType == bytesType:
			c.Kinds = grow(c.Kinds, n)
			r.copy(bytesOfKinds(c.Kinds))
		case number == 4 && wireType == bytesType:
			if n%8 != 0 {
				return true, fmt.Errorf("%d bytes are no values", n)
			}
			c.Bits = grow(c.Bits, n/8)
			r.copy(bytesOfUint64(c.Bits))
		default:
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	if len(c.Kinds) == 0 {
		c.Present = 1 << kind
		return nil
	}
	for _, k := range c.Kinds {
		if k > batch.Time {
			return fmt.Errorf("column %q: there is no kind %d", c.Name, k)
		}
		c.Present |= 1 << k
	}
	return nil
}

func (r *reader) reject(b *batch.Batch, length int) error {
	var x batch.Reject
	err := r.message(length, func(number, wireType, n int) (bool, error) {
		switch {
		case wireType == varintType && (number == 1 || number == 5 || number == 6):
			v, err := r.uvarint()
			switch number {
			case 1:
				x.After = uint32(v)
			case 5:
				x.Length = int64(v)
			default:
				x.Position, x.HasPosition = int64(v), true
			}
			return true, err
		case wireType == bytesType && number == 2:
			x.Code = r.text(n)
		case wireType == bytesType && number == 3:
			x.Message = r.text(n)
		case wireType == bytesType && number == 4:
			x.Data = r.bytes(nil, n)
		default:
			return false, nil
		}
		return true, nil
	})
	b.Rejects = append(b.Rejects, x)
	return err
}

func (r *reader) badRow(bad []batch.BadRow, length int) ([]batch.BadRow, error) {
	var x batch.BadRow
	err := r.message(length, func(number, wireType, n int) (bool, error) {
		switch {
		case wireType == varintType && number == 1:
			v, err := r.uvarint()
			x.Row = uint32(v)
			return true, err
		case wireType == bytesType && number == 2:
			x.Code = r.text(n)
		case wireType == bytesType && number == 3:
			x.Message = r.text(n)
		default:
			return false, nil
		}
		return true, nil
	})
	return append(bad, x), err
}

// check holds a received batch against its contract, and completes the columns of one kind.
func check(b *batch.Batch) error {
	if err := checkOffsets(b); err != nil {
		return err
	}
	if len(b.Times) != 0 && len(b.Times) != b.N {
		return fmt.Errorf("%d rows have %d timestamps", b.N, len(b.Times))
	}
	if err := checkMarks(b.Marks, b.N); err != nil {
		return err
	}
	for i := range b.Columns {
		if err := completeColumn(b, &b.Columns[i]); err != nil {
			return fmt.Errorf("column %q: %w", b.Columns[i].Name, err)
		}
	}
	for i := range b.Rejects {
		if int(b.Rejects[i].After) > b.N {
			return fmt.Errorf("a rejected record stands behind row %d of %d", b.Rejects[i].After, b.N)
		}
	}
	return checkRows("a refused row", rowsOf(b.Bad), b.N)
}

func rowsOf(bad []batch.BadRow) []uint32 {
	if len(bad) == 0 {
		return nil
	}
	rows := make([]uint32, len(bad))
	for i, x := range bad {
		rows[i] = x.Row
	}
	return rows
}

// checkRows demands rising row numbers below n.
func checkRows(what string, rows []uint32, n int) error {
	for i, row := range rows {
		if int(row) >= n || (i > 0 && row <= rows[i-1]) {
			return fmt.Errorf("%s has number %d of %d, or is out of order", what, row, n)
		}
	}
	return nil
}

func checkOffsets(b *batch.Batch) error {
	if len(b.Offsets) == 0 {
		if len(b.Data) > 0 && b.N > 0 && len(b.Columns) == 0 {
			return fmt.Errorf("%d rows have no offsets", b.N)
		}
		return nil
	}
	if len(b.Offsets) != b.N+1 {
		return fmt.Errorf("%d rows have %d offsets", b.N, len(b.Offsets))
	}
	trailer := uint32(b.Trailer)
	last := b.Offsets[0]
	wrong := last // the top bit is set by an offset above 2^31 and by a row that is shorter than its trailer; no branch in the loop
	for _, o := range b.Offsets[1:] {
		wrong |= o | (o - last - trailer)
		last = o
	}
	if wrong>>31 != 0 || int(last) > len(b.Data) {
		return fmt.Errorf("the offsets of the rows are not in order within %d bytes", len(b.Data))
	}
	return nil
}

func checkMarks(marks []batch.Mark, n int) error {
	after := uint32(0)
	for _, m := range marks {
		if m.After < after || int(m.After) > n {
			return fmt.Errorf("a watermark stands behind row %d of %d, or is out of order", m.After, n)
		}
		after = m.After
	}
	return nil
}

func completeColumn(b *batch.Batch, c *batch.Column) error {
	if kind, uniform := c.Uniform(); uniform && len(c.Kinds) == 0 {
		c.Kinds = grow(c.Kinds, b.N)
		fillBytes(bytesOfKinds(c.Kinds), byte(kind))
	}
	if c.Present&^(1<<batch.Missing|1<<batch.Null) == 0 && len(c.Bits) == 0 {
		c.Bits = grow(c.Bits, b.N)
		clear(c.Bits)
	}
	if len(c.Kinds) != b.N || len(c.Bits) != b.N {
		return fmt.Errorf("%d rows have %d kinds and %d values", b.N, len(c.Kinds), len(c.Bits))
	}
	if c.Present&(1<<batch.String|1<<batch.JSON) == 0 {
		return nil
	}
	data, extra := uint64(len(b.Data)), uint64(len(b.Extra))
	for i, k := range c.Kinds {
		if k != batch.String && k != batch.JSON {
			continue
		}
		ref := c.Bits[i]
		off, n := ref>>32, ref&0xffffffff
		limit := data
		if off>>31 != 0 {
			off, limit = off&^(1<<31), extra
		}
		if off+n > limit {
			return fmt.Errorf("the text of row %d lies outside", i)
		}
		if !utf8.Valid(b.Text(ref)) {
			return fmt.Errorf("the text of row %d is not UTF-8", i)
		}
	}
	return nil
}

func fillBytes(dst []byte, v byte) {
	if len(dst) == 0 {
		return
	}
	dst[0] = v
	for n := 1; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}
