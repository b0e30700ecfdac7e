package aggregate

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// histogramAcc counts the values of a column for median and quantile. Up to exactValues different values it holds each with its
// count; beyond that it rounds values to six bits after the leading one, which makes 64 buckets for each doubling, so that a
// bucket's middle is within 1/128 of everything in it. Which of the two it is depends only on how many different values there are, and the
// counts are integers, so order and grouping never show. Memory grows with the buckets in use, 8 bytes each.
//
// The word is a handle to a block, the flag says which kind it is. Word 0 is the number of places taken, then follows an
// open-addressing table:
//
//	0  values: two words, the float's bits, and delta << countBits | count (0 = free). An integer that no float is has the float nearest to it,
//	   and delta is what it is more than that
//	1  buckets: one word, bucket << countBits | count (0 = free)
type histogramAcc struct {
	arg     string
	skipped *uint64
	slot    slot
	b       *batch.Batch
	col     *batch.Column

	sorted []valueCount // reused by results and encode
}

const (
	exactValues = 128
	bucketShift = 52 - 6
	countBits   = 44
	countMask   = 1<<countBits - 1
	maxDelta    = 1 << 10 // half of what lies between two floats below 2^64
)

type valueCount struct {
	value float64
	delta int64
	count uint64
}

func (x *histogramAcc) size() (int, uint)   { return 1, 1 }
func (x *histogramAcc) put(s slot)          { x.slot = s }
func (x *histogramAcc) bind(b *batch.Batch) { x.b, x.col = b, b.Column(x.arg) }

func (x *histogramAcc) add(mem []uint64, at, rows []uint32, h *Heap) {
	if uniform(x.col) <= batch.Null {
		return
	}
	for i, r := range rows {
		k := x.col.Kinds[r]
		if k <= batch.Null {
			continue
		}
		f, ok := toFloat(k, x.col.Bits[r])
		delta := int64(0)
		switch {
		case k == batch.JSON:
			f, ok = integerToFloat(x.b.Text(x.col.Bits[r]))
		case k == batch.Uint, k == batch.Int && (int64(x.col.Bits[r]) > 1<<53 || int64(x.col.Bits[r]) < -1<<53):
			delta = int64(x.col.Bits[r] - wrapped(f))
		}
		if !ok || f != f {
			*x.skipped++
			continue
		}
		x.count(mem, at[i], f, delta, 1, h)
	}
}

// wrapped is an integral float as 64 bits, of which those of an Int or Uint differ by a small delta, also across the ends.
func wrapped(f float64) uint64 {
	switch {
	case f >= 1<<64:
		return 0
	case f < 0:
		return uint64(int64(f))
	}
	return uint64(f)
}

// set writes the value: the integer, where it is one that no float is.
func (v valueCount) set(c *batch.Column, row int) {
	switch u := wrapped(v.value) + uint64(v.delta); {
	case v.delta == 0:
		c.SetFloat(row, v.value)
	case v.value > 0 && u > math.MaxInt64:
		c.Set(row, batch.Uint, u)
	default:
		c.SetInt(row, int64(u))
	}
}

