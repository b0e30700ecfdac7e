package aggregate

import (
	"encoding/binary"
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// edgeAcc is first and last: the value of the row with the lowest or highest event time. Ties go to the row that arrived first, or
// last. The flags hold the value's kind, word 0 its bits or a handle, word 1 the time.
type edgeAcc struct {
	arg  string
	last bool
	slot slot
	b    *batch.Batch
	col  *batch.Column
}

func (x *edgeAcc) size() (int, uint)   { return 2, kindBits }
func (x *edgeAcc) put(s slot)          { x.slot = s }
func (x *edgeAcc) bind(b *batch.Batch) { x.b, x.col = b, b.Column(x.arg) }

func (x *edgeAcc) add(mem []uint64, at, rows []uint32, h *Heap) {
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
		x.offer(mem, at[i], timeOf(x.b, r), k, v, text, h)
	}
}

// timeOf is a row's event time; rows without one are simultaneous.
func timeOf(b *batch.Batch, row uint32) int64 {
	if int(row) < len(b.Times) {
		return b.Times[row]
	}
	return math.MinInt64
}

// offer takes a value that arrived later than the held one.
func (x *edgeAcc) offer(mem []uint64, at uint32, t int64, k batch.Kind, v uint64, text []byte, h *Heap) {
	held := batch.Kind(x.slot.flags(mem, at))
	p := mem[at+x.slot.word:][:2]
	if held != batch.Missing {
		if old := int64(p[1]); x.last && t < old || !x.last && t >= old {
			return
		}
	}
	putValue(&p[0], held, k, v, text, h)
	p[1] = uint64(t)
	if held != k {
		x.slot.setFlags(mem, at, uint64(k))
	}
}

func (x *edgeAcc) merge(dst []uint64, dstAt []uint32, dh *Heap, src []uint64, srcAt []uint32, sh *Heap) {
	for i, d := range dstAt {
		s := srcAt[i]
		if k := batch.Kind(x.slot.flags(src, s)); k != batch.Missing {
			v, text := getValue(src[s+x.slot.word], k, sh)
			x.offer(dst, d, int64(src[s+x.slot.word+1]), k, v, text, dh)
		}
	}
}

func (x *edgeAcc) encode(p []byte, mem []uint64, at uint32, h *Heap) []byte {
	k := batch.Kind(x.slot.flags(mem, at))
	p = encodeHeld(p, k, mem[at+x.slot.word], h)
	if k != batch.Missing {
		p = binary.AppendVarint(p, int64(mem[at+x.slot.word+1]))
	}
	return p
}

func (x *edgeAcc) decode(d *decoder, mem []uint64, at uint32, h *Heap) {
	k := decodeHeld(d, &mem[at+x.slot.word], h)
	if k != batch.Missing {
		mem[at+x.slot.word+1] = uint64(d.varint())
	}
	x.slot.setFlags(mem, at, uint64(k))
}

func (x *edgeAcc) release(mem []uint64, at uint32, h *Heap) {
	releaseHeld(batch.Kind(x.slot.flags(mem, at)), mem[at+x.slot.word], h)
}

func (x *edgeAcc) results(b *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap) {
	for i, e := range at {
		setHeld(b, &cols[0], row+i, batch.Kind(x.slot.flags(mem, e)), mem[e+x.slot.word], h)
	}
}
