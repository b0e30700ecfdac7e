package window

import (
	"math"
	"time"
)

// calendar cuts time into spans of N days, weeks or months of a time zone.
//
// Boundary k is the first instant at which the local clock shows the k-th multiple of the length, or later:
//
//   - days are counted from 1970-01-01, weeks begin on Monday and are counted from the one with 1970-01-01 in it, months are counted
//     from January 1970; so 3 months are quarters and 12 are years. An offset moves the time of the local clock, so "1d" with an
//     offset of 6h begins at 06:00 of each day, summer and winter.
//   - A day on which the clocks are put forward has 23 hours, one on which they are put back has 25.
//   - Where local midnight is skipped, the day begins with the first instant after the gap. Where it comes twice, the day begins with
//     the first of them. A local day that a zone left out altogether (Samoa, 2011-12-30) has no window.
//
// Dates are those of the Gregorian calendar, also before its introduction, as in RFC 3339 and Go.
type calendar struct {
	n      int64
	unit   CalendarUnit
	offset int64
	loc    *time.Location // nil = UTC
	last   Span           // most rows fall into the window of the row before
}

const (
	dayMillis  = 24 * 60 * 60 * 1000
	weekMillis = 7 * dayMillis
	// mondayOffset is the Monday of the week with 1970-01-01 (a Thursday) in it.
	mondayOffset = -3 * dayMillis
)

func newCalendar(n int, unit CalendarUnit, offset int64, loc *time.Location) *calendar {
	if loc == time.UTC {
		loc = nil
	}
	return &calendar{n: int64(n), unit: unit, offset: offset, loc: loc}
}

// span is the window of ts.
func (c *calendar) span(ts int64) Span {
	if c.last.Start <= ts && ts < c.last.End {
		return c.last
	}
	local := addSaturating(ts, c.zoneOffset(ts))
	k := c.index(local)
	// The local clock does not tell the window where it was put back over a boundary, and where a whole window was skipped; the
	// boundaries themselves decide.
	start, end := c.boundary(k), c.boundary(k+1)
	for start > ts {
		k--
		start, end = c.boundary(k), start
	}
	for end <= ts && end != math.MaxInt64 {
		k++
		start, end = end, c.boundary(k+1)
	}
	c.last = Span{start, end}
	return c.last
}

// index is the number of the window that a reading of the local clock (ms, as if it were UTC) lies in.
func (c *calendar) index(local int64) int64 {
	local = subSaturating(local, c.offset)
	switch c.unit {
	case Week:
		return floorDiv(subSaturating(local, mondayOffset), c.n*weekMillis)
	case Month:
		return floorDiv(monthOf(floorDiv(local, dayMillis)), c.n)
	}
	return floorDiv(local, c.n*dayMillis)
}

// wall is what the local clock shows at boundary k, in ms as if it were UTC.
func (c *calendar) wall(k int64) int64 {
	var w int64
	switch c.unit {
	case Week:
		w = shift(mulSaturating(k, c.n*weekMillis), mondayOffset)
	case Month:
		w = mulSaturating(firstOfMonth(k*c.n), dayMillis)
	default:
		w = mulSaturating(k, c.n*dayMillis)
	}
	return shift(w, c.offset)
}

// shift moves a boundary, but not one that is cut at an end of time: nothing comes back from there.
func shift(w, by int64) int64 {
	if w == math.MinInt64 || w == math.MaxInt64 {
		return w
	}
	return addSaturating(w, by)
}

// boundary is the first instant at which the local clock shows wall(k) or later.
func (c *calendar) boundary(k int64) int64 { return c.instant(c.wall(k)) }

// instant is the first instant at which the local clock shows w or later.
func (c *calendar) instant(w int64) int64 {
	if c.loc == nil || w == math.MinInt64 || w == math.MaxInt64 {
		return w
	}
	if w < -farAway || w > farAway {
		return subSaturating(w, c.zoneOffset(w))
	}
	// No zone is ever more than 36 hours from UTC, so an instant that early shows an earlier local time. From there the answer is
	// where the clock would show w if the zone's offset stayed as it is, unless it changes before. No zone changes twice in three days.
	//
	// NB: Time.ZoneBounds, which would tell the change, may give a moment that is already over for the last day of a leap year.
	at := subSaturating(w, 36*60*60*1000)
	for {
		offset := c.zoneOffset(at)
		candidate := max(at, subSaturating(w, offset))
		if c.zoneOffset(candidate) == offset {
			return candidate
		}
		at = c.change(at, candidate, offset)
	}
}

// change is the first instant after from at which the zone's distance to UTC is no longer offset, as it is at to.
func (c *calendar) change(from, to, offset int64) int64 {
	for to-from > 1 {
		if middle := from + (to-from)/2; c.zoneOffset(middle) == offset {
			from = middle
		} else {
			to = middle
		}
	}
	return to
}

// zoneOffset is the local clock's distance to UTC at instant ts, in ms.
func (c *calendar) zoneOffset(ts int64) int64 {
	if c.loc == nil {
		return 0
	}
	_, seconds := time.UnixMilli(min(max(ts, -farAway), farAway)).In(c.loc).Zone()
	return int64(seconds) * 1000
}

// farAway is three million years. No zone has rules for times that far from 1970, and package time counts in a range that is not
// much larger; beyond it a zone's distance to UTC stays as it is.
const farAway = 1e17

// The two functions below convert between days since 1970-01-01 and months since January 1970, by counting from a first of March,
// so that the leap day is the last one of a year, in eras of 400 years, which are all alike.

const (
	daysPerEra   = 146097
	monthsPerEra = 4800
	// eraStart is 0000-03-01 in days since 1970-01-01.
	eraStart = -719468
	// marchOfYear0 is March of year 0 in months since January 1970.
	marchOfYear0 = -1970*12 + 2
)

// monthOf is the month, counted from January 1970, of a day counted from 1970-01-01.
func monthOf(day int64) int64 {
	day -= eraStart
	era, d := floorDiv(day, daysPerEra), floorMod(day, daysPerEra)
	year := (d - d/1460 + d/36524 - d/146096) / 365
	inYear := d - (365*year + year/4 - year/100)
	month := (5*inYear + 2) / 153
	return marchOfYear0 + era*monthsPerEra + year*12 + month
}

// firstOfMonth is the first day, counted from 1970-01-01, of a month counted from January 1970.
func firstOfMonth(month int64) int64 {
	month -= marchOfYear0
	era, m := floorDiv(month, monthsPerEra), floorMod(month, monthsPerEra)
	year, inYear := m/12, m%12
	return eraStart + era*daysPerEra + 365*year + year/4 - year/100 + (153*inYear+2)/5
}
