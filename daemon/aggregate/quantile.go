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
//	0  values: two words, the float's bits and its count (0 = free)
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
)

type valueCount struct {
	value float64
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
		if k == batch.JSON {
			f, ok = integerToFloat(x.b.Text(x.col.Bits[r]))
		}
		if !ok || f != f {
			*x.skipped++
			continue
		}
		x.count(mem, at[i], f, 1, h)
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

// count adds n times the value f.
func (x *histogramAcc) count(mem []uint64, at uint32, f float64, n uint64, h *Heap) {
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
	if !countPair(w[1:], math.Float64bits(f), n) {
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
				countPair(nw[1:], w[i], w[i+1])
			}
		}
		h.release(handle(*p))
		*p = uint64(nb)
	}
}

// countPair reports whether the value is new.
func countPair(table []uint64, value, n uint64) bool {
	places := len(table) / 2
	i := place(value, places)
	for table[2*i+1] != 0 && table[2*i] != value {
		if i++; i == places {
			i = 0
		}
	}
	fresh := table[2*i+1] == 0
	table[2*i] = value
	table[2*i+1] += n
	return fresh
}

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
			x.countBucket(p, w[i]>>bucketShift, w[i+1], h)
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
					x.count(dst, d, math.Float64frombits(w[j]), w[j+1], dh)
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
				x.sorted = append(x.sorted, valueCount{middle(v >> countBits), v & countMask})
			}
		}
	} else {
		for i := 1; i+1 < len(w); i += 2 {
			if w[i+1] != 0 {
				x.sorted = append(x.sorted, valueCount{math.Float64frombits(w[i]), w[i+1]})
			}
		}
	}
	slices.SortFunc(x.sorted, func(a, b valueCount) int { return cmp.Compare(a.value, b.value) })
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

// encode writes 0 for nothing; else 1 or 2 for values or buckets, how many, and in ascending order each with its count.
func (x *histogramAcc) encode(p []byte, mem []uint64, at uint32, h *Heap) []byte {
	list := x.ascending(mem, at, h)
	if len(list) == 0 {
		return append(p, 0)
	}
	kind := byte(1 + x.slot.flags(mem, at))
	p = binary.AppendUvarint(append(p, kind), uint64(len(list)))
	for _, v := range list {
		if kind == 1 {
			p = binary.LittleEndian.AppendUint64(p, math.Float64bits(v.value))
		} else {
			p = binary.AppendUvarint(p, math.Float64bits(v.value)>>bucketShift)
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
	case 1:
	case 2:
		x.toBuckets(mem, at, h)
	default:
		d.fail("histogram kind %d", kind)
		return
	}
	for range d.count(2) {
		var bits uint64
		if kind == 1 {
			bits = d.word()
		} else {
			bits = d.uvarint()
		}
		n := d.uvarint()
		if n == 0 || n > countMask || kind == 2 && bits >= 1<<(64-bucketShift) {
			d.fail("bucket %d with count %d", bits, n)
			return
		}
		if kind == 1 {
			x.count(mem, at, math.Float64frombits(bits), n, h)
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
			if high := atRank(list, uint64(whole)+1); high != low {
				low = low*(1-frac) + high*frac
			}
		}
		cols[0].SetFloat(row+i, low)
	}
}

func atRank(list []valueCount, rank uint64) float64 {
	for _, v := range list {
		if rank < v.count {
			return v.value
		}
		rank -= v.count
	}
	return list[len(list)-1].value
}
