package window

import "math"

// slider gives the contents of windows that are made of several panes.
type slider struct {
	p      *panes
	window table // the contents of the window that fires
	dst    []uint32
	src    []uint32
}

func (s *slider) init(p *panes) { s.p = p }

// fire emits a window.
func (s *slider) fire(window Span) {
	s.window.open(s.p.stride, s.p.keys, s.p.ranges)
	for _, n := range s.p.list {
		if s.p.cut.contains(window, &n.slice) {
			s.merge(&s.window, &n.table)
		}
	}
	s.p.fireTable(window, &s.window)
}

// merge folds a table into another.
func (s *slider) merge(dst, src *table) {
	if src.n == 0 {
		return
	}
	for _, hash := range src.edges() {
		dst.include(hash)
	}
	dst.reserve(src.n)
	moves := dst.moves
	var buf [inlineSize]byte
	s.dst, s.src = s.dst[:0], s.src[:0]
	for e := 0; ; e += src.stride {
		done := e == len(src.mem)
		if done || len(s.src) == paneRun {
			if dst.moves != moves {
				// The table has grown while the keys were looked up: they are all in it now.
				moves = dst.moves
				for i, at := range s.src {
					tag, key := src.key(at, &buf)
					s.dst[i], _ = dst.at(src.hashOf(src.mem, at), tag, key)
				}
			}
			s.p.layout.Merge(dst.mem, s.dst, &dst.heap, src.mem, s.src, &src.heap)
			s.dst, s.src = s.dst[:0], s.src[:0]
		}
		if done {
			return
		}
		if src.mem[e] == 0 {
			continue
		}
		tag, key := src.key(uint32(e), &buf)
		at, _ := dst.at(src.hashOf(src.mem, uint32(e)), tag, key)
		s.dst, s.src = append(s.dst, at), append(s.src, uint32(e))
	}
}

// rest is called when an advance is done.
func (s *slider) rest() {}

// late is told of a row that was added to a pane whose first window has ended.
func (s *slider) late(n *pane, rows *Rows, row uint32) {}

// fireLate emits the windows of a late row that have fired and have not been dropped.
func (s *slider) fireLate(n *pane, row uint32, hash uint64, tag uint8, key []byte) {
	p := s.p
	for end := n.firstEnd; maxTimestamp(end) <= p.watermark; {
		if !p.isLate(end) {
			s.fireKey(s.windowOf(n, end), Late, hash, tag, key)
			p.writer.segment(row, 0, end, 1)
		}
		if end == n.lastEnd {
			return
		}
		end = addSaturating(end, p.spec.Slide)
	}
}

func (s *slider) windowOf(n *pane, end int64) Span {
	if s.p.spec.Type == Sliding {
		return Span{subSaturating(end, s.p.spec.Size), end}
	}
	return Span{n.period, end}
}

// fireKey emits one key of a window.
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
	p.writer.addRun(result{span: window, watermark: p.watermark, timing: timing}, &s.window, p.fired.at)
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

// live counts pairs of a key and a window that has not been dropped: for each pane of a key the windows that no earlier pane of the key
// is in.
func (s *slider) live() int {
	p := s.p
	counted := map[string]int64{} // the end of the last window of the key that has been counted
	live := 0
	var buf [inlineSize]byte
	for _, n := range p.list {
		t := &n.table
		for e := 0; e < len(t.mem); e += t.stride {
			if t.mem[e] == 0 {
				continue
			}
			tag, key := t.key(uint32(e), &buf)
			id := string(append([]byte{tag}, key...))
			over := max(subSaturating(p.watermark, p.spec.Lateness), math.MinInt64)
			if last, ok := counted[id]; ok {
				over = max(over, maxTimestamp(last))
			}
			if maxTimestamp(n.lastEnd) <= over {
				continue
			}
			first := p.cut.window(&n.slice, over)
			live += int(uint64(n.lastEnd-first.End)/uint64(p.spec.Slide)) + 1
			counted[id] = n.lastEnd
		}
	}
	return live
}
