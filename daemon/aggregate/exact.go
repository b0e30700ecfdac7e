package aggregate

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

// exact is a sum without rounding: two words and five flag bits, as loaded from an entry.
//
// Integers are summed in 128 bits, which no stream can overflow. Floats are summed as an expansion of two: a is the float nearest
// to the exact sum, b the exact rest. That holds nearly all real sums (106 bits); one that needs more digits moves to a fixed-point
// number in the heap (wide.go) and loses nothing. So addition is associative and commutative bit for bit, and rows, panes and
// checkpoints may be folded in any order.
type exact struct {
	flags uint64
	a, b  uint64 // modeInt: low and high half; modeFloat: float bits; modeWide: a is a handle
}

const (
	modeMask uint64 = 3
	modeNone uint64 = 0 // nothing finite added
	modeInt  uint64 = 1
	modeReal uint64 = 2 // a + b
	modeWide uint64 = 3
	sawFloat uint64 = 4  // the result is a float
	posInf   uint64 = 8  // +Inf was added; both signs set = NaN
	negInf   uint64 = 16 //
	special         = posInf | negInf

	exactWords = 2
	exactFlags = 5
)

func (s *exact) setMode(m uint64) { s.flags = s.flags&^modeMask | m }

// twoSum is Knuth's: sum is the rounded sum of x and y, rest the exact error.
func twoSum(x, y float64) (sum, rest float64) {
	sum = x + y
	bb := sum - x
	return sum, (x - (sum - bb)) + (y - bb)
}

// addReal is the quick way to add x to the expansion a + b, for loops over rows: it is not ok when that takes a third term, or x is
// not finite, or the sum comes near the end of the range. The new a is the rounded sum of a and x only, so a may not be the float
// nearest to a + b; sumAcc.load makes up for it.
func addReal(a, b, x float64) (sum, low float64, ok bool) {
	sum, rest := twoSum(a, x)
	low = b + rest
	// The sum of b and rest is exact if and only if taking either away leaves the other. With NaN nothing is equal.
	return sum, low, low-b == rest && low-rest == b && math.Abs(sum) < 0x1p1000
}

func (s *exact) addFloat(x float64, h *Heap) {
	s.flags |= sawFloat
	if x-x != 0 {
		s.addSpecial(x)
		return
	}
	if s.flags&modeMask == modeInt {
		s.intToReal(h)
	}
	switch s.flags & modeMask {
	case modeNone:
		s.setMode(modeReal)
		s.a, s.b = math.Float64bits(x), 0
		if x == 0 {
			s.a = 0 // -0
		}
	case modeReal:
		a, b := math.Float64frombits(s.a), math.Float64frombits(s.b)
		sum, e := twoSum(a, x)
		low, d := twoSum(b, e)
		hi, lo := twoSum(sum, low)
		if d != 0 || lo != lo {
			// A third term is left over, or the range was exceeded (then d or lo is NaN).
			s.widen(h)
			s.addWide(x, h)
			return
		}
		s.a, s.b = math.Float64bits(hi), math.Float64bits(lo)
	case modeWide:
		s.addWide(x, h)
	}
}

func (s *exact) addSpecial(x float64) {
	switch {
	case x > 0:
		s.flags |= posInf
	case x < 0:
		s.flags |= negInf
	default:
		s.flags |= posInf | negInf
	}
}

// addInt adds the 128-bit integer hi, lo.
func (s *exact) addInt(lo, hi uint64, h *Heap) {
	switch s.flags & modeMask {
	case modeNone:
		s.setMode(modeInt)
		s.a, s.b = lo, hi
	case modeInt:
		a, carry := bits.Add64(s.a, lo, 0)
		b, _ := bits.Add64(s.b, hi, carry)
		if int64((s.b^b)&(hi^b)) < 0 {
			// Only squares come near: a 128-bit overflow.
			s.widen(h)
			s.a = uint64(wideAddInt(h, handle(s.a), lo, hi))
			return
		}
		s.a, s.b = a, b
	case modeReal:
		if hi != uint64(int64(lo)>>63) {
			s.widen(h)
			s.a = uint64(wideAddInt(h, handle(s.a), lo, hi))
			return
		}
		s.addSmall(int64(lo), h)
	case modeWide:
		s.a = uint64(wideAddInt(h, handle(s.a), lo, hi))
	}
}

