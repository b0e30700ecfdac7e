package watermark

import (
	"fmt"
	"math"
	"strconv"
)

// Unit is what a numeric timestamp counts since the epoch.
type Unit string

const (
	Seconds      Unit = "s"
	Milliseconds Unit = "ms"
	Microseconds Unit = "us"
	Nanoseconds  Unit = "ns"
)

var units = [...]struct {
	unit     Unit
	name     string
	perMilli float64 // how many of it make a millisecond
}{
	{Seconds, "seconds", 1e-3}, {Milliseconds, "milliseconds", 1}, {Microseconds, "microseconds", 1e3}, {Nanoseconds, "nanoseconds", 1e6},
}

// Times that people have data about: 1985 to 2100. In this span a number fits at most one unit, because the units are a factor of
// thousand apart and the ends are not.
const (
	plausibleFrom = 473385600000  // 1985-01-01
	plausibleTo   = 4102444800000 // 2100-01-01
)

// agreement is the share of the sample that has to fit a unit. The rest may be zeros, placeholders and broken clocks.
const agreement = 0.8

// DetectUnit finds the unit in which most values of a sample lie between 1985 and 2100; false when there is none. Zeros and NaNs
// say nothing and are left out. It is what `unit = "auto"` uses.
func DetectUnit(sample []float64) (Unit, bool) {
	var fits [len(units)]int
	counted := 0
	for _, v := range sample {
		if v == 0 || math.IsNaN(v) {
			continue
		}
		counted++
		for i, u := range units {
			if ms := v / u.perMilli; ms >= plausibleFrom && ms < plausibleTo {
				fits[i]++
			}
		}
	}
	for i, u := range units {
		if counted > 0 && float64(fits[i]) >= agreement*float64(counted) {
			return u.unit, true
		}
	}
	return "", false
}

// UnitSuspicion says that values look like another unit than the one that was declared.
type UnitSuspicion struct {
	Declared, Likely Unit
	Example          float64 // a value of the sample
}

// SuspectUnit compares a sample with the declared unit. It suspects only if the values make sense in exactly one other unit, so small
// made-up times in tests, and real ones of 1970, are left in peace.
func SuspectUnit(declared Unit, sample []float64) (UnitSuspicion, bool) {
	likely, ok := DetectUnit(sample)
	if !ok || likely == declared {
		return UnitSuspicion{}, false
	}
	for _, v := range sample {
		if ms := v / likely.perMilli(); ms >= plausibleFrom && ms < plausibleTo {
			return UnitSuspicion{Declared: declared, Likely: likely, Example: v}, true
		}
	}
	return UnitSuspicion{}, false
}

// String says it for people, with the way out: these look like seconds: 1700000000 as "ms" is 1970-01-20T16:13:20Z, as "s" it is
// 2023-11-14T22:13:20Z; write unit = "s".
func (s UnitSuspicion) String() string {
	value := strconv.FormatFloat(s.Example, 'f', -1, 64)
	return fmt.Sprintf("these look like %s: %s as %q is %s, as %q it is %s; write unit = %q", s.Likely.name(), value,
		s.Declared, s.Declared.format(s.Example), s.Likely, s.Likely.format(s.Example), s.Likely)
}

func (u Unit) perMilli() float64 {
	for _, x := range units {
		if x.unit == u {
			return x.perMilli
		}
	}
	return 1
}

func (u Unit) name() string {
	for _, x := range units {
		if x.unit == u {
			return x.name
		}
	}
	return string(u)
}

func (u Unit) format(v float64) string {
	ms := v / u.perMilli()
	if math.Abs(ms) > 1e18 {
		return "hundreds of millions of years away"
	}
	return FormatTime(int64(ms))
}
