package window

import (
	"fmt"
	"math"
	"time"
)

// Mistake is a Spec that cannot be run, or a promise in it that could not be kept.
type Mistake struct {
	// Field says which setting, in the words of a pipeline file: type, size, slide, step, gap, gap_field, max_length, offset, timezone,
	// allowed_lateness, late_every, trigger, count, interval, purging, mode, early_every, early_processing_every, early_count.
	Field   string
	Message string // what is wrong, with the value
	Hint    string // how to mend it, "" where the message says it
}

func (m Mistake) Error() string {
	if m.Hint == "" {
		return m.Field + ": " + m.Message
	}
	return m.Field + ": " + m.Message + "; " + m.Hint
}

// MaxWindowsPerRow is how many windows one row may belong to (1.4).
const MaxWindowsPerRow = 10_000_000

// Check returns everything that is wrong with s, in the order of its fields; nothing means that [New] takes it.
func (s Spec) Check() []Mistake {
	c := checker{s: &s}
	c.length()
	c.offset()
	c.sessions()
	c.lateness()
	c.trigger()
	c.early()
	return c.found
}

type checker struct {
	s     *Spec
	found []Mistake
}

func (c *checker) wrong(field, hint, format string, args ...any) {
	c.found = append(c.found, Mistake{field, fmt.Sprintf(format, args...), hint})
}

func ms(n int64) string {
	if n > math.MinInt64/1_000_000 && n < math.MaxInt64/1_000_000 {
		return (time.Duration(n) * time.Millisecond).String()
	}
	return fmt.Sprintf("%d ms", n)
}

func (c *checker) length() {
	s := c.s
	if s.CalendarN != 0 || s.CalendarUnit != "" || s.SlideN != 0 || s.SlideUnit != "" {
		c.calendar()
		return
	}
	switch s.Type {
	case Tumbling:
		c.positive("size", s.Size)
	case Sliding:
		if c.positive("size", s.Size) && c.positive("slide", s.Slide) && s.Size/s.Slide > MaxWindowsPerRow {
			c.wrong("slide", "make the slide longer", "a size of %s with a slide of %s puts each row into %d windows; at most %d are possible",
				ms(s.Size), ms(s.Slide), s.Size/s.Slide, MaxWindowsPerRow)
		}
	case Cumulative:
		if !c.positive("size", s.Size) || !c.positive("step", s.Slide) {
			return
		}
		if s.Size%s.Slide != 0 {
			c.wrong("step", "choose a step that divides the size", "the size %s is not a multiple of the step %s", ms(s.Size), ms(s.Slide))
		} else if s.Size/s.Slide > MaxWindowsPerRow {
			c.wrong("step", "make the step longer", "a size of %s with a step of %s puts a row into up to %d windows; at most %d are possible",
				ms(s.Size), ms(s.Slide), s.Size/s.Slide, MaxWindowsPerRow)
		}
	case Session:
		c.positive("gap", s.Gap)
	case Global:
	default:
		c.wrong("type", "", "%q is no type of window; there are tumbling, sliding, session, cumulative and global", string(s.Type))
	}
}

func (c *checker) calendar() {
	s := c.s
	if s.Type != Tumbling && s.Type != Sliding && s.Type != Cumulative {
		c.wrong("size", "", "%s windows have no length in days, weeks or months", s.Type)
		return
	}
	if !c.calendarLength("size", s.CalendarN, s.CalendarUnit) {
		return
	}
	switch s.Type {
	case Sliding:
		if s.SlideN == 0 {
			c.wrong("slide", `write the slide in days, weeks or months, or the size in hours, such as "24h"`, "a size by the calendar needs a slide by the calendar")
		} else if c.calendarLength("slide", s.SlideN, s.SlideUnit) && (s.CalendarUnit == Month) != (s.SlideUnit == Month) {
			c.wrong("slide", "write both in months, or both in days or weeks", "a size of %d%s and a slide of %d%s do not go together: months differ in length",
				s.CalendarN, s.CalendarUnit, s.SlideN, s.SlideUnit)
		}
	case Cumulative:
		c.calendarStep()
	}
}

// calendarLength reports whether n units can be a length. The limit keeps multiples of it inside int64 for every representable time; 12,000
// months are a thousand years.
func (c *checker) calendarLength(field string, n int, unit CalendarUnit) bool {
	if unit != Day && unit != Week && unit != Month {
		c.wrong(field, "", "%q is no calendar unit; there are d, w and mo", string(unit))
		return false
	}
	if n < 1 || n > 12_000 {
		c.wrong(field, "", "%d%s is not between 1%s and 12000%s", n, unit, unit, unit)
		return false
	}
	return true
}

