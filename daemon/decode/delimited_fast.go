package decode

import (
	"math/bits"
	"unsafe"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// The fast way through a delimited row is made for short rows of few columns ("key ts"), where calling a function for each
// value costs more than the value. It is taken for batches of ASCII with a delimiter of one character and no rule about the
// number of columns, and leaves to the other way what is not a text or a plain integer. Measured with "key ts", it halves the
// time of a row.

// fastColumn is what happens to one column of the table.
type fastColumn struct {
	field int // -1: nobody wants it
	typ   Type
}

// planFast prepares the fast way; fast stays nil where it cannot be taken.
func (f *delimitedFormat) planFast() {
	t := f.table
	if len(f.delimiter) != 1 || f.delimiter[0] >= 0x80 || f.collapse || f.whole || f.infer || t.extraReject || t.shortReject || len(t.absent) > 0 {
		return
	}
	var plan []fastColumn
	for _, want := range t.want[:t.last+1] {
		c := fastColumn{field: -1}
		if len(want) > 1 {
			return
		}
		if len(want) == 1 {
			c = fastColumn{want[0], f.fields[want[0]].Type}
		}
		plan = append(plan, c)
	}
	f.fast = plan
	f.repeated = uint64(f.delimiter[0]) * ones
}

// fastRow decodes row i. It is false, with cells of the row in any state, when the row has to go the other way. It may look
// eight bytes beyond the row, which the caller knows to be there.
func (f *delimitedFormat) fastRow(b *batch.Batch, i int) bool {
	p, end := int(b.Offsets[i]), int(b.Offsets[i+1])-int(b.Trailer)
	base := unsafe.Pointer(unsafe.SliceData(b.Data))
	if p < end && fastByte(base, end-1) == '\r' {
		end--
	}
	if p >= end || fastByte(base, p) <= ' ' {
		return false
	}
	for n := range f.fast {
		if p > end {
			return false // a short row
		}
		q := p
		for q < end {
			w := fastLoad(base, q) ^ f.repeated
			if m := (w - ones) & highs; m != 0 { // of ASCII, only a zero byte borrows; see asciiStops
				q += bits.TrailingZeros64(m) >> 3
				break
			}
			q += 8
		}
		q = min(q, end)
		switch c := &f.fast[n]; {
		case c.field < 0:
		case c.typ == TypeString || c.typ == TypeDynamic || c.typ == TypeExact:
			f.slots[c.field].kinds[i], f.slots[c.field].bits[i] = batch.String, batch.Ref(p, q-p)
			f.slots[c.field].present |= 1 << batch.String
		case c.typ == TypeInt && q > p && q-p <= 16:
			digits := q - p
			t := fastLoad(base, p) ^ zeros
			var m uint64
			if digits <= 8 {
				if asciiDigits(t) < digits {
					return false
				}
				m = eightDigits(t << ((64 - 8*uint(digits)) & 63))
			} else {
				u := fastLoad(base, q-8) ^ zeros // the last eight digits, some of which may be read twice
				if asciiDigits(t) < 8 || asciiDigits(u) < 8 {
					return false
				}
				m = eightDigits(t<<((128-8*uint(digits))&63))*100000000 + eightDigits(u)
			}
			f.slots[c.field].kinds[i], f.slots[c.field].bits[i] = batch.Int, m
			f.slots[c.field].present |= 1 << batch.Int
		default:
			return false
		}
		p = q + 1
	}
	if p <= end && len(f.fast) == len(f.table.names) && !f.told {
		return false // the other way tells about rows that are too long
	}
	return true
}
