package sdk

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written "64KiB", "1MB" or 65536.
type Size int64

// Expr is an option that holds an expression over the record. The host evaluates it: its values come as the column named like the
// option. The text is for messages.
type Expr string

// Field is an option that names a field of the record; its values come as the column named like the option.
type Field string

var durationUnits = []struct {
	name string
	unit time.Duration
}{
	{"ns", time.Nanosecond}, {"us", time.Microsecond}, {"µs", time.Microsecond}, {"ms", time.Millisecond},
	{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour},
}

// ParseDuration reads numbers with units, largest first or not: "1.5s", "1m30s", "2d". A day is 24 hours. "0" needs no unit.
func ParseDuration(text string) (time.Duration, error) {
	rest, negative := strings.CutPrefix(text, "-")
	if rest == "0" {
		return 0, nil
	}
	if rest == "" {
		return 0, fmt.Errorf("%q is not a duration", text)
	}
	var sum float64
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		number, after := rest[:digits], rest[digits:]
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration", text)
		}
		letters := len(after) - len(strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµμ"))
		name := strings.ReplaceAll(after[:letters], "μ", "µ")
		if name == "" {
			return 0, fmt.Errorf("%q has no unit", text)
		}
		unit := time.Duration(0)
		for _, u := range durationUnits {
			if u.name == name {
				unit = u.unit
			}
		}
		if unit == 0 {
			return 0, fmt.Errorf("%q: %q is not a unit of time", text, name)
		}
		sum += v * float64(unit)
		rest = after[letters:]
	}
	if sum >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is longer than 292 years", text)
	}
	d := time.Duration(math.Round(sum))
	if negative {
		d = -d
	}
	return d, nil
}

var sizeUnits = map[string]float64{
	"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
}

// ParseSize reads a number of bytes: "64KiB" is 65,536, "64kB" 64,000, "64k" 65,536; upper and lower case are the same.
func ParseSize(text string) (Size, error) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789."))
	v, err := strconv.ParseFloat(text[:digits], 64)
	unit, ok := sizeUnits[strings.ToLower(strings.TrimSpace(text[digits:]))]
	if err != nil || !ok {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	if v*unit >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is too large", text)
	}
	return Size(math.Round(v * unit)), nil
}