// maxCalendarSteps is how many windows a period of the calendar may have: they are found anew for each period.
const maxCalendarSteps = 100_000

// calendarStep checks the step of cumulative windows in periods of the calendar: it divides every such period, as far as the local clock tells.
func (c *checker) calendarStep() {
	s := c.s
	days := int64(s.CalendarN) * 31
	if s.CalendarUnit != Month {
		days = daysOf(s.CalendarN, s.CalendarUnit) / dayMillis
	}
	divides := true
	var steps int64
	var step string
	switch {
	case s.SlideN > 0 || s.SlideUnit != "":
		if !c.calendarLength("step", s.SlideN, s.SlideUnit) {
			return
		}
		step = fmt.Sprintf("%d%s", s.SlideN, s.SlideUnit)
		switch {
		case s.SlideUnit == Month:
			divides, steps = s.CalendarUnit == Month && s.CalendarN%s.SlideN == 0, int64(s.CalendarN/s.SlideN)
		case s.CalendarUnit == Month:
			divides, steps = s.SlideUnit == Day && s.SlideN == 1, days
		default:
			n := daysOf(s.SlideN, s.SlideUnit) / dayMillis
			divides, steps = days%n == 0, days/n
		}
	default:
		if !c.positive("step", s.Slide) {
			return
		}
		step = ms(s.Slide)
		// Steps are counted by the local clock, from the beginning of the period. Months are whole days, and nothing else that is shared by all.
		if s.CalendarUnit == Month {
			divides = dayMillis%s.Slide == 0
		} else {
			divides = days*dayMillis%s.Slide == 0
		}
		steps = days * dayMillis / s.Slide
	}
	switch {
	case !divides:
		c.wrong("step", "choose a step that divides the size; a month is divided by 1d, and by what divides a day", "the size %d%s is not a multiple of the step %s", s.CalendarN, s.CalendarUnit, step)
	case steps > maxCalendarSteps:
		c.wrong("step", "make the step longer", "a size of %d%s with a step of %s is %d windows; at most %d are possible in a period of the calendar",
			s.CalendarN, s.CalendarUnit, step, steps, maxCalendarSteps)
	}
}

func (c *checker) positive(field string, v int64) bool {
	if v <= 0 {
		c.wrong(field, "", "%s is not above 0", ms(v))
	}
	return v > 0
}

func (c *checker) notNegative(field string, v int64) {
	if v < 0 {
		c.wrong(field, "", "%s is negative", ms(v))
	}
}

// offset must be smaller than the distance of the boundaries it moves, in both directions (1.3, 1.4).
func (c *checker) offset() {
	s := c.s
	if s.Offset == 0 {
		return
	}
	var limit int64
	var what string
	switch {
	case s.CalendarN > 0 && s.Type == Sliding:
		limit, what = shortest(s.SlideN, s.SlideUnit), "the shortest such slide"
	case s.CalendarN > 0:
		limit, what = shortest(s.CalendarN, s.CalendarUnit), "the shortest such window"
	case s.Type == Tumbling, s.Type == Cumulative:
		limit, what = s.Size, "the size"
	case s.Type == Sliding:
		limit, what = s.Slide, "the slide"
	default:
		c.wrong("offset", "remove it", "%s windows have no offset", s.Type)
		return
	}
	if limit > 0 && (s.Offset >= limit || s.Offset <= -limit) {
		c.wrong("offset", "only the remainder moves the windows", "%s is not shorter than %s, %s", ms(s.Offset), what, ms(limit))
	}
}

func shortest(n int, unit CalendarUnit) int64 {
	if unit == Month {
		return int64(n) * 28 * dayMillis
	}
	return daysOf(n, unit)
}

func (c *checker) sessions() {
	s := c.s
	if s.Type != Session {
		if s.GapColumn != "" {
			c.wrong("gap_field", "remove it", "only sessions have a gap, not %s windows", s.Type)
		}
		if s.MaxLength != 0 {
			c.wrong("max_length", "remove it", "only sessions have a longest length, not %s windows", s.Type)
		}
		return
	}
	if s.MaxLength != 0 && s.MaxLength < s.Gap {
		c.wrong("max_length", "", "%s is shorter than the gap, %s", ms(s.MaxLength), ms(s.Gap))
	}
	if s.Location != nil && s.Location != time.UTC {
		c.wrong("timezone", "remove it", "sessions begin with a row, so a time zone cannot move them")
	}
}

