package aggregate

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// distinctAcc is count_distinct: a set of 64-bit hashes up to the bound, beyond it a HyperLogLog of the same hashes. Which of the two
// it is depends only on how many different values there are, so order and grouping never show.
//
// The word is a handle to a block, the flag says which kind it is:
//
//	0  a set: word 0 is the number of hashes, then follows an open-addressing table of them (0 = free)
//	1  a sketch: the registers, eight to a word
type distinctAcc struct {
	arg   string
	limit int
	slot  slot
	b     *batch.Batch
	col   *batch.Column
}

func (x *distinctAcc) size() (int, uint)   { return 1, 1 }
func (x *distinctAcc) put(s slot)          { x.slot = s }
func (x *distinctAcc) bind(b *batch.Batch) { x.b, x.col = b, b.Column(x.arg) }

func (x *distinctAcc) add(mem []uint64, at, rows []uint32, h *Heap) {
	if uniform(x.col) <= batch.Null {
		return
	}
	for i, r := range rows {
		k, v := rowkey.Canonical(x.b, x.col.Kinds[r], x.col.Bits[r])
		if k <= batch.Null {
			continue
		}
		var text []byte
		if hasText(k) {
			text = x.b.Text(v)
		}
		x.insert(mem, at[i], hashValue(k, v, text), h)
	}
}

// insert adds a hash to the entry's set or sketch.
func (x *distinctAcc) insert(mem []uint64, at uint32, hash uint64, h *Heap) {
	if hash == 0 {
		hash = 1 // 0 marks free places
	}
	p := &mem[at+x.slot.word]
	b := handle(*p)
	if b == 0 {
		b = h.alloc(8)
		*p = uint64(b)
	}
	w := h.block(b)
	if x.slot.flags(mem, at) != 0 {
		insertRegister(w, hash)
		return
	}
	if !insertHash(w[1:], hash) {
		return
	}
	w[0]++
	switch n := int(w[0]); {
	case n > x.limit:
		x.toSketch(mem, at, h)
	case n > (len(w)-1)*3/4:
		*p = uint64(growSet(b, 2*len(w), h))
	}
}

// insertHash reports whether the hash was new. The table always has a free place.
func insertHash(table []uint64, hash uint64) bool {
	i := place(hash, len(table))
	for {
		switch table[i] {
		case 0:
			table[i] = hash
			return true
		case hash:
			return false
		}
		if i++; i == len(table) {
			i = 0
		}
	}
}

// place maps a hash evenly to 0..n-1.
func place(hash uint64, n int) int {
	hi, _ := bits.Mul64(hash*0x9e3779b97f4a7c15, uint64(n))
	return int(hi)
}

func growSet(b handle, words int, h *Heap) handle {
	nb := h.alloc(words)
	w, nw := h.block(b), h.block(nb)
	for _, hash := range w[1:] {
		if hash != 0 {
			insertHash(nw[1:], hash)
		}
	}
	nw[0] = w[0]
	h.release(b)
	return nb
}

// toSketch turns the entry's set, or nothing, into a sketch.
func (x *distinctAcc) toSketch(mem []uint64, at uint32, h *Heap) {
	p := &mem[at+x.slot.word]
	nb := h.alloc(registers / 8)
	if b := handle(*p); b != 0 {
		nw := h.block(nb)
		for _, hash := range h.block(b)[1:] {
			if hash != 0 {
				insertRegister(nw, hash)
			}
		}
		h.release(b)
	}
	*p = uint64(nb)
	x.slot.setFlags(mem, at, 1)
}

func (x *distinctAcc) merge(dst []uint64, dstAt []uint32, dh *Heap, src []uint64, srcAt []uint32, sh *Heap) {
	for i, d := range dstAt {
		s := handle(src[srcAt[i]+x.slot.word])
		if s == 0 {
			continue
		}
		w := sh.block(s)
		if x.slot.flags(src, srcAt[i]) == 0 {
			for _, hash := range w[1:] {
				if hash != 0 {
					x.insert(dst, d, hash, dh)
				}
			}
			continue
		}
		if x.slot.flags(dst, d) == 0 {
			x.toSketch(dst, d, dh)
		}
		mergeRegisters(dh.block(handle(dst[d+x.slot.word])), w[:registers/8])
	}
}

// encode writes 0 for nothing, the number of hashes + 1 and the sorted hashes, or 1 and the registers, six bits each. (A set in use
// is never empty, so 1 is free to mean a sketch.)
func (x *distinctAcc) encode(p []byte, mem []uint64, at uint32, h *Heap) []byte {
	b := handle(mem[at+x.slot.word])
	if b == 0 {
		return append(p, 0)
	}
	w := h.block(b)
	if x.slot.flags(mem, at) != 0 {
		return appendRegisters(append(p, 1), w)
	}
	p = binary.AppendUvarint(p, w[0]+1)
	hashes := make([]uint64, 0, w[0])
	for _, hash := range w[1:] {
		if hash != 0 {
			hashes = append(hashes, hash)
		}
	}
	slices.Sort(hashes)
	for _, hash := range hashes {
		p = binary.LittleEndian.AppendUint64(p, hash)
	}
	return p
}

func (x *distinctAcc) decode(d *decoder, mem []uint64, at uint32, h *Heap) {
	if len(d.p) > 0 && d.p[0] == 1 {
		d.byte()
		x.toSketch(mem, at, h)
		decodeRegisters(d, h.block(handle(mem[at+x.slot.word])))
		return
	}
	n := d.uvarint()
	if n == 0 {
		return
	}
	if n-1 > uint64(len(d.p)/8) {
		d.fail("%d hashes in %d bytes", n-1, len(d.p))
		return
	}
	for range n - 1 {
		x.insert(mem, at, d.word(), h)
	}
}

func (x *distinctAcc) release(mem []uint64, at uint32, h *Heap) {
	h.release(handle(mem[at+x.slot.word]))
}

func (x *distinctAcc) results(_ *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap) {
	for i, e := range at {
		var n uint64
		if b := handle(mem[e+x.slot.word]); b != 0 {
			if w := h.block(b); x.slot.flags(mem, e) != 0 {
				n = estimate(w)
			} else {
				n = w[0]
			}
		}
		cols[0].Set(row+i, batch.Int, n)
	}
}
