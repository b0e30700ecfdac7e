package window

import (
	"math"
	"sort"
)

// slider gives the contents of windows that are made of several panes.
//
// Merging all panes for each window would cost as much as there are panes. What one window has, the next one has too, but for the oldest
// panes, which go, and the newest, which come. Taking away what goes is not possible for a minimum. So the panes are kept as two
// stacks: the back holds everything that came since the stacks were last turned, merged in one table; the front holds, for each of its
// panes, everything from that pane to the end of the front. A window is the right table of the front merged with the back. When the
// front is used up, the back is turned into a new front.
//
// Turning would then merge all panes at once, and take a table for each. So the front is made in two steps: blocks of some panes are
// merged as the panes come; turning makes tables that reach from a block to the end (mid), and only the oldest block has a table for
// each of its panes (front). With n panes to a window that is about 3*sqrt(n) tables and never more than sqrt(n) merges at one time.
//
//	time   ──────────────────────────────────────────────────────────▶
//	         front: a table for each    mid: a table for each     back: one table,
//	         pane of the oldest block   block, to the end of mid  and one for each block
//
// Nothing here is in a snapshot: after a restart the panes are merged again.
type slider struct {
	p      *panes
	plain  bool // the panes are merged anew for each window
	noTurn bool // cumulative: windows grow and begin afresh, so the back is all there is
	block  int  // panes to a block

	span Span // the last window; what lies in it is in the tables

	front     []*suffix
	mid       []*suffix
	back      table
	backStart int64
	blocks    []*suffix // of the back, each by itself

	window table // the contents of the window that fires
	spare  []*suffix
	keys   int // keys that a table is expected to get
	dst    []uint32
	src    []uint32
	row    [1]uint32
}

// suffix is what lies between start and the end of the part that it belongs to.
type suffix struct {
	start int64
	panes int // merged into a block
	table table
}

// plainPanes is up to how many panes to a window are merged anew for each window.
const plainPanes = 3

func (s *slider) init(p *panes) {
	s.p = p
	s.span = Span{math.MinInt64, math.MinInt64}
	panes := int64(1)
	switch p.spec.Type {
	case Sliding:
		if panes = p.spec.Size / p.spec.Slide; p.cut.rest != 0 {
			panes = 2*panes + 1
		}
	case Cumulative:
		panes = p.spec.Size / p.spec.Slide
		s.noTurn = true
	}
	s.plain = panes <= plainPanes || p.layout.OrderMatters()
	s.block = max(2, int(math.Sqrt(float64(panes))))
}

// fire emits a window.
func (s *slider) fire(window Span) {
	if s.plain {
		s.window.open(s.p.stride, s.keys, s.p.ranges)
		for _, n := range s.between(window.Start, window.End) {
			s.merge(&s.window, &n.table)
		}
		s.emit(window, &s.window)
		return
	}
	s.moveTo(window)
	parts := make([]*table, 0, 3)
	if len(s.front) > 0 {
		parts = append(parts, &s.front[0].table)
	}
	if len(s.mid) > 0 {
		parts = append(parts, &s.mid[0].table)
	}
	if s.back.n > 0 {
		parts = append(parts, &s.back)
	}
	switch len(parts) {
	case 0:
		return
	case 1:
		s.emit(window, parts[0])
		return
	}
	s.window.copy(parts[0])
	for _, t := range parts[1:] {
		s.merge(&s.window, t)
	}
	s.emit(window, &s.window)
}

func (s *slider) emit(window Span, t *table) {
	s.keys = max(t.n+t.n/8+paneRun, s.keys-s.keys/8)
	s.p.fireTable(window, t)
}

// between are the panes that begin in [start, end).
func (s *slider) between(start, end int64) []*pane {
	list := s.p.list
	from := sort.Search(len(list), func(k int) bool { return list[k].span.Start >= start })
	to := from + sort.Search(len(list)-from, func(k int) bool { return list[from+k].span.Start >= end })
	return list[from:to]
}

// moveTo makes the tables hold what is in the window, which is later than the last one.
func (s *slider) moveTo(w Span) {
	if w.Start >= s.span.End {
		s.reset(w.Start)
	}
	for s.evict(w.Start) {
	}
	for _, n := range s.between(max(s.span.End, w.Start), w.End) {
		s.push(n)
	}
	s.span = w
}

