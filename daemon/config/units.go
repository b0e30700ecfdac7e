package config

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// Sentinels that ParseDuration and ParseSize wrap, to choose the problem's code.
var (
	errNoUnit   = errors.New("has no unit")
	errSyntax   = errors.New("is not understood")
	errTooLarge = errors.New("is too large")
)

var durationUnits = map[string]int64{
	"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9, "d": 24 * 3600e9, "w": 7 * 24 * 3600e9,
}

// ParseDuration reads "5s", "1h30m", "1.5h", "2d" or "-8h". Units are ns, us, ms, s, m, h, d (24 hours) and w (7 days). A number without a
// unit is refused, except a zero, which needs none. A fraction must come out in whole nanoseconds.
func ParseDuration(s string) (time.Duration, error) {
	rest, total, sign := s, new(big.Rat), int64(1)
	if strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
		if rest[0] == '-' {
			sign = -1
		}
		rest = rest[1:]
	}
	if rest == "0" {
		return 0, nil
	}
	if rest == "" || len(rest) > 64 {
		return 0, errSyntax
	}
	for rest != "" {
		n := numberPrefix(rest)
		if n == 0 {
			return 0, errSyntax
		}
		value, ok := new(big.Rat).SetString(rest[:n])
		if !ok {
			return 0, errSyntax
		}
		rest = rest[n:]
		u := strings.IndexAny(rest, "0123456789.")
		if u < 0 {
			u = len(rest)
		}
		if u == 0 && rest != "" && rest[0] == '.' {
			return 0, errSyntax
		}
		if u == 0 {
			return 0, errNoUnit
		}
		unit, ok := durationUnits[rest[:u]]
		if !ok {
			return 0, fmt.Errorf("%w: %q is no unit of time", errSyntax, rest[:u])
		}
		total.Add(total, value.Mul(value, new(big.Rat).SetInt64(unit)))
		rest = rest[u:]
	}
	if !total.IsInt() {
		return 0, fmt.Errorf("%w: finer than a nanosecond", errSyntax)
	}
	n := total.Num()
	if !n.IsInt64() {
		return 0, errTooLarge
	}
	return time.Duration(sign * n.Int64()), nil
}

// numberPrefix is the length of a leading plain number with an optional fraction.
func numberPrefix(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == 0 {
		return 0
	}
	if i < len(s)-1 && s[i] == '.' && s[i+1] >= '0' && s[i+1] <= '9' {
		i++
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
	}
	return i
}

// FormatDuration writes d as people would: "90s" as "1m30s", whole days as "2d".
func FormatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return "0s"
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return strings.ReplaceAll(s, "µ", "u")
}

var sizeUnits = map[string]int64{
	"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

// ParseSize reads a number of bytes: "64MiB", "1.5GB", "512B". Units are B, KB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of
// 1024), in any case. A number without a unit is refused, except zero.
func ParseSize(s string) (int64, error) {
	if s == "0" {
		return 0, nil
	}
	n := numberPrefix(s)
	if n == 0 || n > 32 {
		return 0, errSyntax
	}
	value, ok := new(big.Rat).SetString(s[:n])
	if !ok {
		return 0, errSyntax
	}
	unit := strings.TrimSpace(s[n:])
	if unit == "" {
		return 0, errNoUnit
	}
	factor, ok := sizeUnits[strings.ToLower(unit)]
	if !ok {
		return 0, fmt.Errorf("%w: %q is no unit of size", errSyntax, unit)
	}
	value.Mul(value, new(big.Rat).SetInt64(factor))
	if !value.IsInt() {
		return 0, fmt.Errorf("%w: not a whole number of bytes", errSyntax)
	}
	if !value.Num().IsInt64() || value.Num().Int64() > math.MaxInt64/2 {
		return 0, errTooLarge
	}
	return value.Num().Int64(), nil
}

// FormatSize writes n with the largest unit that keeps it whole.
func FormatSize(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}
