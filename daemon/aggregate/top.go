package aggregate

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// topAcc counts how often each value occurs: exactly up to a bound of different values. Beyond it, it is a Misra-Gries summary: when
// one value too many comes, the lowest count is taken from all and what reaches zero is dropped, so that a count is too low by at
// most rows/(bound+1) and no value that is more frequent than that is lost, through merges too (Agarwal et al., Mergeable
// summaries, 2012).
//
// The word is a handle to a block:
//
//	word 0     number of values
//	word 1     how much counts may be too low
//	word 2…    an open-addressing table, four words each: hash, count (0 = free), kind, bits or handle of the text
type topAcc struct {
	arg   string
	limit int
	slot  slot
	b     *batch.Batch
	col   *batch.Column

	sorted []counted // reused
}

type counted struct {
	hash, count uint64
	kind        batch.Kind
	bits        uint64
	text        []byte
}

const topWords = 4

func (x *topAcc) size() (int, uint)   { return 1, 0 }
func (x *topAcc) put(s slot)          { x.slot = s }
func (x *topAcc) bind(b *batch.Batch) { x.b, x.col = b, b.Column(x.arg) }

func (x *topAcc) add(mem []uint64, at, rows []uint32, h *Heap) {
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
		x.count(&mem[at[i]+x.slot.word], counted{hashValue(k, v, text), 1, k, v, text}, h)
		x.bound(&mem[at[i]+x.slot.word], h)
	}
}

// count adds a value; the block may then hold more values than the bound allows.
func (x *topAcc) count(p *uint64, c counted, h *Heap) {
	if *p == 0 {
		*p = uint64(h.alloc(2 + 4*topWords))
	}
	w := h.block(handle(*p))
	table := w[2:]
	places := len(table) / topWords
	i := place(c.hash, places)
	for {
		e := table[topWords*i:][:topWords]
		if e[1] == 0 {
			e[0], e[1], e[2], e[3] = c.hash, c.count, uint64(c.kind), 0
			putValue(&e[3], batch.Missing, c.kind, c.bits, c.text, h)
			w[0]++
			break
		}
		// Sixty-four bits of hash and the kind decide, as in count_distinct.
		if e[0] == c.hash && batch.Kind(e[2]) == c.kind {
			e[1] += c.count
			return
		}
		if i++; i == places {
			i = 0
		}
	}
	if int(w[0]) > places*3/4 {
		x.rebuild(p, 2*len(w), 0, h)
	}
}

// rebuild moves the values into a new block, with sub taken from each count; those that reach zero are dropped.
func (x *topAcc) rebuild(p *uint64, words int, sub uint64, h *Heap) {
	old := handle(*p)
	w := h.block(old)
	nb := h.alloc(words)
	nw := h.block(nb)
	nw[1] = w[1] + sub
	table := nw[2:]
	places := len(table) / topWords
	for j := 2; j+topWords <= len(w); j += topWords {
		e := w[j : j+topWords]
		if e[1] == 0 {
			continue
		}
		if e[1] <= sub {
			releaseHeld(batch.Kind(e[2]), e[3], h)
			continue
		}
		i := place(e[0], places)
		for table[topWords*i+1] != 0 {
			if i++; i == places {
				i = 0
			}
		}
		copy(table[topWords*i:], []uint64{e[0], e[1] - sub, e[2], e[3]})
		nw[0]++
	}
	h.release(old)
	*p = uint64(nb)
}

// bound brings a block that holds too many values back to the bound.
func (x *topAcc) bound(p *uint64, h *Heap) {
	if *p == 0 {
		return
	}
	w := h.block(handle(*p))
	over := int(w[0]) - x.limit
	if over <= 0 {
		return
	}
	counts := make([]uint64, 0, w[0])
	for j := 2; j+topWords <= len(w); j += topWords {
		if w[j+1] != 0 {
			counts = append(counts, w[j+1])
		}
	}
	slices.Sort(counts)
	x.rebuild(p, len(w), counts[over-1], h)
}

