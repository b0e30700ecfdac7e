package window

import "math"

// cutter cuts time into panes: the longest slices that no window begins or ends within.
type cutter struct {
	assigner
	rest int64 // sliding: size mod slide
}

// slice is where a pane lies among the windows.
type slice struct {
	span     Span
	firstEnd int64 // end of the first window that contains the pane; the others follow at distances of a slide
	lastEnd  int64 // end of the last one
	period   int64 // cumulative: the start of all its windows
}

// overAt is the watermark at which the first window with the pane ends; rows that come after it are late for that.
func (s *slice) overAt() int64 { return maxTimestamp(s.firstEnd) }

func newCutter(s Spec) cutter {
	c := cutter{assigner: newAssigner(s)}
	if s.Type == Sliding {
		c.rest = s.Size % s.Slide
	}
	return c
}

// slice is the pane of a time; it is not ok when no window contains it.
//
// Sliding windows have two kinds of panes when the size is not a multiple of the slide: from a window's start to the next end, and from
// there to the next start. That is two for each slide, where panes of the greatest common divisor could be one for each millisecond.
func (c *cutter) slice(ts int64) (s slice, ok bool) {
	switch c.kind {
	case Sliding:
		d := sinceStart(ts, c.offset, c.slide)
		s.lastEnd = addSaturating(ts, c.size-d)
		if d < c.rest {
			s.span = Span{subSaturating(ts, d), addSaturating(ts, c.rest-d)}
			s.firstEnd = s.span.End
			return s, true
		}
		if c.slide > c.size {
			return s, false
		}
		s.span = Span{subSaturating(ts, d-c.rest), addSaturating(ts, c.slide-d)}
		s.firstEnd = addSaturating(ts, c.slide+c.rest-d)
		return s, true
	case Cumulative:
		d := sinceStart(ts, c.offset, c.size)
		from := d / c.slide * c.slide
		s.period = subSaturating(ts, d)
		s.span = Span{subSaturating(ts, d-from), addSaturating(ts, from+c.slide-d)}
		s.firstEnd, s.lastEnd = s.span.End, addSaturating(ts, c.size-d)
		return s, true
	}
	span := c.tumbling(ts)
	return slice{span: span, firstEnd: span.End, lastEnd: span.End, period: span.Start}, true
}

// window is the first window with this pane that ends after the instant over, which must be before the end of the last one.
func (c *cutter) window(s *slice, over int64) Span {
	end := s.firstEnd
	if maxTimestamp(end) <= over {
		// The smallest end + k*slide whose last instant is above over.
		k := uint64(over-maxTimestamp(end))/uint64(c.slide) + 1
		end = addSaturating(end, mulSaturating(int64(k), c.slide))
	}
	if c.kind == Sliding {
		return Span{subSaturating(end, c.size), end}
	}
	return Span{s.period, end}
}

// contains says whether a pane is in a window. A pane never begins in one and ends behind it.
func (c *cutter) contains(w Span, s *slice) bool {
	switch {
	case s.span.Start < w.Start:
		return false
	case w.End != math.MaxInt64:
		return s.span.Start < w.End
	case c.kind == Sliding:
		return uint64(s.span.Start-w.Start) < uint64(c.size) // the end may have been cut, the start has not
	}
	return s.period == w.Start // cumulative windows that reach the end of time are one window
}
