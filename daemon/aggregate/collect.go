package aggregate

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// collectAcc keeps values with their times, the first ones by (time, arrival) up to a bound, and counts those left out.
//
// The word is a handle to a block:
//
//	word 0     number of values kept
//	word 1     number of values left out
//	word 2…    three words each, in order of arrival: time, kind, bits or handle of the text
//
// Values are only appended; when twice the bound is reached, they are sorted and the later half is dropped. Keeping the first of a
// union does not depend on how the union is grouped, so neither does the result.
type collectAcc struct {
	arg   string
	limit int
	slot  slot
	b     *batch.Batch
	col   *batch.Column

	items []item // reused
}

type item struct {
	time int64
	kind batch.Kind
	word uint64
}

const itemWords = 3

func (x *collectAcc) size() (int, uint)   { return 1, 0 }
func (x *collectAcc) put(s slot)          { x.slot = s }
func (x *collectAcc) bind(b *batch.Batch) { x.b, x.col = b, b.Column(x.arg) }

func (x *collectAcc) add(mem []uint64, at, rows []uint32, h *Heap) {
	if uniform(x.col) <= batch.Null {
		return
	}
	for i, r := range rows {
		k, v := x.col.Kinds[r], x.col.Bits[r]
		if k <= batch.Null {
			continue
		}
		var text []byte
		if hasText(k) {
			text = x.b.Text(v)
		}
		x.append(&mem[at[i]+x.slot.word], timeOf(x.b, r), k, v, text, h)
	}
}

func (x *collectAcc) append(p *uint64, t int64, k batch.Kind, v uint64, text []byte, h *Heap) {
	if *p == 0 {
		*p = uint64(h.alloc(8))
	}
	w := h.block(handle(*p))
	n := int(w[0])
	if n >= 2*x.limit {
		x.shrink(w, h)
		n = int(w[0])
	}
	end := 2 + itemWords*(n+1)
	if end > len(w) {
		*p = uint64(h.grow(handle(*p), end))
		w = h.block(handle(*p))
	}
	it := w[end-itemWords : end]
	it[0], it[1], it[2] = uint64(t), uint64(k), 0
	putValue(&it[2], batch.Missing, k, v, text, h)
	w[0]++
}

// sorted lists a block's values by (time, arrival); it is valid until the next call.
func (x *collectAcc) sorted(w []uint64) []item {
	x.items = x.items[:0]
	for i := range int(w[0]) {
		it := w[2+itemWords*i:][:itemWords]
		x.items = append(x.items, item{int64(it[0]), batch.Kind(it[1]), it[2]})
	}
	slices.SortStableFunc(x.items, func(a, b item) int { return cmp.Compare(a.time, b.time) })
	return x.items
}

// shrink sorts a block's values and drops those beyond the bound.
func (x *collectAcc) shrink(w []uint64, h *Heap) {
	list := x.sorted(w)
	for i, it := range list {
		if i >= x.limit {
			releaseHeld(it.kind, it.word, h)
			w[1]++
			continue
		}
		copy(w[2+itemWords*i:], []uint64{uint64(it.time), uint64(it.kind), it.word})
	}
	w[0] = uint64(min(len(list), x.limit))
}

func (x *collectAcc) merge(dst []uint64, dstAt []uint32, dh *Heap, src []uint64, srcAt []uint32, sh *Heap) {
	for i, d := range dstAt {
		s := handle(src[srcAt[i]+x.slot.word])
		if s == 0 {
			continue
		}
		w := sh.block(s)
		p := &dst[d+x.slot.word]
		for j := range int(w[0]) {
			it := w[2+itemWords*j:][:itemWords]
			k := batch.Kind(it[1])
			v, text := getValue(it[2], k, sh)
			x.append(p, int64(it[0]), k, v, text, dh)
		}
		if w[1] != 0 {
			dh.block(handle(*p))[1] += w[1]
		}
	}
}

// encode writes the number of values, how many are left out, and the values in order with their times as differences.
func (x *collectAcc) encode(p []byte, mem []uint64, at uint32, h *Heap) []byte {
	b := handle(mem[at+x.slot.word])
	if b == 0 {
		return append(p, 0)
	}
	w := h.block(b)
	x.shrink(w, h)
	p = binary.AppendUvarint(p, w[0])
	p = binary.AppendUvarint(p, w[1])
	last := int64(0)
	for i := range int(w[0]) {
		it := w[2+itemWords*i:][:itemWords]
		p = binary.AppendVarint(p, int64(it[0])-last)
		last = int64(it[0])
		k := batch.Kind(it[1])
		v, text := getValue(it[2], k, h)
		p = appendValue(p, k, v, text)
	}
	return p
}

func (x *collectAcc) decode(d *decoder, mem []uint64, at uint32, h *Heap) {
	n := d.count(2)
	if n == 0 {
		return
	}
	left := d.uvarint()
	p := &mem[at+x.slot.word]
	last := int64(0)
	for range n {
		last += d.varint()
		k, v, text := d.value()
		if d.err != nil {
			return
		}
		x.append(p, last, k, v, text, h)
	}
	h.block(handle(*p))[1] += left
}

func (x *collectAcc) release(mem []uint64, at uint32, h *Heap) {
	b := handle(mem[at+x.slot.word])
	if b == 0 {
		return
	}
	w := h.block(b)
	for i := range int(w[0]) {
		it := w[2+itemWords*i:][:itemWords]
		releaseHeld(batch.Kind(it[1]), it[2], h)
	}
	h.release(b)
}

// results writes the values as a JSON array (an empty one for none), and how many are left out; that cell is missing when none is.
func (x *collectAcc) results(b *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap) {
	for i, e := range at {
		off := len(b.Extra)
		b.Extra = append(b.Extra, '[')
		var omitted uint64
		if bl := handle(mem[e+x.slot.word]); bl != 0 {
			w := h.block(bl)
			omitted = w[1]
			list := x.sorted(w)
			if len(list) > x.limit {
				omitted += uint64(len(list) - x.limit)
				list = list[:x.limit]
			}
			for j, it := range list {
				if j > 0 {
					b.Extra = append(b.Extra, ',')
				}
				v, text := getValue(it.word, it.kind, h)
				b.Extra = appendJSON(b.Extra, it.kind, v, text)
			}
		}
		b.Extra = append(b.Extra, ']')
		cols[0].Set(row+i, batch.JSON, batch.ExtraRef(off, len(b.Extra)-off))
		if omitted == 0 {
			cols[1].SetMissing(row + i)
		} else {
			cols[1].Set(row+i, batch.Int, omitted)
		}
	}
}