// addSmall adds an int64 to a sum of floats.
func (s *exact) addSmall(v int64, h *Heap) {
	if -1<<53 <= v && v <= 1<<53 {
		s.addFloat(float64(v), h)
		return
	}
	s.addFloat(float64(v>>32)*(1<<32), h)
	s.addFloat(float64(v&0xffffffff), h)
}

// intToReal turns an integer sum into the float form, as the first float comes.
func (s *exact) intToReal(h *Heap) {
	lo, hi := s.a, s.b
	if hi != uint64(int64(lo)>>63) {
		s.widen(h)
		return
	}
	s.setMode(modeReal)
	s.a, s.b = 0, 0
	s.addSmall(int64(lo), h)
}

// addSquare adds x*x.
func (s *exact) addSquare(x float64, h *Heap) {
	// Within these bounds neither the product nor its error underflows or overflows.
	if a := math.Abs(x); a == 0 || a > 0x1p-450 && a < 0x1p+500 {
		p := x * x
		s.addFloat(p, h)
		s.addFloat(math.FMA(x, x, -p), h)
		return
	}
	s.flags |= sawFloat
	if x-x != 0 {
		s.addSpecial(math.Abs(x))
		return
	}
	s.widen(h)
	m, e, _ := splitFloat(x)
	hi, lo := bits.Mul64(m, m)
	s.a = uint64(wideAdd(h, handle(s.a), lo, hi, 2*e, false))
}

// addSquareInt adds v*v.
func (s *exact) addSquareInt(magnitude uint64, h *Heap) {
	hi, lo := bits.Mul64(magnitude, magnitude)
	if int64(hi) >= 0 {
		s.addInt(lo, hi, h)
		return
	}
	s.widen(h) // the top bit is not a sign here
	s.a = uint64(wideAdd(h, handle(s.a), lo, hi, 0, false))
}

// addBig adds an integer of up to a thousand bits.
func (s *exact) addBig(v *big.Int, h *Heap) { s.addScaled(v, 0, h) }

// addScaled adds v * 2^e, which must lie in the range of a wide sum.
func (s *exact) addScaled(v *big.Int, e int, h *Heap) {
	s.widen(h)
	words := v.FillBytes(make([]byte, (v.BitLen()+63)/64*8))
	for i := len(words) - 8; i >= 0; i -= 8 {
		s.a = uint64(wideAdd(h, handle(s.a), binary.BigEndian.Uint64(words[i:]), 0, e+8*(len(words)-8-i), v.Sign() < 0))
	}
}

// widen moves the sum into the heap.
func (s *exact) widen(h *Heap) {
	a, b := s.a, s.b
	mode := s.flags & modeMask
	if mode == modeWide {
		return
	}
	s.setMode(modeWide)
	s.a, s.b = uint64(wideNew(h)), 0
	switch mode {
	case modeInt:
		s.a = uint64(wideAddInt(h, handle(s.a), a, b))
	case modeReal:
		s.addWide(math.Float64frombits(a), h)
		s.addWide(math.Float64frombits(b), h)
	}
}

func (s *exact) addWide(x float64, h *Heap) {
	m, e, neg := splitFloat(x)
	if m != 0 {
		s.a = uint64(wideAdd(h, handle(s.a), m, 0, e, neg))
	}
}

// merge adds the sum o, whose heap is oh.
func (s *exact) merge(o exact, h, oh *Heap) {
	s.flags |= o.flags & (sawFloat | special)
	switch o.flags & modeMask {
	case modeInt:
		if s.flags&modeMask == modeNone {
			s.setMode(modeInt)
			s.a, s.b = o.a, o.b
			return
		}
		s.addInt(o.a, o.b, h)
	case modeReal:
		if s.flags&modeMask == modeNone {
			s.setMode(modeReal)
			s.a, s.b = o.a, o.b
			return
		}
		s.addFloat(math.Float64frombits(o.a), h)
		if o.b<<1 != 0 {
			s.addFloat(math.Float64frombits(o.b), h)
		}
	case modeWide:
		s.widen(h)
		s.a = uint64(wideMerge(h, handle(s.a), oh, handle(o.a)))
	}
}