func (s *slider) reset(start int64) {
	s.front, s.mid, s.blocks = s.free(s.front), s.free(s.mid), s.free(s.blocks)
	s.back.open(s.p.stride, s.keys, s.p.ranges)
	s.backStart = start
	s.span.End = start
}

// push adds a pane at the end.
func (s *slider) push(n *pane) {
	s.merge(&s.back, &n.table)
	if s.noTurn {
		return
	}
	if k := len(s.blocks); k == 0 || s.blocks[k-1].panes == s.block {
		s.blocks = append(s.blocks, s.suffix(n.span.Start))
	}
	b := s.blocks[len(s.blocks)-1]
	b.panes++
	s.merge(&b.table, &n.table)
}

// evict does one step of taking away what lies before start, and says whether there may be another.
func (s *slider) evict(start int64) bool {
	for len(s.front) > 0 && s.front[0].start < start {
		s.free(s.front[:1])
		s.front = s.front[1:]
	}
	switch {
	case len(s.front) > 0:
		return false
	case len(s.mid) > 0:
		s.enterBlock(start)
		return true
	case len(s.blocks) > 0 && s.blocks[0].start < start:
		s.turn()
		return true
	}
	return false
}

// enterBlock makes the oldest block of mid the front: a table for each pane that does not lie before start.
func (s *slider) enterBlock(start int64) {
	from, to := s.mid[0].start, s.frontEnd(1)
	s.free(s.mid[:1])
	s.mid = s.mid[1:]
	panes := s.between(max(from, start), to)
	s.front = s.front[:0]
	for i := len(panes) - 1; i >= 0; i-- {
		n := s.suffix(panes[i].span.Start)
		n.table.copy(&panes[i].table)
		if k := len(s.front); k > 0 {
			s.merge(&n.table, &s.front[k-1].table)
		}
		s.front = append(s.front, n)
	}
	for i, k := 0, len(s.front)-1; i < k; i, k = i+1, k-1 {
		s.front[i], s.front[k] = s.front[k], s.front[i]
	}
}

// frontEnd is where the k-th block of mid begins, or the back.
func (s *slider) frontEnd(k int) int64 {
	if k < len(s.mid) {
		return s.mid[k].start
	}
	return s.backStart
}

// turn makes the back the front. Its blocks' tables become those of mid: each is merged with all that follow it.
func (s *slider) turn() {
	s.mid, s.blocks = s.blocks, s.mid[:0]
	for k := len(s.mid) - 2; k >= 0; k-- {
		s.merge(&s.mid[k].table, &s.mid[k+1].table)
	}
	s.back.open(s.p.stride, s.keys, s.p.ranges)
	s.backStart = s.span.End
}

func (s *slider) suffix(start int64) *suffix {
	var n *suffix
	if k := len(s.spare); k > 0 {
		n, s.spare = s.spare[k-1], s.spare[:k-1]
	} else {
		n = &suffix{}
	}
	n.start, n.panes = start, 0
	n.table.open(s.p.stride, s.keys, s.p.ranges)
	return n
}

// free keeps the memory of tables for others, up to the number that is in use at a time.
func (s *slider) free(list []*suffix) []*suffix {
	for i, n := range list {
		if len(s.spare) < 2*s.block {
			s.spare = append(s.spare, n)
		}
		list[i] = nil
	}
	return list[:0]
}

// late adds a row, which is in its pane already, to what holds that pane.
func (s *slider) late(n *pane, rows *Rows, row uint32) {
	at := n.span.Start
	if s.plain || at < s.span.Start || at >= s.span.End {
		return
	}
	switch {
	case at >= s.backStart:
		s.addRow(&s.back, rows, row)
		if s.noTurn {
			return
		}
		k := sort.Search(len(s.blocks), func(k int) bool { return s.blocks[k].start > at }) - 1
		if k < 0 {
			// The pane has come into being after those behind it were merged.
			k = 0
			if len(s.blocks) == 0 {
				s.blocks = append(s.blocks, s.suffix(at))
			}
			s.blocks[0].start = at
		}
		s.addRow(&s.blocks[k].table, rows, row)
	case at >= s.frontEnd(0):
		for _, m := range s.mid {
			if m.start <= at {
				s.addRow(&m.table, rows, row)
			}
		}
	default:
		k := sort.Search(len(s.front), func(k int) bool { return s.front[k].start >= at })
		if k == len(s.front) || s.front[k].start != at {
			n := s.suffix(at)
			if k < len(s.front) {
				n.table.copy(&s.front[k].table)
			}
			s.front = append(s.front, nil)
			copy(s.front[k+1:], s.front[k:])
			s.front[k] = n
		}
		for _, f := range s.front[:k+1] {
			s.addRow(&f.table, rows, row)
		}
	}
}

