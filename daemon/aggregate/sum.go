package aggregate

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// sumAcc is the exact sum of a column's numbers, or of their squares.
type sumAcc struct {
	arg     string
	square  bool
	skipped *uint64 // cells that are no numbers; nil when another accumulator counts them
	slot    slot
	b       *batch.Batch
	col     *batch.Column
}

func (s *sumAcc) size() (int, uint)   { return exactWords, exactFlags }
func (s *sumAcc) put(p slot)          { s.slot = p }
func (s *sumAcc) bind(b *batch.Batch) { s.b, s.col = b, b.Column(s.arg) }

func (s *sumAcc) load(mem []uint64, at uint32) exact {
	w := at + s.slot.word
	x := exact{s.slot.flags(mem, at), mem[w], mem[w+1]}
	if x.flags&modeMask == modeReal {
		// addReal leaves terms that overlap.
		hi, lo := twoSum(math.Float64frombits(x.a), math.Float64frombits(x.b))
		x.a, x.b = math.Float64bits(hi), math.Float64bits(lo)
	}
	return x
}

func (s *sumAcc) store(mem []uint64, at uint32, x exact) {
	w := at + s.slot.word
	mem[w], mem[w+1] = x.a, x.b
	s.slot.setFlags(mem, at, x.flags)
}

func (s *sumAcc) add(mem []uint64, at, rows []uint32, h *Heap) {
	switch k := uniform(s.col); {
	case k <= batch.Null:
	case k == batch.Float && !s.square:
		s.addFloats(mem, at, rows, h)
	case k == batch.Int && !s.square:
		s.addInts(mem, at, rows, h)
	default:
		for i, r := range rows {
			s.addCell(mem, at[i], s.col.Kinds[r], s.col.Bits[r], h)
		}
	}
}

// addFloats is exact.addFloat for entries that hold a plain sum of floats already.
func (s *sumAcc) addFloats(mem []uint64, at, rows []uint32, h *Heap) {
	values := s.col.Bits
	w, f, shift, mask := s.slot.word, s.slot.flag, s.slot.shift&63, s.slot.mask
	for i, r := range rows {
		e := at[i]
		x := math.Float64frombits(values[r])
		if mem[e+f]>>shift&mask == modeReal|sawFloat {
			p := mem[e+w : e+w+2 : e+w+2]
			if sum, low, ok := addReal(math.Float64frombits(p[0]), math.Float64frombits(p[1]), x); ok {
				p[0], p[1] = math.Float64bits(sum), math.Float64bits(low)
				continue
			}
		}
		s.addCell(mem, e, batch.Float, values[r], h)
	}
}

// addInts is exact.addInt for entries that hold a sum of integers.
func (s *sumAcc) addInts(mem []uint64, at, rows []uint32, h *Heap) {
	values := s.col.Bits
	w, f, shift, mask := s.slot.word, s.slot.flag, s.slot.shift&63, s.slot.mask
	for i, r := range rows {
		e := at[i]
		if mem[e+f]>>shift&mask == modeInt {
			v := values[r]
			p := mem[e+w : e+w+2 : e+w+2]
			lo := p[0] + v
			hi := p[1] + uint64(int64(v)>>63)
			if lo < v {
				hi++
			}
			p[0], p[1] = lo, hi
			continue
		}
		s.addCell(mem, e, batch.Int, values[r], h)
	}
}

// addCell adds one cell of any kind.
func (s *sumAcc) addCell(mem []uint64, at uint32, k batch.Kind, v uint64, h *Heap) {
	x := s.load(mem, at)
	switch k {
	case batch.Missing, batch.Null:
		return
	case batch.Float:
		if f := math.Float64frombits(v); s.square {
			x.addSquare(f, h)
		} else {
			x.addFloat(f, h)
		}
	case batch.Int, batch.Bool:
		switch {
		case !s.square:
			x.addInt(v, uint64(int64(v)>>63), h)
		case int64(v) < 0:
			x.addSquareInt(-v, h)
		default:
			x.addSquareInt(v, h)
		}
	case batch.Uint:
		if s.square {
			x.addSquareInt(v, h)
		} else {
			x.addInt(v, 0, h)
		}
	case batch.JSON:
		n, ok := jsonInteger(s.b.Text(v))
		if !ok {
			s.skip()
			return
		}
		if s.square {
			n.Mul(n, n)
		}
		x.addBig(n, h)
	default:
		s.skip()
		return
	}
	s.store(mem, at, x)
}

func (s *sumAcc) skip() {
	if s.skipped != nil {
		*s.skipped++
	}
}

func (s *sumAcc) merge(dst []uint64, dstAt []uint32, dh *Heap, src []uint64, srcAt []uint32, sh *Heap) {
	for i, d := range dstAt {
		if s.mergeReals(dst, d, src, srcAt[i]) {
			continue
		}
		o := s.load(src, srcAt[i])
		if o.flags == 0 {
			continue
		}
		x := s.load(dst, d)
		x.merge(o, dh, sh)
		s.store(dst, d, x)
	}
}