// settle brings a sum in the heap back to two words if it fits, so that equal sums look alike whatever way they came about. The
// block is not released: s is a copy of what stands in the entry.
func (s *exact) settle(h *Heap) {
	if s.flags&special != 0 {
		// Nothing finite can change the result any more.
		s.setMode(modeNone)
		s.a, s.b = 0, 0
		return
	}
	switch s.flags & modeMask {
	case modeReal:
		if s.a<<1 == 0 {
			s.a = 0
		}
		if s.b<<1 == 0 {
			s.b = 0
		}
		return
	case modeWide:
	default:
		return
	}
	m, e := wideValue(h, handle(s.a))
	if s.flags&sawFloat == 0 {
		if lo, hi, ok := int128(m.Lsh(m, uint(e))); ok { // a sum of integers has e >= 0
			s.setMode(modeInt)
			s.a, s.b = lo, hi
		}
		return
	}
	if hi, lo, whole := twoTerms(m, e); whole {
		s.setMode(modeReal)
		s.a, s.b = math.Float64bits(hi), math.Float64bits(lo)
	}
}

// terms are the float nearest to the sum and the float nearest to the rest. hi is infinite when the sum is beyond all floats.
func (s *exact) terms(h *Heap) (hi, lo float64) {
	switch {
	case s.flags&special == special:
		return math.NaN(), 0
	case s.flags&posInf != 0:
		return math.Inf(1), 0
	case s.flags&negInf != 0:
		return math.Inf(-1), 0
	}
	switch s.flags & modeMask {
	case modeReal:
		return math.Float64frombits(s.a) + 0, math.Float64frombits(s.b)
	case modeNone:
		return 0, 0
	case modeInt:
		if v := int64(s.a); s.b == uint64(v>>63) && -1<<53 <= v && v <= 1<<53 {
			return float64(v), 0
		}
	}
	m, e := s.value(h)
	hi, lo, _ = twoTerms(m, e)
	return hi, lo
}

// value is the exact finite sum: m * 2^e.
func (s *exact) value(h *Heap) (m *big.Int, e int) {
	switch s.flags & modeMask {
	case modeInt:
		m = new(big.Int).SetInt64(int64(s.b))
		m.Lsh(m, 64)
		return m.Add(m, new(big.Int).SetUint64(s.a)), 0
	case modeReal:
		m, e = floatValue(s.a)
		if low, le := floatValue(s.b); low.Sign() != 0 {
			// Bring both to the lower exponent.
			m.Lsh(m, uint(max(e-le, 0)))
			low.Lsh(low, uint(max(le-e, 0)))
			m, e = m.Add(m, low), min(e, le)
		}
		return m, e
	case modeWide:
		return wideValue(h, handle(s.a))
	}
	return new(big.Int), 0
}

// floatValue is the finite float with these bits as m * 2^e.
func floatValue(bits uint64) (*big.Int, int) {
	m, e, neg := splitFloat(math.Float64frombits(bits))
	v := new(big.Int).SetUint64(m)
	if neg {
		v.Neg(v)
	}
	return v, e
}

// twoTerms rounds m * 2^e to hi, the rest to lo, and says whether that is all.
func twoTerms(m *big.Int, e int) (hi, lo float64, whole bool) {
	x := newFloat(m, e)
	hi, _ = x.Float64()
	if math.IsInf(hi, 0) {
		return hi, 0, false
	}
	rest := new(big.Float).SetPrec(x.Prec() + 64)
	rest.Sub(x, new(big.Float).SetFloat64(hi))
	lo, acc := rest.Float64()
	return hi + 0, lo + 0, acc == big.Exact
}

// newFloat is m * 2^e, exactly.
func newFloat(m *big.Int, e int) *big.Float {
	x := new(big.Float).SetPrec(uint(max(m.BitLen(), 64))).SetInt(m)
	return x.SetMantExp(x, e)
}

// int128 are the halves of m in two's complement, if it fits.
func int128(m *big.Int) (lo, hi uint64, ok bool) {
	if m.BitLen() > 127 {
		return 0, 0, false
	}
	var p [16]byte
	new(big.Int).Abs(m).FillBytes(p[:])
	hi, lo = binary.BigEndian.Uint64(p[:8]), binary.BigEndian.Uint64(p[8:])
	if m.Sign() < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return lo, hi, true
}

// splitFloat takes a finite float apart: m * 2^e.
func splitFloat(x float64) (m uint64, e int, neg bool) {
	b := math.Float64bits(x)
	m, e = b&(1<<52-1), int(b>>52&0x7ff)
	if e == 0 {
		e = 1
	} else {
		m |= 1 << 52
	}
	return m, e - 1075, b>>63 != 0
}