func (c *checker) lateness() {
	s := c.s
	c.notNegative("allowed_lateness", s.Lateness)
	c.notNegative("late_every", s.LateEvery)
	if s.Lateness > 0 && s.ProcessingTime {
		c.wrong("allowed_lateness", "remove it", "nothing is late for windows over the clock")
	}
	if s.Lateness > 0 && s.Type == Global {
		c.wrong("allowed_lateness", "remove it", "nothing is late for a global window")
	}
	if s.LateEvery > 0 && s.Lateness == 0 {
		c.wrong("late_every", "set allowed_lateness, or remove late_firing", "without allowed lateness there are no late results to collect")
	}
	if s.LateEvery > 0 && s.Trigger != "" && s.Trigger != OnEventTime && s.Trigger != ContinuousEventTime && s.Trigger != ContinuousProcessingTime {
		c.wrong("late_every", "remove it", "the trigger %s gives no late results to collect", s.Trigger)
	}
}

func (c *checker) trigger() {
	s := c.s
	switch s.Trigger {
	case "", Never:
	case OnEndOfInput:
		if s.Type != Global {
			c.wrong("trigger", `write "event_time", which also fires at the end of input`, "%s windows are dropped before the end of input", s.Type)
		}
	case OnEventTime:
		if s.ProcessingTime {
			c.wrong("trigger", `write "processing_time"`, "windows over the clock do not follow the watermark")
		}
	case OnProcessingTime:
		if s.Type == Global {
			c.wrong("trigger", `write "continuous_processing_time" or "count"`, "a global window has no end that the clock could reach")
		}
	case OnCount:
		if s.Count <= 0 {
			c.wrong("count", "", "%d is not above 0", s.Count)
		}
	case ContinuousEventTime:
		if s.ProcessingTime {
			c.wrong("trigger", `write "continuous_processing_time"`, "windows over the clock do not follow the watermark")
		}
		c.positive("interval", s.Interval)
	case ContinuousProcessingTime:
		c.positive("interval", s.Interval)
	default:
		c.wrong("trigger", "", "%q is no trigger; there are event_time, processing_time, count, continuous_event_time, continuous_processing_time, end_of_stream and never", string(s.Trigger))
	}
	switch s.Mode {
	case "", Accumulating, Discarding:
	case Retracting:
		if s.Purging {
			c.wrong("mode", "remove purging", "a result cannot be taken back when its contents were purged")
		}
	default:
		c.wrong("mode", "", "%q is no mode; there are accumulating, discarding and retracting", string(s.Mode))
	}
}

func (c *checker) early() {
	s := c.s
	c.notNegative("early_every", s.EarlyEvery)
	c.notNegative("early_processing_every", s.EarlyProcessingEvery)
	if s.EarlyCount < 0 {
		c.wrong("early_count", "", "%d is negative", s.EarlyCount)
	}
	if s.EarlyEvery <= 0 && s.EarlyProcessingEvery <= 0 && s.EarlyCount <= 0 {
		return
	}
	field := "early_every"
	if s.EarlyEvery <= 0 {
		field = "early_processing_every"
		if s.EarlyProcessingEvery <= 0 {
			field = "early_count"
		}
	}
	byEnd := s.Trigger == OnEventTime || s.Trigger == OnProcessingTime || s.Trigger == OnEndOfInput || s.Trigger == "" && s.Type != Global
	if !byEnd {
		c.wrong(field, `early results need a result at the end: trigger "event_time", "processing_time" or "end_of_stream"`,
			"the trigger %q says itself when there is a result", string(s.effectiveTrigger()))
	}
	if s.EarlyEvery > 0 && s.ProcessingTime {
		c.wrong("early_every", "write early_processing_every", "windows over the clock do not follow the watermark")
	}
}

// effectiveTrigger is the trigger with the default for the type filled in.
func (s *Spec) effectiveTrigger() TriggerKind {
	switch {
	case s.Trigger != "":
		return s.Trigger
	case s.Type == Global:
		return Never
	case s.ProcessingTime:
		return OnProcessingTime
	}
	return OnEventTime
}
