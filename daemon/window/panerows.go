package window

import (
	"math"
	"math/bits"
)

// Rows are added pane by pane, many at a time: that is what keeps the loops over keys and accumulators tight.

// paneSorter sorts the rows of a batch into panes without looking a pane up, or guessing, for each row.
type paneSorter struct {
	length  uint64 // of a pane; 0 = panes are not of one length, or longer than factor is exact for
	factor  uint64 // ceil(2^64 / length)
	buckets [64][]uint32
}

func newPaneSorter(c *cutter) paneSorter {
	s := paneSorter{}
	switch {
	case c.kind == Tumbling && c.cal == nil:
		s.length = uint64(c.size)
	case c.kind == Sliding && c.rest == 0, c.kind == Cumulative:
		s.length = uint64(c.slide)
	}
	// A quotient by multiplication is exact while dividend * length < 2^64, and dividends are below 64 lengths.
	if s.length >= 1<<29 {
		s.length = 0
	}
	if s.length > 1 {
		s.factor = math.MaxUint64/s.length + 1
	}
	return s
}

// bucket is the pane of a time, counted from the pane that begins at first; the time must be in one of 64 panes from there on.
func (s *paneSorter) bucket(ts, first int64) uint64 {
	if s.length == 1 {
		return uint64(ts - first)
	}
	b, _ := bits.Mul64(uint64(ts-first), s.factor)
	return b
}

// sorted adds all rows of a batch in the usual case: they belong to a few neighbouring panes, and none is late for any window. In any
// other case it has done nothing and returns false.
func (p *panes) sorted(rows *Rows) bool {
	times := rows.Batch.Times
	if times == nil || p.watermark == math.MaxInt64 {
		return false
	}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, row := range rows.Index {
		low, high = min(low, times[row]), max(high, times[row])
	}
	first, ok := p.cut.slice(low)
	if !ok || first.overAt() <= p.watermark {
		return false
	}
	if high < first.span.End {
		p.add(rows, p.paneOf(low), rows.Index)
		return true
	}
	s := &p.sorter
	if s.length == 0 || first.span.Start == math.MinInt64 || high == math.MaxInt64 || uint64(high-first.span.Start) >= uint64(len(s.buckets))*s.length {
		return false
	}
	used := s.bucket(high, first.span.Start) + 1
	for _, row := range rows.Index {
		b := &s.buckets[s.bucket(times[row], first.span.Start)&uint64(len(s.buckets)-1)]
		*b = append(*b, row)
	}
	// None of the later panes is over, since the first is not.
	for b, index := range s.buckets[:used] {
		if len(index) > 0 {
			p.add(rows, p.paneOf(times[index[0]]), index)
			s.buckets[b] = index[:0]
		}
	}
	return true
}

// oneByOne looks at each row for itself.
func (p *panes) oneByOne(rows *Rows) {
	times := rows.Batch.Times
	for _, row := range rows.Index {
		ts := int64(math.MinInt64)
		if times != nil {
			ts = times[row]
		}
		// Most rows belong to the pane of the row before them.
		n := p.last
		if n == nil || uint64(ts-n.span.Start) >= uint64(n.span.End-n.span.Start) {
			if n = p.paneOf(ts); n == nil {
				p.rejected(row, ts)
				continue
			}
			p.last = n
		}
		if n.overAt() <= p.watermark {
			p.lateRow(rows, row, n)
			continue
		}
		if len(n.rows) == 0 {
			p.touched = append(p.touched, n)
		}
		n.rows = append(n.rows, row)
	}
	p.flush(rows)
}

// flush adds the rows that are waiting, those of one pane in the order of their arrival.
func (p *panes) flush(rows *Rows) {
	for _, n := range p.touched {
		p.add(rows, n, n.rows)
		n.rows = n.rows[:0]
	}
	p.touched = p.touched[:0]
}

// add folds rows into a pane.
func (p *panes) add(rows *Rows, n *pane, index []uint32) {
	p.touch(n)
	t := &n.table
	for len(index) > 0 {
		part := index[:min(paneRun, len(index))]
		index = index[len(part):]
		if p.disk.ordered && n.spilled && !p.readFirst(rows.Keys, n, part) {
			return
		}
		p.layout.Add(t.mem, t.resolve(&p.found, rows.Keys, part), part, &t.heap)
	}
	p.weigh(n)
}
