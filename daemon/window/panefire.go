package window

import (
	"bytes"
	"math"
	"sort"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// firing is the entries of a table in the order of results: by hash, then key. Its memory is used again and again.
type firing struct {
	at   []uint32
	hash []uint64
}

// takeAll lists all entries of a table.
func (f *firing) takeAll(t *table) { f.takeRun(t, 0, math.MaxInt) }

// takeRun lists about most entries of a table, or a few more, from the slot at offset e on, and returns where the next run begins: at the table's
// end when there is none. A run ends in front of a free slot. What stands behind that has its home there, too, so the runs are in the
// order of hashes one after the other as they are in themselves.
func (f *firing) takeRun(t *table, e, most int) (next int) {
	f.empty()
	if t.n == 0 {
		return len(t.mem)
	}
	for ; e < len(t.mem); e += t.stride {
		if t.mem[e] != 0 {
			f.at = append(f.at, uint32(e))
		} else if len(f.at) >= most {
			break
		}
	}
	f.sort(t)
	return e
}

// takeFirst lists about most of some entries, given in the order of their places, or a few more, and returns the others. The first of these has a free
// slot before it, so the runs are in the order of hashes as those of takeRun are.
func (f *firing) takeFirst(t *table, entries []uint32, most int) (rest []uint32) {
	f.empty()
	n := min(most, len(entries))
	for n < len(entries) && t.mem[int(entries[n])-t.stride] != 0 {
		n++
	}
	f.at = append(f.at, entries[:n]...)
	f.sort(t)
	return entries[n:]
}

// take lists some entries of a table.
func (f *firing) take(t *table, entries []uint32) {
	f.at = append(f.at[:0], entries...)
	sort.Slice(f.at, func(i, k int) bool { return f.at[i] < f.at[k] })
	f.hash = f.hash[:0]
	f.sort(t)
}

// sort brings entries in order of their places, which is nearly that of their hashes, into the order of their hashes: each is moved
// back over the few that probing has put before it.
func (f *firing) sort(t *table) {
	for i, e := range f.at {
		hash := t.hashOf(t.mem, e)
		f.hash = append(f.hash, hash)
		k := i
		for k > 0 && (f.hash[k-1] > hash || f.hash[k-1] == hash && t.after(f.at[k-1], e)) {
			f.hash[k], f.at[k] = f.hash[k-1], f.at[k-1]
			k--
		}
		f.hash[k], f.at[k] = hash, e
	}
}

// after compares the keys of two entries.
func (t *table) after(a, b uint32) bool {
	var x, y [inlineSize]byte
	tagA, keyA := t.key(a, &x)
	tagB, keyB := t.key(b, &y)
	if c := bytes.Compare(keyA, keyB); c != 0 {
		return c > 0
	}
	return tagA > tagB
}

// AdvanceWatermark sets the watermark first, then does what is due, in order of time: fire, fire again what was collected, drop
// (2.3, 9.1). Several things at one time go by their windows' ends: what is dropped is older than what was collected, and that is older
// than what ends now.
func (p *panes) AdvanceWatermark(watermark int64) {
	if watermark <= p.watermark || p.disk.err != nil {
		return
	}
	over := p.watermark
	p.watermark = watermark
	p.last = nil // its pane may be dropped now, or, at the end of input, stay and take no more rows
	if len(p.list) == 0 {
		return
	}
	p.writer.open(p.out)
	for {
		n, window, fireAt := p.nextWindow(over)
		dropAt := p.dropTime(p.list[0].lastEnd)
		if dropAt == math.MaxInt64 || maxTimestamp(p.list[0].lastEnd) > over {
			dropAt = notDue
		}
		lateAt := p.lateDue
		switch at := min(fireAt, dropAt, lateAt); {
		case at > watermark || at == notDue && n == nil:
			return
		case p.disk.err != nil:
			return
		case at == dropAt && at != notDue:
			p.fireCollected(p.list[0], at)
			p.release(p.list[0])
			copy(p.list, p.list[1:])
			p.list[len(p.list)-1] = nil
			if p.list = p.list[:len(p.list)-1]; len(p.list) == 0 {
				p.lateDue = notDue
				return
			}
		case at == lateAt && at != notDue:
			for _, n := range p.list {
				p.fireCollected(n, at)
			}
			p.lateDue = notDue
		default:
			switch {
			case window.End == math.MaxInt64 && p.anyOnDisk():
				p.fireDiskEndOfTime()
			case window.End == math.MaxInt64:
				p.slide.fireEndOfTime()
			case p.fromDisk(window):
				p.fireDisk(window)
			case p.spec.Type == Tumbling:
				p.fireTable(window, &n.table)
			default:
				p.slide.fire(window)
				p.weighStacks()
			}
			over = fireAt
		}
	}
}

// nextWindow is the first window with rows that ends after the instant over, the first pane that is in it, and its last instant.
func (p *panes) nextWindow(over int64) (*pane, Span, int64) {
	i := 0
	if maxTimestamp(p.list[0].lastEnd) <= over {
		i = sort.Search(len(p.list), func(k int) bool { return maxTimestamp(p.list[k].lastEnd) > over })
	}
	if i == len(p.list) {
		return nil, Span{}, math.MaxInt64
	}
	n := p.list[i]
	w := n.span
	if p.spec.Type != Tumbling {
		w = p.cut.window(&n.slice, over)
	}
	return n, w, w.MaxTimestamp()
}

// fireTable emits the on-time result of all keys of a table, in runs of a few thousand: whoever takes them can be at the first ones while the last ones
// are still in the table, and a million results are never in memory as one batch.
func (p *panes) fireTable(window Span, t *table) {
	most := OverflowRows
	if p.out.Overflow == nil {
		most = math.MaxInt
	}
	for e := 0; e < len(t.mem) && p.disk.err == nil; {
		e = p.fired.takeRun(t, e, most)
		if len(p.fired.at) == 0 {
			return
		}
		p.writer.addRun(result{span: window, watermark: p.watermark, timing: OnTime}, t, p.fired.at)
		p.writer.segment(p.out.Place, window.MaxTimestamp(), window.End, len(p.fired.at))
		p.overflow()
	}
}

// addRun appends one result for each entry, column by column, and returns the first one's row. What differs between them is only the
// key and the accumulators.
func (w *resultWriter) addRun(r result, t *table, at []uint32) int {
	b := w.out.Results
	row := b.Grow(len(at))
	to := row + len(at)
	for i := row; i < to; i++ {
		b.Times[i] = r.span.MaxTimestamp()
	}
	w.addKeys(t, at, row)
	fill(&b.Columns[w.keys], row, to, batch.Time, uint64(r.span.Start))
	fill(&b.Columns[w.keys+1], row, to, batch.Time, uint64(r.span.End))
	w.layout.Results(b, w.aggs, row, t.mem, at, &t.heap)
	if w.meta > 0 {
		if r.watermark == batch.NoWatermark {
			fill(&b.Columns[w.meta], row, to, batch.Null, 0)
		} else {
			fill(&b.Columns[w.meta], row, to, batch.Time, uint64(r.watermark))
		}
		fill(&b.Columns[w.meta+1], row, to, batch.Int, uint64(r.firing))
		fill(&b.Columns[w.meta+2], row, to, batch.String, w.timing[r.timing])
	}
	return row
}

func fill(c *batch.Column, from, to int, k batch.Kind, v uint64) {
	kinds, bits := c.Kinds[from:to], c.Bits[from:to]
	for i := range bits {
		kinds[i], bits[i] = k, v
	}
	c.Present |= 1 << k
}

// addKeys writes the keys of entries as cells.
func (w *resultWriter) addKeys(t *table, at []uint32, row int) {
	b := w.out.Results
	var buf [inlineSize]byte
	for i, e := range at {
		tag, key := t.key(e, &buf)
		if w.keys == 1 && tag == uint8(batch.String) {
			c := &b.Columns[0]
			off := len(b.Extra)
			b.Extra = append(b.Extra, key...)
			c.Set(row+i, batch.String, batch.ExtraRef(off, len(key)))
			continue
		}
		if err := rowkey.Decode(tag, key, b, w.keyCols, row+i); err != nil {
			panic("window: a key that rowkey made does not decode: " + err.Error())
		}
	}
}
