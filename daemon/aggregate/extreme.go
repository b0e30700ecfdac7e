package aggregate

import (
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// extremeAcc is min (sign 1) and max (sign -1). The flags hold the kind of the value, Missing for none; the word holds its bits, for
// texts a handle.
type extremeAcc struct {
	arg  string
	sign int
	slot slot
	b    *batch.Batch
	col  *batch.Column
}

const kindBits = 4

func (x *extremeAcc) size() (int, uint)   { return 1, kindBits }
func (x *extremeAcc) put(s slot)          { x.slot = s }
func (x *extremeAcc) bind(b *batch.Batch) { x.b, x.col = b, b.Column(x.arg) }

func (x *extremeAcc) add(mem []uint64, at, rows []uint32, h *Heap) {
	switch k := uniform(x.col); {
	case k <= batch.Null:
	case k == batch.Float:
		x.addFloats(mem, at, rows, h)
	case k == batch.Int || k == batch.Time:
		x.addInts(mem, at, rows, h, k)
	default:
		for i, r := range rows {
			x.offerCell(mem, at[i], x.col.Kinds[r], x.col.Bits[r], h)
		}
	}
}

func (x *extremeAcc) addFloats(mem []uint64, at, rows []uint32, h *Heap) {
	values := x.col.Bits
	w, f, shift, mask := x.slot.word, x.slot.flag, x.slot.shift&63, x.slot.mask
	lower := x.sign > 0
	for i, r := range rows {
		e := at[i]
		if mem[e+f]>>shift&mask == uint64(batch.Float) {
			old, v := math.Float64frombits(mem[e+w]), math.Float64frombits(values[r])
			if lower {
				old, v = v, old // now the new value must be the lower one in both cases
			}
			if v > old {
				mem[e+w] = values[r]
				continue
			}
			if v < old {
				continue
			}
		}
		// The first value, an equal one, or NaN.
		x.offer(mem, e, batch.Float, values[r], nil, h)
	}
}

func (x *extremeAcc) addInts(mem []uint64, at, rows []uint32, h *Heap, k batch.Kind) {
	values := x.col.Bits
	w, f, shift, mask := x.slot.word, x.slot.flag, x.slot.shift&63, x.slot.mask
	lower := x.sign > 0
	for i, r := range rows {
		e := at[i]
		if mem[e+f]>>shift&mask == uint64(k) {
			if v, old := int64(values[r]), int64(mem[e+w]); v < old == lower && v != old {
				mem[e+w] = uint64(v)
			}
			continue
		}
		x.offer(mem, e, k, values[r], nil, h)
	}
}

func (x *extremeAcc) offerCell(mem []uint64, at uint32, k batch.Kind, v uint64, h *Heap) {
	if k <= batch.Null {
		return
	}
	var text []byte
	if hasText(k) {
		text = x.b.Text(v)
	}
	x.offer(mem, at, k, v, text, h)
}

// offer replaces the held value by a more extreme one.
func (x *extremeAcc) offer(mem []uint64, at uint32, k batch.Kind, v uint64, text []byte, h *Heap) {
	held := batch.Kind(x.slot.flags(mem, at))
	p := &mem[at+x.slot.word]
	if held != batch.Missing {
		var heldText []byte
		if hasText(held) {
			heldText = h.text(handle(*p))
		}
		if compareValues(k, v, text, held, *p, heldText)*x.sign >= 0 {
			return
		}
	}
	putValue(p, held, k, v, text, h)
	x.slot.setFlags(mem, at, uint64(k))
}

// putValue writes a value's bits, or a handle to its text, over the held one.
func putValue(p *uint64, held, k batch.Kind, v uint64, text []byte, h *Heap) {
	var old handle
	if hasText(held) {
		old = handle(*p)
	}
	if hasText(k) {
		*p = uint64(h.setText(old, text))
		return
	}
	h.release(old)
	*p = v
}

// getValue reads what putValue wrote.
func getValue(word uint64, k batch.Kind, h *Heap) (v uint64, text []byte) {
	if hasText(k) {
		return 0, h.text(handle(word))
	}
	return word, nil
}

func (x *extremeAcc) merge(dst []uint64, dstAt []uint32, dh *Heap, src []uint64, srcAt []uint32, sh *Heap) {
	for i, d := range dstAt {
		s := srcAt[i]
		k, word := batch.Kind(x.slot.flags(src, s)), src[s+x.slot.word]
		if v, plain := plainFloat(k, word); plain {
			x.offerPlain(dst, d, k, word, v, dh)
		} else if k != batch.Missing {
			v, text := getValue(word, k, sh)
			x.offer(dst, d, k, v, text, dh)
		}
	}
}

func (x *extremeAcc) encode(p []byte, mem []uint64, at uint32, h *Heap) []byte {
	return encodeHeld(p, batch.Kind(x.slot.flags(mem, at)), mem[at+x.slot.word], h)
}

// encodeHeld writes a value, or Missing for none.
func encodeHeld(p []byte, k batch.Kind, word uint64, h *Heap) []byte {
	if k == batch.Missing {
		return append(p, byte(batch.Missing))
	}
	v, text := getValue(word, k, h)
	return appendValue(p, k, v, text)
}

// decodeHeld reads what encodeHeld wrote.
func decodeHeld(d *decoder, p *uint64, h *Heap) batch.Kind {
	if len(d.p) > 0 && d.p[0] == byte(batch.Missing) {
		d.byte()
		return batch.Missing
	}
	k, v, text := d.value()
	if d.err != nil {
		return batch.Missing
	}
	putValue(p, batch.Missing, k, v, text, h)
	return k
}

func (x *extremeAcc) decode(d *decoder, mem []uint64, at uint32, h *Heap) {
	k := decodeHeld(d, &mem[at+x.slot.word], h)
	x.slot.setFlags(mem, at, uint64(k))
}

func (x *extremeAcc) release(mem []uint64, at uint32, h *Heap) {
	releaseHeld(batch.Kind(x.slot.flags(mem, at)), mem[at+x.slot.word], h)
}

func releaseHeld(k batch.Kind, word uint64, h *Heap) {
	if hasText(k) {
		h.release(handle(word))
	}
}

func (x *extremeAcc) results(b *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap) {
	for i, e := range at {
		setHeld(b, &cols[0], row+i, batch.Kind(x.slot.flags(mem, e)), mem[e+x.slot.word], h)
	}
}

// setHeld writes a held value as a cell, null for none.
func setHeld(b *batch.Batch, c *batch.Column, row int, k batch.Kind, word uint64, h *Heap) {
	switch {
	case k == batch.Missing:
		c.SetNull(row)
	case hasText(k):
		text := h.text(handle(word))
		off := len(b.Extra)
		b.Extra = append(b.Extra, text...)
		c.Set(row, k, batch.ExtraRef(off, len(text)))
	default:
		c.Set(row, k, word)
	}
}
