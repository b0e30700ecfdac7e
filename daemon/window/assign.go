package window

import (
	"math"
	"time"
)

// Span is a window without a key: the half-open interval [Start, End) of event time (or of the clock), in ms.
//
// An End of math.MaxInt64 is the end of time: global windows have it, and windows that would reach beyond it are cut there. They
// are over at the end of input only.
type Span struct {
	Start, End int64
}

// MaxTimestamp is the last instant in the window, and the time of its results.
func (s Span) MaxTimestamp() int64 { return maxTimestamp(s.End) }

func maxTimestamp(end int64) int64 {
	if end == math.MaxInt64 {
		return math.MaxInt64
	}
	return end - 1
}

// globalSpan is the one window of an operator with global windows.
var globalSpan = Span{math.MinInt64, math.MaxInt64}

// assigner says which windows a timestamp belongs to. It remembers the last calendar window, so it belongs to one operator.
type assigner struct {
	kind        Type
	size, slide int64
	offset      int64 // of the boundaries, the alignment to a time zone included
	gap         int64
	cal         *calendar        // tumbling windows of days, weeks or months
	calWindows  *calendarWindows // sliding and cumulative ones
}

// newAssigner is for a Spec without problems, see [Spec.Check].
func newAssigner(s Spec) assigner {
	s = s.Settled()
	a := assigner{kind: s.Type, size: s.Size, slide: s.Slide, gap: s.Gap, offset: s.boundaryOffset()}
	switch {
	case s.byCalendar():
		a.calWindows = newCalendarWindows(s)
	case s.CalendarN > 0:
		a.cal = newCalendar(s.CalendarN, s.CalendarUnit, s.Offset, s.Location)
	}
	return a
}

// boundaryOffset is where windows of a fixed length begin: at boundaryOffset + k*size.
func (s *Spec) boundaryOffset() int64 { return s.Offset - Align(s.Location) }

// Align is what a time zone means for windows of a fixed length: they begin as if the zone had its standard time (the time it has
// in winter) of the year 2024 all year, in every year, so that each window has exactly its size. The result is that time's distance
// to UTC in ms; nil is UTC.
//
// NB: in a zone with daylight saving time such windows begin an hour off local midnight in summer. Whoever wants local days asks
// for a calendar window of one day, which then has 23, 24 or 25 hours.
func Align(loc *time.Location) int64 {
	if loc == nil {
		return 0
	}
	_, january := time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC).In(loc).Zone()
	_, july := time.Date(2024, time.July, 1, 0, 0, 0, 0, time.UTC).In(loc).Zone()
	return int64(min(january, july)) * 1000
}

// HasSummerTime says whether Align leaves windows of a fixed length an hour off for a part of the year 2024.
func HasSummerTime(loc *time.Location) bool {
	if loc == nil {
		return false
	}
	_, january := time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC).In(loc).Zone()
	_, july := time.Date(2024, time.July, 1, 0, 0, 0, 0, time.UTC).In(loc).Zone()
	return january != july
}

// Assign appends to dst the windows that ts belongs to, ascending by start, then end. Sessions are the row's own window before any
// merge (1.5). A timestamp between windows (slide larger than size) has none. s must be without problems.
func (s Spec) Assign(ts int64, dst []Span) []Span {
	a := newAssigner(s)
	return a.assign(ts, dst)
}

func (a *assigner) assign(ts int64, dst []Span) []Span {
	if a.calWindows != nil {
		return a.calWindows.assign(ts, dst)
	}
	switch a.kind {
	case Tumbling:
		return append(dst, a.tumbling(ts))
	case Sliding:
		return a.sliding(ts, dst)
	case Cumulative:
		return a.cumulative(ts, dst)
	case Session:
		return append(dst, Span{ts, addSaturating(ts, a.gap)})
	}
	return append(dst, globalSpan)
}

// tumbling is the one window of ts (1.3).
func (a *assigner) tumbling(ts int64) Span {
	if a.cal != nil {
		return a.cal.span(ts)
	}
	d := sinceStart(ts, a.offset, a.size)
	return Span{subSaturating(ts, d), addSaturating(ts, a.size-d)}
}

// sliding (1.4): d is how far ts lies behind a window's start, one slide more for each older window, as long as it is below the size.
func (a *assigner) sliding(ts int64, dst []Span) []Span {
	first := sinceStart(ts, a.offset, a.slide)
	if first >= a.size {
		return dst
	}
	for n := (a.size - 1 - first) / a.slide; n >= 0; n-- {
		d := first + n*a.slide
		dst = append(dst, Span{subSaturating(ts, d), addSaturating(ts, a.size-d)})
	}
	return dst
}

// cumulative (1.6): all windows that begin with the period of ts and end after it.
func (a *assigner) cumulative(ts int64, dst []Span) []Span {
	d := sinceStart(ts, a.offset, a.size)
	start := subSaturating(ts, d)
	for k := d/a.slide + 1; k <= a.size/a.slide; k++ {
		end := addSaturating(ts, k*a.slide-d)
		dst = append(dst, Span{start, end})
		if end == math.MaxInt64 {
			break // the longer ones are cut at the end of time too, and so are the same window
		}
	}
	return dst
}
