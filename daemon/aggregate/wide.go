package aggregate

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

// A wide sum is a fixed-point number in a block of the heap, in two's complement, as many 64-bit limbs as its digits need:
//
//	word 0     index of the lowest limb << 32 | number of limbs
//	word 1…    limbs, lowest first; limb i of index j = base+i weighs 2^(64*j - wideBias)
//
// Above the top limb the sign goes on for ever. The range covers the squares of all floats with 64 bits to spare on top.
const wideBias = 34 * 64

func wideNew(h *Heap) handle { return h.alloc(8) }

func wideLimbs(h *Heap, b handle) (base int, limbs []uint64) {
	w := h.block(b)
	n := int(w[0] & 0xffffffff)
	return int(w[0] >> 32), w[1 : 1+n]
}

// wideReach makes the limbs low..high exist, with a top limb that is nothing but sign.
func wideReach(h *Heap, b handle, low, high int) (handle, int, []uint64) {
	base, limbs := wideLimbs(h, b)
	if len(limbs) == 0 {
		base = low
	}
	top := base + len(limbs) - 1
	var sign uint64
	if len(limbs) > 0 {
		last := limbs[len(limbs)-1]
		sign = uint64(int64(last) >> 63)
		if last != sign {
			high = max(high, top+1)
		}
	}
	if low >= base && high <= top {
		return b, base, limbs
	}
	newBase, newTop := min(low, base), max(high, top)
	n := newTop - newBase + 1
	b = h.grow(b, 1+n)
	w := h.block(b)
	old := top - base + 1
	copy(w[1+base-newBase:], w[1:1+old])
	clear(w[1 : 1+base-newBase])
	for i := 1 + base - newBase + old; i <= n; i++ {
		w[i] = sign
	}
	w[0] = uint64(newBase)<<32 | uint64(n)
	return b, newBase, w[1 : 1+n]
}

// wideAdd adds (hi<<64 + lo) * 2^exp, subtracting when neg.
func wideAdd(h *Heap, b handle, lo, hi uint64, exp int, neg bool) handle {
	p := exp + wideBias
	j, shift := p/64, uint(p%64)
	b, base, limbs := wideReach(h, b, j, j+3)
	// A shift by 64 gives 0 in Go, so shift == 0 needs no case.
	add := [3]uint64{lo << shift, hi<<shift | lo>>(64-shift), hi >> (64 - shift)}
	var c uint64
	for i := j - base; i < len(limbs); i++ {
		var v uint64
		if k := i - (j - base); k < 3 {
			v = add[k]
		} else if c == 0 {
			break
		}
		if neg {
			limbs[i], c = bits.Sub64(limbs[i], v, c)
		} else {
			limbs[i], c = bits.Add64(limbs[i], v, c)
		}
	}
	return b
}

// wideAddInt adds a 128-bit two's complement integer.
func wideAddInt(h *Heap, b handle, lo, hi uint64) handle {
	neg := int64(hi) < 0
	if neg {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return wideAdd(h, b, lo, hi, 0, neg)
}

// wideMerge adds the wide sum o of another heap.
func wideMerge(h *Heap, b handle, oh *Heap, o handle) handle {
	base, limbs := wideLimbs(oh, o)
	for i, v := range limbs {
		exp := 64*(base+i) - wideBias
		if i == len(limbs)-1 && int64(v) < 0 {
			b = wideAdd(h, b, -v, 0, exp, true)
		} else if v != 0 {
			b = wideAdd(h, b, v, 0, exp, false)
		}
	}
	return b
}

// wideValue is the number m * 2^e with m odd (or 0 * 2^0); e >= 0 for integers.
func wideValue(h *Heap, b handle) (m *big.Int, e int) {
	base, limbs := wideLimbs(h, b)
	m = new(big.Int)
	if len(limbs) == 0 {
		return m, 0
	}
	neg := int64(limbs[len(limbs)-1]) < 0
	p := make([]byte, 8*len(limbs))
	borrow := uint64(0)
	for i, v := range limbs {
		if neg {
			v, borrow = bits.Sub64(0, v, borrow)
		}
		binary.BigEndian.PutUint64(p[8*(len(limbs)-1-i):], v)
	}
	m.SetBytes(p)
	if m.Sign() == 0 {
		return m, 0
	}
	zeros := m.TrailingZeroBits()
	m.Rsh(m, zeros)
	if neg {
		m.Neg(m)
	}
	return m, 64*base - wideBias + int(zeros)
}