func (s *slider) addRow(t *table, rows *Rows, row uint32) {
	at, _ := t.at(rows.Keys.Hash[row], rows.Keys.Tag[row], rows.Keys.Bytes(int(row)))
	s.dst, s.row[0] = append(s.dst[:0], at), row
	s.p.layout.Add(t.mem, s.dst, s.row[:], &t.heap)
}

// merge folds a table into another. The destination's rows are the older ones.
func (s *slider) merge(dst, src *table) {
	if src.n == 0 {
		return
	}
	if dst.n == 0 {
		dst.copy(src)
		return
	}
	if r := dst.ranges; src.first < r.first || src.last > r.last {
		r.join(src.ranges)
		dst.grow(max(dst.n, dst.limit), r)
	}
	for e := 0; e < len(src.mem); {
		s.src = s.src[:0]
		for ; e < len(src.mem) && len(s.src) < paneRun; e += src.stride {
			if src.mem[e] != 0 {
				s.src = append(s.src, uint32(e))
			}
		}
		for moves := -1; moves != dst.moves; {
			dst.reserve(len(s.src))
			moves = dst.moves
			s.dst = s.dst[:0]
			for _, e := range s.src {
				s.dst = append(s.dst, dst.adopt(src, e))
			}
		}
		s.p.layout.Merge(dst.mem, s.dst, &dst.heap, src.mem, s.src, &src.heap)
	}
}

// fireLate emits the windows of a late row that have fired and have not been dropped.
func (s *slider) fireLate(n *pane, row uint32, hash uint64, tag uint8, key []byte) {
	p := s.p
	for end := n.firstEnd; maxTimestamp(end) <= p.watermark; {
		if !p.isLate(end) {
			window := Span{n.period, end}
			if p.spec.Type == Sliding {
				window.Start = subSaturating(end, p.spec.Size)
			}
			s.fireKey(window, Late, hash, tag, key)
			p.writer.segment(row, 0, end, 1)
		}
		if end == n.lastEnd {
			return
		}
		end = addSaturating(end, p.spec.Slide)
	}
}

// fireKey emits one key of a window, if it has rows, and returns the number of results.
func (s *slider) fireKey(window Span, timing Timing, hash uint64, tag uint8, key []byte) int {
	p := s.p
	s.window.open(p.stride, 1, ranges{})
	for _, n := range p.list {
		if !p.cut.contains(window, &n.slice) {
			continue
		}
		if from, ok := n.table.find(hash, tag, key); ok {
			to, _ := s.window.at(hash, tag, key)
			s.dst, s.src = append(s.dst[:0], to), append(s.src[:0], from)
			p.layout.Merge(s.window.mem, s.dst, &s.window.heap, n.table.mem, s.src, &n.table.heap)
		}
	}
	p.fired.takeAll(&s.window)
	if len(p.fired.at) > 0 {
		p.writer.addRun(result{span: window, watermark: p.watermark, timing: timing}, &s.window, p.fired.at)
	}
	return len(p.fired.at)
}

// fireEndOfTime emits, at the end of input, the windows that the end of time has cut. They have one end in common, so their results are
// in the order of their keys, then of their starts.
func (s *slider) fireEndOfTime() {
	p := s.p
	var all table
	all.open(p.stride, p.keys, p.ranges)
	for _, n := range p.list {
		if n.lastEnd == math.MaxInt64 {
			s.merge(&all, &n.table)
		}
	}
	var f firing
	f.takeAll(&all)
	var buf [inlineSize]byte
	for i, e := range f.at {
		tag, key := all.key(e, &buf)
		for _, w := range s.cutWindows() {
			if rows := s.fireKey(w, OnTime, f.hash[i], tag, key); rows > 0 {
				p.writer.segment(p.out.Place, math.MaxInt64, math.MaxInt64, rows)
			}
		}
	}
}

// cutWindows are the windows with rows that end with time.
func (s *slider) cutWindows() []Span {
	var spans, all []Span
	for _, n := range s.p.list {
		all = s.p.cut.assign(n.span.Start, all[:0])
		for _, w := range all {
			if w.End == math.MaxInt64 && (len(spans) == 0 || before(spans[len(spans)-1], w)) {
				spans = append(spans, w)
			}
		}
	}
	return spans
}
