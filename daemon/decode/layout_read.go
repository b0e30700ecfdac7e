package decode

import (
	"fmt"
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// reading is a text on its way through a layout.
type reading struct {
	s         []byte
	clock     clockTime
	yearDay   int
	half      int // 1: AM, 2: PM
	hasOffset bool
	offset    int
	zone      string
	epoch     int64
	hasEpoch  bool
}

// byLayout reads s by l.
func (t *Timestamps) byLayout(l *layout, s []byte) (ms int64, problem string) {
	r := reading{s: s, clock: clockTime{month: 1, day: 1}}
	for i := range l.elements {
		e := &l.elements[i]
		if !r.read(e) {
			return 0, fmt.Sprintf("it does not follow the layout at character %d", len(s)-len(r.s)+1)
		}
		if (e.kind == elSecond || e.kind == elSecond2) && !l.fractionFollows(i+1) {
			r.fraction()
		}
	}
	if len(r.s) > 0 {
		return 0, fmt.Sprintf("%s is left over", quoteValue(r.s))
	}
	if r.hasEpoch {
		return usableSeconds(r.epoch, r.clock.millis)
	}
	if problem = r.settle(l); problem != "" {
		return 0, problem
	}
	if l.needsYear() {
		return t.inferYear(&r)
	}
	return t.resolve(&r)
}

// fractionFollows says whether the layout itself says what comes after the seconds, where a fraction could be.
func (l *layout) fractionFollows(i int) bool {
	if i >= len(l.elements) {
		return false
	}
	e := &l.elements[i]
	return e.kind == elFraction || e.kind == elLiteral && (e.text[0] == '.' || e.text[0] == ',')
}

// read takes one element from the text.
func (r *reading) read(e *element) bool {
	c := &r.clock
	switch e.kind {
	case elLiteral:
		if len(r.s) < len(e.text) || string(r.s[:len(e.text)]) != e.text {
			return false
		}
		r.s = r.s[len(e.text):]
		return true
	case elSpace:
		n := 0
		for n < len(r.s) && r.s[n] == ' ' {
			n++
		}
		r.s = r.s[n:]
		return n > 0
	case elYear:
		return r.digits(&c.year, 4, 4)
	case elYear2:
		if !r.digits(&c.year, 2, 2) {
			return false
		}
		if c.year += 1900; c.year < 1969 {
			c.year += 100
		}
		return true
	case elMonth:
		return r.digits(&c.month, 1, 2)
	case elMonth2:
		return r.digits(&c.month, 2, 2)
	case elMonthName:
		return r.name(&c.month, monthNames[:])
	case elDay:
		if len(r.s) > 0 && r.s[0] == ' ' {
			r.s = r.s[1:]
			return r.digits(&c.day, 1, 1)
		}
		return r.digits(&c.day, 1, 2)
	case elDay2:
		return r.digits(&c.day, 2, 2)
	case elYearDay:
		return r.digits(&r.yearDay, 3, 3)
	case elWeekday:
		var unused int
		return r.name(&unused, weekdayNames[:])
	case elHour, elHour12:
		if len(r.s) > 0 && r.s[0] == ' ' {
			r.s = r.s[1:]
			return r.digits(&c.hour, 1, 1)
		}
		return r.digits(&c.hour, 1, 2)
	case elHour2, elHour12Two:
		return r.digits(&c.hour, 2, 2)
	case elAMPM:
		return r.amPM()
	case elMinute:
		return r.digits(&c.minute, 1, 2)
	case elMinute2:
		return r.digits(&c.minute, 2, 2)
	case elSecond:
		return r.digits(&c.second, 1, 2)
	case elSecond2:
		return r.digits(&c.second, 2, 2)
	case elFraction:
		r.fraction()
		return true
	case elDigits:
		var n int
		c.millis, n = parseFraction(r.s)
		r.s = r.s[n:]
		return n > 0
	case elOffset:
		return r.numericOffset()
	case elZone:
		return r.abbreviation()
	case elEpoch:
		return r.epochSeconds()
	}
	return false
}

// digits reads between least and most digits.
func (r *reading) digits(to *int, least, most int) bool {
	v, n := 0, 0
	for n < most && n < len(r.s) && r.s[n]-'0' <= 9 {
		v = v*10 + int(r.s[n]-'0')
		n++
	}
	*to, r.s = v, r.s[n:]
	return n >= least
}

// fraction takes a point or comma with digits after it, when it is there.
func (r *reading) fraction() {
	if len(r.s) < 2 || r.s[0] != '.' && r.s[0] != ',' {
		return
	}
	if millis, n := parseFraction(r.s[1:]); n > 0 {
		r.clock.millis, r.s = millis, r.s[1+n:]
	}
}

var monthNames = [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
var weekdayNames = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// name reads a name in full or its first three letters, in any case.
func (r *reading) name(to *int, names []string) bool {
	for i, name := range names {
		n := 0
		for n < len(name) && n < len(r.s) && r.s[n]|0x20 == name[n] {
			n++
		}
		if n == len(name) || n >= 3 {
			if n < len(name) {
				n = 3
			}
			*to, r.s = i+1, r.s[n:]
			return true
		}
	}
	return false
}

func (r *reading) amPM() bool {
	if len(r.s) < 2 || r.s[1]|0x20 != 'm' {
		return false
	}
	switch r.s[0] | 0x20 {
	case 'a':
		r.half = 1
	case 'p':
		r.half = 2
	}
	r.s = r.s[2:]
	return r.half != 0
}

func (r *reading) numericOffset() bool {
	if len(r.s) > 0 && r.s[0]|0x20 == 'z' {
		r.hasOffset, r.s = true, r.s[1:]
		return true
	}
	seconds, n := scanOffset(r.s)
	if n == 0 {
		return false
	}
	r.hasOffset, r.offset, r.s = true, seconds, r.s[n:]
	return true
}

// abbreviation reads a zone's letters. Some zones have no abbreviation but an offset such as +03, which does as well.
func (r *reading) abbreviation() bool {
	if seconds, n := scanOffset(r.s); n > 0 {
		r.hasOffset, r.offset, r.s = true, seconds, r.s[n:]
		return true
	}
	n := 0
	for n < len(r.s) && (r.s[n]|0x20 >= 'a' && r.s[n]|0x20 <= 'z') {
		n++
	}
	r.zone, r.s = string(r.s[:n]), r.s[n:]
	return n > 0
}

func (r *reading) epochSeconds() bool {
	neg := len(r.s) > 0 && r.s[0] == '-'
	if neg {
		r.s = r.s[1:]
	}
	q, m := digitRun(r.s, 0, 0)
	if q == 0 || q > 18 {
		return false
	}
	r.epoch, r.hasEpoch, r.s = int64(m), true, r.s[q:]
	if neg {
		r.epoch = -r.epoch
	}
	r.fraction()
	return true
}

// settle makes one hour of the two halves of a day and checks the time of day.
func (r *reading) settle(l *layout) string {
	if r.half != 0 && l.hasAny(elHour12, elHour12Two) {
		if r.clock.hour < 1 || r.clock.hour > 12 {
			return "there is no such hour"
		}
		r.clock.hour = r.clock.hour%12 + 12*(r.half-1)
	}
	return r.clock.checkClock()
}

// resolve makes a time of what has been read, with its year.
func (t *Timestamps) resolve(r *reading) (ms int64, problem string) {
	c := &r.clock
	if r.yearDay != 0 {
		if r.yearDay > 365 && !(r.yearDay == 366 && isLeap(c.year)) {
			return 0, "there is no such day in that year"
		}
		_, c.month, c.day = civilFromDays(daysFromCivil(c.year, 1, 1) + int64(r.yearDay) - 1)
	}
	if problem = c.check(); problem != "" {
		return 0, problem
	}
	seconds := c.seconds()
	offset, problem := t.zoneOffset(r, seconds)
	if problem != "" {
		return 0, problem
	}
	seconds -= offset
	if c.second == 60 && !leapSecond(seconds) {
		return 0, problemLeap
	}
	return seconds*1000 + int64(c.millis), ""
}

// zoneOffset is the offset of a clock time: the one it has, the one of its abbreviation, or that of the zone of t.
func (t *Timestamps) zoneOffset(r *reading, clock int64) (int64, string) {
	switch {
	case r.hasOffset:
		return int64(r.offset), ""
	case r.zone == "":
		return t.zone.offset(clock), ""
	}
	if seconds, ok := t.abbrev[r.zone]; ok {
		return int64(seconds), ""
	}
	if seconds, ok := t.zone.abbreviated(clock, r.zone); ok {
		return seconds, ""
	}
	return 0, fmt.Sprintf("zone %s is not known; write zones = { %s = \"+01:00\" } with its offset, or timezone = a zone that uses it", r.zone, r.zone)
}

// inferYear takes the year given, or the one that brings the time nearest to the reference. The 29th of February takes the
// nearest leap year.
func (t *Timestamps) inferYear(r *reading) (ms int64, problem string) {
	if t.year != 0 {
		r.clock.year = t.year
		return t.resolve(r)
	}
	if t.reference == batch.NoTimestamp {
		return 0, "it has no year; set year"
	}
	near, _, _ := civilFromDays(floorDiv(t.reference, 86400000))
	best, distance := int64(0), int64(math.MaxInt64)
	problem = "there is no such day"
	for year := near - 8; year <= near+8; year++ {
		if r.clock.day != 29 && (year < near-1 || year > near+1) {
			continue
		}
		r.clock.year = year
		ms, p := t.resolve(r)
		if p != "" {
			if distance == math.MaxInt64 {
				problem = p
			}
			continue
		}
		if d := int64(absolute(ms - t.reference)); d < distance {
			best, distance, problem = ms, d, ""
		}
	}
	return best, problem
}

// usableSeconds makes ms of seconds and checks the range.
func usableSeconds(seconds int64, millis int) (int64, string) {
	const limit = math.MaxInt64 / 1000
	if seconds >= limit || seconds <= -limit {
		return 0, problemRange
	}
	return seconds*1000 + int64(millis), ""
}