// mergeReals is the quick way for two plain sums of floats.
func (s *sumAcc) mergeReals(dst []uint64, d uint32, src []uint64, e uint32) bool {
	if s.slot.flags(dst, d) != modeReal|sawFloat || s.slot.flags(src, e) != modeReal|sawFloat {
		return false
	}
	p, q := dst[d+s.slot.word:][:2], src[e+s.slot.word:][:2]
	a, b, ok := addReal(math.Float64frombits(p[0]), math.Float64frombits(p[1]), math.Float64frombits(q[0]))
	if ok {
		a, b, ok = addReal(a, b, math.Float64frombits(q[1]))
	}
	if ok {
		p[0], p[1] = math.Float64bits(a), math.Float64bits(b)
	}
	return ok
}

// The first byte of an encoded sum holds the flags, and compact when a modeInt sum fits 64 bits or a modeReal one has one term.
const compact = 0x20

func (s *sumAcc) encode(p []byte, mem []uint64, at uint32, h *Heap) []byte {
	x := s.load(mem, at)
	x.settle(h)
	switch x.flags & modeMask {
	case modeInt:
		if x.b == uint64(int64(x.a)>>63) {
			return binary.AppendVarint(append(p, byte(x.flags)|compact), int64(x.a))
		}
		p = append(p, byte(x.flags))
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(p, x.a), x.b)
	case modeReal:
		if x.b == 0 {
			return binary.LittleEndian.AppendUint64(append(p, byte(x.flags)|compact), x.a)
		}
		p = append(p, byte(x.flags))
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(p, x.a), x.b)
	case modeWide:
		m, e := wideValue(h, handle(x.a))
		p = append(p, byte(x.flags))
		p = binary.AppendVarint(p, int64(e))
		p = binary.AppendVarint(p, int64(m.Sign()))
		p = binary.AppendUvarint(p, uint64(len(m.Bytes())))
		return append(p, m.Bytes()...)
	}
	return append(p, byte(x.flags))
}

func (s *sumAcc) decode(d *decoder, mem []uint64, at uint32, h *Heap) {
	f := uint64(d.byte())
	x := exact{flags: f &^ compact}
	if x.flags > s.slot.mask || x.flags&sawFloat == 0 && (x.flags&special != 0 || x.flags&modeMask == modeReal) {
		d.fail("sum flags %#x", f)
		return
	}
	switch x.flags & modeMask {
	case modeInt:
		if f&compact != 0 {
			v := d.varint()
			x.a, x.b = uint64(v), uint64(v>>63)
		} else {
			x.a, x.b = d.word(), d.word()
		}
	case modeReal:
		x.a = d.word()
		if f&compact == 0 {
			x.b = d.word()
		}
		if !finite(x.a) || !finite(x.b) {
			d.fail("a sum that is not finite")
		}
	case modeWide:
		x = decodeWide(d, x.flags, h)
	}
	if d.err == nil {
		s.store(mem, at, x)
	}
}

func finite(bits uint64) bool { return bits>>52&0x7ff != 0x7ff }

func decodeWide(d *decoder, flags uint64, h *Heap) exact {
	e, sign := d.varint(), d.varint()
	m := new(big.Int).SetBytes(d.bytes(d.uvarint()))
	if flags&sawFloat == 0 && e < 0 || e < -wideBias || e > 2*wideBias || int(e)+m.BitLen() > wideBias+128 {
		d.fail("a sum of %d bits at %d", m.BitLen(), e)
		return exact{}
	}
	if sign < 0 {
		m.Neg(m)
	}
	x := exact{flags: flags &^ modeMask}
	x.widen(h)
	x.addScaled(m, int(e), h)
	return x
}

func (s *sumAcc) release(mem []uint64, at uint32, h *Heap) {
	if x := s.load(mem, at); x.flags&modeMask == modeWide {
		h.release(handle(x.a))
	}
}

// results writes an Int, Uint or all digits as JSON for integers, a Float once a float was in it, null for nothing.
func (s *sumAcc) results(b *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap) {
	c := &cols[0]
	for i, e := range at {
		x := s.load(mem, e)
		switch {
		case x.flags == 0:
			c.SetNull(row + i)
		case x.flags&sawFloat != 0:
			hi, _ := x.terms(h)
			c.SetFloat(row+i, hi)
		case x.flags&modeMask == modeInt && x.b == uint64(int64(x.a)>>63):
			c.SetInt(row+i, int64(x.a))
		case x.flags&modeMask == modeInt && x.b == 0:
			c.SetUint(row+i, x.a)
		default:
			m, e := x.value(h)
			m.Lsh(m, uint(e))
			if m.IsInt64() {
				c.SetInt(row+i, m.Int64())
			} else if m.IsUint64() {
				c.SetUint(row+i, m.Uint64())
			} else {
				b.SetText(c, row+i, batch.JSON, m.String())
			}
		}
	}
}

// maxDigits bounds the integers that decoders keep as JSON text and sums can take: their squares must fit a wide sum.
const maxDigits = 300

func isJSONInteger(text []byte) bool {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > maxDigits {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func jsonInteger(text []byte) (*big.Int, bool) {
	if !isJSONInteger(text) {
		return nil, false
	}
	return new(big.Int).SetString(string(text), 10)
}