// list gives an entry's values, most frequent first, equal counts by value; it is valid until the next call.
func (x *topAcc) list(mem []uint64, at uint32, h *Heap) []counted {
	x.sorted = x.sorted[:0]
	b := handle(mem[at+x.slot.word])
	if b == 0 {
		return nil
	}
	w := h.block(b)
	for j := 2; j+topWords <= len(w); j += topWords {
		if e := w[j : j+topWords]; e[1] != 0 {
			k := batch.Kind(e[2])
			v, text := getValue(e[3], k, h)
			x.sorted = append(x.sorted, counted{e[0], e[1], k, v, text})
		}
	}
	slices.SortFunc(x.sorted, func(a, b counted) int {
		if c := cmp.Compare(b.count, a.count); c != 0 {
			return c
		}
		return compareValues(a.kind, a.bits, a.text, b.kind, b.bits, b.text)
	})
	return x.sorted
}

func (x *topAcc) merge(dst []uint64, dstAt []uint32, dh *Heap, src []uint64, srcAt []uint32, sh *Heap) {
	for i, d := range dstAt {
		s := handle(src[srcAt[i]+x.slot.word])
		if s == 0 {
			continue
		}
		p := &dst[d+x.slot.word]
		for _, c := range x.list(src, srcAt[i], sh) {
			x.count(p, c, dh)
		}
		if low := sh.block(s)[1]; low != 0 {
			if *p == 0 {
				*p = uint64(dh.alloc(2 + 4*topWords))
			}
			dh.block(handle(*p))[1] += low
		}
		x.bound(p, dh)
	}
}

// encode writes how many values, how much counts may be too low, and the values with their counts, most frequent first.
func (x *topAcc) encode(p []byte, mem []uint64, at uint32, h *Heap) []byte {
	list := x.list(mem, at, h)
	p = binary.AppendUvarint(p, uint64(len(list)))
	var low uint64
	if b := handle(mem[at+x.slot.word]); b != 0 {
		low = h.block(b)[1]
	}
	p = binary.AppendUvarint(p, low)
	for _, c := range list {
		p = binary.AppendUvarint(p, c.count)
		p = appendValue(p, c.kind, c.bits, c.text)
	}
	return p
}

func (x *topAcc) decode(d *decoder, mem []uint64, at uint32, h *Heap) {
	n, low := d.count(2), d.uvarint()
	p := &mem[at+x.slot.word]
	for range n {
		c := counted{count: d.uvarint()}
		c.kind, c.bits, c.text = d.value()
		if d.err == nil && c.count == 0 {
			d.fail("a value that never came")
		}
		if d.err != nil {
			return
		}
		c.hash = hashValue(c.kind, c.bits, c.text)
		x.count(p, c, h)
	}
	if low != 0 {
		if *p == 0 {
			*p = uint64(h.alloc(2 + 4*topWords))
		}
		h.block(handle(*p))[1] = low
	}
}

func (x *topAcc) release(mem []uint64, at uint32, h *Heap) {
	b := handle(mem[at+x.slot.word])
	if b == 0 {
		return
	}
	w := h.block(b)
	for j := 2; j+topWords <= len(w); j += topWords {
		if w[j+1] != 0 {
			releaseHeld(batch.Kind(w[j+2]), w[j+3], h)
		}
	}
	h.release(b)
}

// topList writes the k most frequent values as a JSON array of objects with value and count.
type topList struct {
	*topAcc
	k int
}

func (t *topList) results(b *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap) {
	for i, e := range at {
		off := len(b.Extra)
		b.Extra = append(b.Extra, '[')
		list := t.list(mem, e, h)
		for j, c := range list[:min(t.k, len(list))] {
			if j > 0 {
				b.Extra = append(b.Extra, ',')
			}
			b.Extra = append(b.Extra, `{"value":`...)
			b.Extra = appendJSON(b.Extra, c.kind, c.bits, c.text)
			b.Extra = append(b.Extra, `,"count":`...)
			b.Extra = strconv.AppendUint(b.Extra, c.count, 10)
			b.Extra = append(b.Extra, '}')
		}
		b.Extra = append(b.Extra, ']')
		cols[0].Set(row+i, batch.JSON, batch.ExtraRef(off, len(b.Extra)-off))
	}
}