// integerToFloat is the float nearest to an integer that decoders keep as JSON text, for which a sum has room.
func integerToFloat(text []byte) (float64, bool) {
	if !isJSONInteger(text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// count adds n times the value f + delta.
func (x *histogramAcc) count(mem []uint64, at uint32, f float64, delta int64, n uint64, h *Heap) {
	if f == 0 {
		f = 0 // -0
	}
	if x.slot.flags(mem, at) != 0 {
		x.countBucket(&mem[at+x.slot.word], math.Float64bits(f)>>bucketShift, n, h)
		return
	}
	p := &mem[at+x.slot.word]
	if *p == 0 {
		*p = uint64(h.alloc(8))
	}
	w := h.block(handle(*p))
	if !countPair(w[1:], math.Float64bits(f), delta, n) {
		return
	}
	w[0]++
	switch taken := int(w[0]); {
	case taken > exactValues:
		x.toBuckets(mem, at, h)
	case taken > (len(w)-1)/2*3/4:
		nb := h.alloc(2 * len(w))
		nw := h.block(nb)
		nw[0] = w[0]
		for i := 1; i+1 < len(w); i += 2 {
			if w[i+1] != 0 {
				countPair(nw[1:], w[i], deltaOf(w[i+1]), w[i+1]&countMask)
			}
		}
		h.release(handle(*p))
		*p = uint64(nb)
	}
}

// countPair reports whether the value is new.
func countPair(table []uint64, value uint64, delta int64, n uint64) bool {
	places := len(table) / 2
	i := place(value+uint64(delta), places)
	for table[2*i+1] != 0 && (table[2*i] != value || deltaOf(table[2*i+1]) != delta) {
		if i++; i == places {
			i = 0
		}
	}
	fresh := table[2*i+1] == 0
	table[2*i] = value
	table[2*i+1] = uint64(delta)<<countBits | (table[2*i+1]+n)&countMask
	return fresh
}

func deltaOf(word uint64) int64 { return int64(word) >> countBits }

func (x *histogramAcc) countBucket(p *uint64, bucket, n uint64, h *Heap) {
	w := h.block(handle(*p))
	if !countPlace(w[1:], bucket, n) {
		return
	}
	w[0]++
	if int(w[0]) <= (len(w)-1)*3/4 {
		return
	}
	nb := h.alloc(2 * len(w))
	nw := h.block(nb)
	nw[0] = w[0]
	for _, v := range w[1:] {
		if v != 0 {
			countPlace(nw[1:], v>>countBits, v&countMask)
		}
	}
	h.release(handle(*p))
	*p = uint64(nb)
}

// countPlace reports whether the bucket is new.
func countPlace(table []uint64, bucket, n uint64) bool {
	i := place(bucket, len(table))
	for table[i] != 0 && table[i]>>countBits != bucket {
		if i++; i == len(table) {
			i = 0
		}
	}
	fresh := table[i] == 0
	table[i] = bucket<<countBits | (table[i]+n)&countMask
	return fresh
}

// toBuckets turns the entry's values, or nothing, into buckets.
func (x *histogramAcc) toBuckets(mem []uint64, at uint32, h *Heap) {
	p := &mem[at+x.slot.word]
	old := handle(*p)
	*p = uint64(h.alloc(exactValues))
	x.slot.setFlags(mem, at, 1)
	if old == 0 {
		return
	}
	w := h.block(old)
	for i := 1; i+1 < len(w); i += 2 {
		if w[i+1] != 0 {
			x.countBucket(p, w[i]>>bucketShift, w[i+1]&countMask, h)
		}
	}
	h.release(old)
}

func (x *histogramAcc) merge(dst []uint64, dstAt []uint32, dh *Heap, src []uint64, srcAt []uint32, sh *Heap) {
	for i, d := range dstAt {
		s := handle(src[srcAt[i]+x.slot.word])
		if s == 0 {
			continue
		}
		w := sh.block(s)
		if x.slot.flags(src, srcAt[i]) == 0 {
			for j := 1; j+1 < len(w); j += 2 {
				if w[j+1] != 0 {
					x.count(dst, d, math.Float64frombits(w[j]), deltaOf(w[j+1]), w[j+1]&countMask, dh)
				}
			}
			continue
		}
		if x.slot.flags(dst, d) == 0 {
			x.toBuckets(dst, d, dh)
		}
		for _, v := range w[1:] {
			if v != 0 {
				x.countBucket(&dst[d+x.slot.word], v>>countBits, v&countMask, dh)
			}
		}
	}
}

// ascending lists an entry's values, or buckets by their middles, with their counts in ascending order; it is valid until the next
// call.
func (x *histogramAcc) ascending(mem []uint64, at uint32, h *Heap) []valueCount {
	x.sorted = x.sorted[:0]
	b := handle(mem[at+x.slot.word])
	if b == 0 {
		return nil
	}
	w := h.block(b)
	if x.slot.flags(mem, at) != 0 {
		for _, v := range w[1:] {
			if v != 0 {
				x.sorted = append(x.sorted, valueCount{middle(v >> countBits), 0, v & countMask})
			}
		}
	} else {
		for i := 1; i+1 < len(w); i += 2 {
			if w[i+1] != 0 {
				x.sorted = append(x.sorted, valueCount{math.Float64frombits(w[i]), deltaOf(w[i+1]), w[i+1] & countMask})
			}
		}
	}
	slices.SortFunc(x.sorted, func(a, b valueCount) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.delta, b.delta)) })
	return x.sorted
}

