package transform

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

var timeFunctions = []Function{
	{Name: "timestamp", Params: []Type{TypeAny, TypeString}, Min: 1, Result: TypeTime, Example: `timestamp(seen, "s")`, Help: "a time: of an RFC 3339 text, or of a number in the unit of the second argument (s, ms, us, ns; default ms)", run: runTimestamp},
	{Name: "duration", Params: []Type{TypeString}, Min: 1, Result: TypeInt, Example: `left - entered > duration("5m")`, Help: "milliseconds of a duration with units (ms, s, m, h, d, w)", run: runDuration},
	{Name: "truncate", Params: []Type{TypeTime, TypeString}, Min: 2, Result: TypeTime, Example: `truncate(at, "1h")`, Help: "the time rounded down to a multiple of the duration, in UTC", run: runTruncate},
	{Name: "format", Params: []Type{TypeTime, TypeString}, Min: 2, Result: TypeString, Example: `format(at, "2006-01-02")`, Help: "the time in UTC in a layout of Go's time package", run: runFormat},
	timePart("year", "the year", func(t time.Time) int { return t.Year() }),
	timePart("month", "the month, 1 to 12", func(t time.Time) int { return int(t.Month()) }),
	timePart("day", "the day of the month, 1 to 31", func(t time.Time) int { return t.Day() }),
	timePart("weekday", "the day of the week, 1 (Monday) to 7", func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }),
	timePart("hour", "the hour, 0 to 23", func(t time.Time) int { return t.Hour() }),
	timePart("minute", "the minute, 0 to 59", func(t time.Time) int { return t.Minute() }),
	timePart("second", "the second, 0 to 59", func(t time.Time) int { return t.Second() }),
}

func timePart(name, help string, part func(time.Time) int) Function {
	return Function{Name: name, Params: []Type{TypeTime}, Min: 1, Result: TypeInt, Example: name + "(at)", Help: help + ", in UTC", run: func(_ *machine, a []value) value {
		return intValue(int64(part(time.UnixMilli(a[0].int()).UTC())))
	}}
}

// Units of numeric times, and how many of them make a millisecond or how many milliseconds they make.
var timeUnits = map[string]struct{ multiply, divide int64 }{"s": {1000, 1}, "ms": {1, 1}, "us": {1, 1000}, "ns": {1, 1_000_000}}

func runTimestamp(m *machine, a []value) value {
	v := a[0].number()
	unit := "ms"
	if len(a) > 1 {
		unit = string(a[1].text)
	}
	u, known := timeUnits[unit]
	if !known {
		return m.fail("timestamp: %q is not a unit; write s, ms, us or ns", unit)
	}
	switch v.kind {
	case batch.Time:
		return v
	case batch.Int:
		ms, fits := multiply(v.int(), u.multiply)
		if !fits {
			return m.fail("%s in %s does not fit into 64 bits of milliseconds", describe(v), unit)
		}
		// Rounded down, so that times before 1970 do not move forward.
		rest := ms % u.divide
		if ms /= u.divide; rest < 0 {
			ms--
		}
		return timeValue(ms)
	case batch.Float:
		ms := math.Floor(v.float() * float64(u.multiply) / float64(u.divide))
		if ms >= -1<<63 && ms < 1<<63 {
			return timeValue(int64(ms))
		}
	case batch.String:
		if t, err := time.Parse(time.RFC3339, viewString(v.text)); err == nil {
			return timeValue(t.UnixMilli())
		}
	}
	return m.fail("%s is not a time", describe(a[0]))
}

func runDuration(m *machine, a []value) value {
	ms, err := parseDuration(string(a[0].text))
	if err != nil {
		return m.fail("%v", err)
	}
	return intValue(ms)
}

func runTruncate(m *machine, a []value) value {
	step, err := parseDuration(string(a[1].text))
	if err != nil {
		return m.fail("%v", err)
	}
	if step <= 0 {
		return m.fail("truncate needs a duration above zero, not %s", describe(a[1]))
	}
	at := a[0].int()
	rest := at % step
	if rest < 0 {
		rest += step
	}
	if at < math.MinInt64+rest {
		return m.fail("the time does not fit into 64 bits")
	}
	return timeValue(at - rest)
}

func runFormat(m *machine, a []value) value {
	at := len(m.text)
	m.text = time.UnixMilli(a[0].int()).UTC().AppendFormat(m.text, string(a[1].text))
	return textValue(m.text[at:len(m.text):len(m.text)])
}

var durationUnits = map[string]float64{"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

// parseDuration reads numbers with units as pipeline files have them, in milliseconds: 200ms, 1m30s, 2d.
func parseDuration(s string) (int64, error) {
	rest, negative := strings.CutPrefix(s, "-")
	if rest == "" {
		return 0, fmt.Errorf("%q is not a duration; write 5s, 1m30s or 200ms", s)
	}
	sum := 0.0
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		n, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration; write 5s, 1m30s or 200ms", s)
		}
		rest = rest[digits:]
		letters := len(rest) - len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz"))
		unit, ok := durationUnits[rest[:letters]]
		if !ok {
			return 0, fmt.Errorf("%q: %q is not a unit of time; write ms, s, m, h, d or w", s, rest[:letters])
		}
		sum += n * unit
		rest = rest[letters:]
	}
	if sum >= 1<<63 {
		return 0, fmt.Errorf("%q is too long", s)
	}
	if negative {
		sum = -sum
	}
	return int64(math.Round(sum)), nil
}
