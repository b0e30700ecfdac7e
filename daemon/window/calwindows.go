package window

import (
	"math"
	"sort"
	"strings"
	"time"
)

// calendarWindows assigns sliding and cumulative windows whose lengths are those of the calendar. Like days, they lie between two readings of
// the local clock: a sliding window of n days that begins every m days goes from a local midnight to the one n days later, and a cumulative
// one from the beginning of its period to a reading of the clock some steps later. So what the zone does with its clocks makes windows longer
// or shorter, and never moves them. Readings that the clock skips are those of the first instant after the gap; of readings that come twice
// the first counts. A local day that a zone left out begins no window, and adds no step.
type calendarWindows struct {
	cal  *calendar // of the slides, or of the periods
	kind Type

	// The length of a sliding window, or of a step: so many months, or so many ms of the local clock.
	months, millis int64

	// The windows of the slide, or period, of the last row, ascending. Most rows fall into that of the row before.
	of    Span
	spans []Span
}

// daysOf is a number of days or weeks in ms of the local clock.
func daysOf(n int, unit CalendarUnit) int64 {
	if unit == Week {
		return int64(n) * weekMillis
	}
	return int64(n) * dayMillis
}

// newCalendarWindows is for a Spec of sliding or cumulative windows that follows the calendar.
func newCalendarWindows(s Spec) *calendarWindows {
	c := &calendarWindows{kind: s.Type}
	n, unit := s.SlideN, s.SlideUnit // what repeats
	if s.Type == Sliding {
		c.cal = newCalendar(n, unit, s.Offset, s.Location)
		n, unit = s.CalendarN, s.CalendarUnit
	} else {
		c.cal = newCalendar(s.CalendarN, s.CalendarUnit, s.Offset, s.Location)
	}
	switch {
	case n == 0:
		c.millis = s.Slide
	case unit == Month:
		c.months = int64(n)
	default:
		c.millis = daysOf(n, unit)
	}
	return c
}

func (c *calendarWindows) assign(ts int64, dst []Span) []Span {
	if len(c.spans) == 0 || ts < c.of.Start || ts >= c.of.End && c.of.End != math.MaxInt64 {
		c.of = c.cal.span(ts)
		k := c.cal.index(addSaturating(c.of.Start, c.cal.zoneOffset(c.of.Start)))
		for c.cal.boundary(k) > c.of.Start {
			k--
		}
		for c.cal.boundary(k+1) <= c.of.Start {
			k++
		}
		if c.kind == Sliding {
			c.slides(k)
		} else {
			c.steps(k)
		}
	}
	// The ends ascend as the starts do.
	from := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].End > ts || c.spans[i].End == math.MaxInt64 })
	return append(dst, c.spans[from:]...)
}

// slides finds the windows that have something of slide k.
func (c *calendarWindows) slides(k int64) {
	c.spans = c.spans[:0]
	next := c.of.End
	for ; ; k-- {
		start, end := c.cal.boundary(k), c.cal.instant(c.end(k))
		if end <= c.of.Start {
			break
		}
		if start < next {
			c.spans = append(c.spans, Span{start, end})
		}
		if start == math.MinInt64 {
			break
		}
		next = start
	}
	for i, k := 0, len(c.spans)-1; i < k; i, k = i+1, k-1 {
		c.spans[i], c.spans[k] = c.spans[k], c.spans[i]
	}
}

// end is what the local clock shows at the end of the sliding window that begins with slide k.
func (c *calendarWindows) end(k int64) int64 {
	if c.months > 0 {
		return c.month(k*c.cal.n + c.months)
	}
	days := k*c.cal.n + c.millis/dayMillis // a sliding window's length is whole days
	if c.cal.unit == Week {
		days = k*c.cal.n*7 + (mondayOffset+c.millis)/dayMillis
	}
	return shift(mulSaturating(days, dayMillis), c.cal.offset)
}

// month is what the local clock shows when a month begins, counted from January 1970.
func (c *calendarWindows) month(month int64) int64 {
	return shift(mulSaturating(firstOfMonth(month), dayMillis), c.cal.offset)
}

// steps finds the windows of period k.
func (c *calendarWindows) steps(k int64) {
	c.spans = c.spans[:0]
	first, last := c.cal.wall(k), c.cal.wall(k+1)
	at := first
	for i := int64(1); ; i++ {
		if c.months > 0 {
			at = c.month(k*c.cal.n + i*c.months)
		} else {
			at = addSaturating(at, c.millis)
		}
		if at >= last {
			break
		}
		end := c.cal.instant(at)
		before := c.of.Start
		if n := len(c.spans); n > 0 {
			before = c.spans[n-1].End
		}
		if end > before && end < c.of.End {
			c.spans = append(c.spans, Span{c.of.Start, end})
		}
	}
	c.spans = append(c.spans, c.of)
}

// byCalendar says whether sliding or cumulative windows follow the calendar.
func (s *Spec) byCalendar() bool {
	return (s.Type == Sliding || s.Type == Cumulative) && s.CalendarN > 0
}

// Settled is the Spec with fixed lengths instead of days and weeks in a zone that never changes its clocks, for sliding and cumulative
// windows: the windows are the same, and what knows fixed lengths does less for them.
func (s Spec) Settled() Spec {
	if !s.byCalendar() || !neverChanges(s.Location) || s.CalendarUnit == Month || s.SlideUnit == Month {
		return s
	}
	begins := s.CalendarUnit
	s.Size = daysOf(s.CalendarN, s.CalendarUnit)
	if s.SlideN > 0 {
		s.Slide = daysOf(s.SlideN, s.SlideUnit)
		if s.Type == Sliding {
			begins = s.SlideUnit
		}
	}
	if begins == Week {
		s.Offset += mondayOffset
	}
	s.CalendarN, s.CalendarUnit, s.SlideN, s.SlideUnit = 0, "", 0, ""
	return s
}

// neverChanges is true for UTC and for zones that are nothing but a distance to it; of others nobody knows without looking at all times.
func neverChanges(loc *time.Location) bool {
	return loc == nil || loc == time.UTC || strings.HasPrefix(loc.String(), "UTC+") || strings.HasPrefix(loc.String(), "UTC-")
}
