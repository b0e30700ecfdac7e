package aggregate

import (
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// fused adds to the sum, the minimum, the maximum and the counts of one column in one pass where its cells are integers and floats: an
// entry's header and the row's value are read once instead of once for each aggregate. All else it leaves to the parts.
type fused struct {
	parts []accumulator
	rows  *countAcc // count(), nil = none, as are the others
	n     *countAcc
	sum   *sumAcc
	lo    *extremeAcc
	hi    *extremeAcc

	col   *batch.Column
	flag  uint32 // the word of all parts' flags
	width uint32 // words of an entry that the pass looks at
	one   [2]uint32
}

// fuse replaces parts that can be added together. The order of the others is kept.
func fuse(accs []accumulator) []adder {
	columns := map[string]*fused{}
	var order []*fused
	var rest []accumulator
	var rows *countAcc
	for _, a := range accs {
		var arg string
		var set func(f *fused)
		switch a := a.(type) {
		case *countAcc:
			if a.arg == "" {
				rows = a
				continue
			}
			arg, set = a.arg, func(f *fused) { f.n = a }
		case *sumAcc:
			if !a.square {
				arg, set = a.arg, func(f *fused) { f.sum = a }
			}
		case *extremeAcc:
			if a.sign > 0 {
				arg, set = a.arg, func(f *fused) { f.lo = a }
			} else {
				arg, set = a.arg, func(f *fused) { f.hi = a }
			}
		}
		f := columns[arg]
		switch {
		case arg == "":
			rest = append(rest, a)
			continue
		case f == nil:
			f = &fused{}
			columns[arg] = f
			order = append(order, f)
		}
		if f.takes(a) {
			f.parts = append(f.parts, a)
			set(f)
		} else {
			rest = append(rest, a)
		}
	}
	var out []adder
	for _, f := range order {
		if rows != nil {
			f.rows, f.parts = rows, append(f.parts, rows)
			rows = nil
		}
		if len(f.parts) == 1 {
			out = append(out, f.parts[0])
			continue
		}
		for _, part := range f.parts {
			words, _ := part.size()
			f.width = max(f.width, partSlot(part).word+uint32(words), partSlot(part).flag+1)
		}
		out = append(out, f)
	}
	if rows != nil {
		out = append(out, rows)
	}
	for _, a := range rest {
		out = append(out, a)
	}
	return out
}

// takes says whether a part's place is free and its flags stand in the same word as the others'.
func (f *fused) takes(a accumulator) bool {
	switch a := a.(type) {
	case *countAcc:
		return f.n == nil
	case *sumAcc:
		if f.sum != nil {
			return false
		}
	case *extremeAcc:
		if a.sign > 0 && f.lo != nil || a.sign < 0 && f.hi != nil {
			return false
		}
	}
	flag := partSlot(a).flag
	if f.sum != nil || f.lo != nil || f.hi != nil {
		return flag == f.flag
	}
	f.flag = flag
	return true
}

func partSlot(a accumulator) slot {
	switch a := a.(type) {
	case *countAcc:
		return a.slot
	case *sumAcc:
		return a.slot
	case *extremeAcc:
		return a.slot
	}
	return slot{}
}

func (f *fused) add(mem []uint64, at, rows []uint32, h *Heap) {
	var col *batch.Column
	switch {
	case f.sum != nil:
		col = f.sum.col
	case f.lo != nil:
		col = f.lo.col
	case f.hi != nil:
		col = f.hi.col
	default:
		col = f.n.col
	}
	f.col = col
	switch k := uniform(col); {
	case k == batch.Float:
		f.addFloats(mem, at, rows, h)
	case k == batch.Int:
		f.addInts(mem, at, rows, h)
	case k == mixed && f.sum != nil:
		f.addMixed(mem, at, rows, h)
	default:
		for _, a := range f.parts {
			a.add(mem, at, rows, h)
		}
	}
}

// addOne leaves one row to the parts.
func (f *fused) addOne(mem []uint64, at, row uint32, h *Heap) {
	f.one = [2]uint32{at, row}
	for _, a := range f.parts {
		a.add(mem, f.one[:1], f.one[1:], h)
	}
}

// usual is the mask of the parts' flags, and what they are in an entry that has had values of one kind only.
func (f *fused) usual(sum uint64, k batch.Kind) (mask, flags uint64) {
	if f.sum != nil {
		mask |= f.sum.slot.mask << f.sum.slot.shift
		flags |= sum << f.sum.slot.shift
	}
	for _, x := range []*extremeAcc{f.lo, f.hi} {
		if x != nil {
			mask |= x.slot.mask << x.slot.shift
			flags |= uint64(k) << x.slot.shift
		}
	}
	return mask, flags
}

// places are the words of the parts; a part that is not there has the place 0.
func (f *fused) places() (rows, n, sum, lo, hi uint32) {
	if f.rows != nil {
		rows = f.rows.slot.word
	}
	if f.n != nil {
		n = f.n.slot.word
	}
	if f.sum != nil {
		sum = f.sum.slot.word
	}
	if f.lo != nil {
		lo = f.lo.slot.word
	}
	if f.hi != nil {
		hi = f.hi.slot.word
	}
	return rows, n, sum, lo, hi
}

func (f *fused) addFloats(mem []uint64, at, rows []uint32, h *Heap) {
	values := f.col.Bits
	mask, usual := f.usual(modeReal|sawFloat, batch.Float)
	wRows, wN, wSum, wLo, wHi := f.places()
	hasRows, hasN, hasSum, hasLo, hasHi := f.rows != nil, f.n != nil, f.sum != nil, f.lo != nil, f.hi != nil
	flag, width := f.flag, f.width
	for i, r := range rows {
		e := at[i]
		p := mem[e : e+width : e+width]
		bits := values[r]
		x := math.Float64frombits(bits)
		if p[flag]&mask != usual || x != x {
			f.addOne(mem, e, r, h)
			continue
		}
		if hasSum {
			s := p[wSum : wSum+2 : wSum+2]
			sum, low, ok := addReal(math.Float64frombits(s[0]), math.Float64frombits(s[1]), x)
			if !ok {
				f.addOne(mem, e, r, h)
				continue
			}
			s[0], s[1] = math.Float64bits(sum), math.Float64bits(low)
		}
		if hasLo {
			if v := math.Float64frombits(p[wLo]); x < v {
				p[wLo] = bits
			} else if !(x > v) && bits != p[wLo] {
				f.lo.offer(mem, e, batch.Float, bits, nil, h) // zeros of both signs, or NaN is held
			}
		}
		if hasHi {
			if v := math.Float64frombits(p[wHi]); x > v {
				p[wHi] = bits
			} else if x == v && bits != p[wHi] {
				f.hi.offer(mem, e, batch.Float, bits, nil, h)
			}
		}
		if hasRows {
			p[wRows]++
		}
		if hasN {
			p[wN]++
		}
	}
}

func (f *fused) addInts(mem []uint64, at, rows []uint32, h *Heap) {
	values := f.col.Bits
	mask, usual := f.usual(modeInt, batch.Int)
	wRows, wN, wSum, wLo, wHi := f.places()
	hasRows, hasN, hasSum, hasLo, hasHi := f.rows != nil, f.n != nil, f.sum != nil, f.lo != nil, f.hi != nil
	flag, width := f.flag, f.width
	for i, r := range rows {
		e := at[i]
		p := mem[e : e+width : e+width]
		x := int64(values[r])
		if p[flag]&mask != usual {
			f.addOne(mem, e, r, h)
			continue
		}
		if hasSum {
			s := p[wSum : wSum+2 : wSum+2]
			lo := s[0] + uint64(x)
			hi := s[1] + uint64(x>>63)
			if lo < uint64(x) {
				hi++
			}
			s[0], s[1] = lo, hi
		}
		if hasLo && x < int64(p[wLo]) {
			p[wLo] = uint64(x)
		}
		if hasHi && x > int64(p[wHi]) {
			p[wHi] = uint64(x)
		}
		if hasRows {
			p[wRows]++
		}
		if hasN {
			p[wN]++
		}
	}
}

// addMixed is for columns with numbers of both kinds, as texts without declared types give them: 5 and 5.5.
func (f *fused) addMixed(mem []uint64, at, rows []uint32, h *Heap) {
	for i, r := range rows {
		e := at[i]
		k, bits := f.col.Kinds[r], f.col.Bits[r]
		x, plain := plainFloat(k, bits)
		w := e + f.sum.slot.word
		if !plain || f.sum.slot.flags(mem, e) != modeReal|sawFloat {
			f.addOne(mem, e, r, h)
			continue
		}
		sum, low, ok := addReal(math.Float64frombits(mem[w]), math.Float64frombits(mem[w+1]), x)
		if !ok {
			f.addOne(mem, e, r, h)
			continue
		}
		mem[w], mem[w+1] = math.Float64bits(sum), math.Float64bits(low)
		if f.lo != nil {
			f.lo.offerPlain(mem, e, k, bits, x, h)
		}
		if f.hi != nil {
			f.hi.offerPlain(mem, e, k, bits, x, h)
		}
		if f.rows != nil {
			mem[e+f.rows.slot.word]++
		}
		if f.n != nil {
			mem[e+f.n.slot.word]++
		}
	}
}

// plainFloat is the exact value of a float, or of an integer that a float holds exactly.
func plainFloat(k batch.Kind, bits uint64) (float64, bool) {
	switch k {
	case batch.Float:
		x := math.Float64frombits(bits)
		return x, x == x
	case batch.Int:
		return float64(int64(bits)), uint64(int64(bits)+1<<53) <= 1<<54
	}
	return 0, false
}

// offerPlain is offer for a value that plainFloat has.
func (x *extremeAcc) offerPlain(mem []uint64, at uint32, k batch.Kind, bits uint64, v float64, h *Heap) {
	held := batch.Kind(x.slot.flags(mem, at))
	old, plain := plainFloat(held, mem[at+x.slot.word])
	switch {
	case held == k && bits == mem[at+x.slot.word]:
	case !plain || v == old:
		x.offer(mem, at, k, bits, nil, h)
	case v < old == (x.sign > 0):
		mem[at+x.slot.word] = bits
		if held != k {
			x.slot.setFlags(mem, at, uint64(k))
		}
	}
}