// middle is what stands for a bucket's values.
func middle(bucket uint64) float64 {
	low := math.Float64frombits(bucket << bucketShift)
	if low == 0 || low-low != 0 {
		return low
	}
	return math.Float64frombits(bucket<<bucketShift | 1<<(bucketShift-1))
}

// encode writes 0 for nothing; else 1 or 2 for values or buckets, how many, and in ascending order each with its count. 3 is for values of
// which some have a delta: it stands between value and count.
func (x *histogramAcc) encode(p []byte, mem []uint64, at uint32, h *Heap) []byte {
	list := x.ascending(mem, at, h)
	if len(list) == 0 {
		return append(p, 0)
	}
	kind := byte(1 + x.slot.flags(mem, at))
	if slices.ContainsFunc(list, func(v valueCount) bool { return v.delta != 0 }) {
		kind = 3
	}
	p = binary.AppendUvarint(append(p, kind), uint64(len(list)))
	for _, v := range list {
		switch kind {
		case 2:
			p = binary.AppendUvarint(p, math.Float64bits(v.value)>>bucketShift)
		case 3:
			p = binary.AppendVarint(binary.LittleEndian.AppendUint64(p, math.Float64bits(v.value)), v.delta)
		default:
			p = binary.LittleEndian.AppendUint64(p, math.Float64bits(v.value))
		}
		p = binary.AppendUvarint(p, v.count)
	}
	return p
}

func (x *histogramAcc) decode(d *decoder, mem []uint64, at uint32, h *Heap) {
	kind := d.byte()
	switch kind {
	case 0:
		return
	case 1, 3:
	case 2:
		x.toBuckets(mem, at, h)
	default:
		d.fail("histogram kind %d", kind)
		return
	}
	for range d.count(2) {
		var bits uint64
		var delta int64
		switch kind {
		case 2:
			bits = d.uvarint()
		case 3:
			bits, delta = d.word(), d.varint()
		default:
			bits = d.word()
		}
		n := d.uvarint()
		if delta > maxDelta || delta < -maxDelta || n == 0 || n > countMask || kind == 2 && bits >= 1<<(64-bucketShift) {
			d.fail("bucket %d with count %d", bits, n)
			return
		}
		if kind != 2 {
			x.count(mem, at, math.Float64frombits(bits), delta, n, h)
		} else {
			x.countBucket(&mem[at+x.slot.word], bits, n, h)
		}
	}
}

func (x *histogramAcc) release(mem []uint64, at uint32, h *Heap) {
	h.release(handle(mem[at+x.slot.word]))
}

// quantile is median and quantile(p): linear between the two values next to the rank, as percentile_cont in SQL, while values are
// exact; the middle of the rank's bucket beyond. It is null when there are no values.
type quantile struct {
	*histogramAcc
	p float64
}

func (q *quantile) results(_ *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap) {
	for i, e := range at {
		list := q.ascending(mem, e, h)
		if len(list) == 0 {
			cols[0].SetNull(row + i)
			continue
		}
		var n uint64
		for _, v := range list {
			n += v.count
		}
		rank := q.p * float64(n-1)
		whole := math.Floor(rank)
		low := atRank(list, uint64(whole))
		if frac := rank - whole; frac > 0 && q.slot.flags(mem, e) == 0 {
			if high := atRank(list, uint64(whole)+1); high.value != low.value {
				low = valueCount{value: low.value*(1-frac) + high.value*frac}
			}
		}
		low.set(&cols[0], row+i)
	}
}

func atRank(list []valueCount, rank uint64) valueCount {
	for _, v := range list {
		if rank < v.count {
			return v
		}
		rank -= v.count
	}
	return list[len(list)-1]
}
