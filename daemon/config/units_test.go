package config

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"5s": 5 * time.Second, "200ms": 200 * time.Millisecond, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "2d": 48 * time.Hour,
		"1w": 168 * time.Hour, "-8h": -8 * time.Hour, "+1s": time.Second, "0": 0, "0s": 0, "1us": time.Microsecond, "1µs": time.Microsecond,
		"1w2d3h4m5s6ms7us8ns": 219*time.Hour + 4*time.Minute + 5*time.Second + 6*time.Millisecond + 7*time.Microsecond + 8, "0.000000001s": 1,
		"9223372036854775807ns": math.MaxInt64,
	} {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]error{
		"5": errNoUnit, "1.5": errNoUnit, "1h30": errNoUnit, "": errSyntax, "s": errSyntax, "5 s": errSyntax, "5sec": errSyntax, "1e3s": errSyntax,
		"0.1ns": errSyntax, ".5s": errSyntax, "5.s": errSyntax, "1mo": errSyntax, "5s-3s": errSyntax, "--5s": errSyntax, "300000d": errTooLarge, "9223372036854775808ns": errTooLarge,
		"inf": errSyntax, "NaNs": errSyntax,
	} {
		_, err := ParseDuration(text)
		require.ErrorIs(t, err, want, text)
	}
}

func TestDurationsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(math.MinInt64+1).Draw(t, "d"))
		if rapid.Bool().Draw(t, "coarse") {
			d = d.Truncate(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "unit"))
		}
		got, err := ParseDuration(FormatDuration(d))
		require.NoError(t, err)
		require.Equal(t, d, got, FormatDuration(d))
	})
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"64MiB": 64 << 20, "1.5GB": 1_500_000_000, "512B": 512, "1kb": 1000, "1 KiB": 1024, "0": 0, "2TiB": 2 << 40} {
		got, err := ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]error{
		"64": errNoUnit, "": errSyntax, "MiB": errSyntax, "64M": errSyntax, "-1MiB": errSyntax, "0.3B": errSyntax, "9999999999TiB": errTooLarge, "1e3B": errSyntax,
	} {
		_, err := ParseSize(text)
		require.ErrorIs(t, err, want, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "n") >> rapid.IntRange(0, 60).Draw(t, "shift")
		got, err := ParseSize(FormatSize(n))
		require.NoError(t, err)
		require.Equal(t, n, got, FormatSize(n))
	})
}

func TestSuggestions(t *testing.T) {
	names := []string{"allowed_lateness", "inputs", "interval", "idle_after", "max_out_of_orderness", "min", "max", "sum"}
	for got, want := range map[string]string{
		"allowed_latenes": "allowed_lateness", "imputs": "inputs", "input": "inputs", "Interval": "interval", "idle-after": "idle_after", "maxOutOfOrderness": "max_out_of_orderness",
		"mni": "min", "smu": "sum", "out_of_orderness": "max_out_of_orderness", "xyz": "", "": "", "lateness": "allowed_lateness",
	} {
		require.Equal(t, want, Suggest(got, names), got)
	}
}
