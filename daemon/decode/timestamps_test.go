package decode

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

func timestamps(t require.TestingT, unit string, o TimeOptions) *Timestamps {
	ts, err := NewTimestamps(unit, o)
	require.NoError(t, err)
	return ts
}

func TestTimestampTexts(t *testing.T) {
	paris := TimeOptions{Location: loadZone(t, "Europe/Paris")}
	for _, c := range []struct {
		unit    string
		options TimeOptions
		text    string
		want    string // RFC 3339 with ms, or the problem
	}{
		{"s", TimeOptions{}, "0", "1970-01-01T00:00:00.000Z"},
		{"s", TimeOptions{}, "1700000000", "2023-11-14T22:13:20.000Z"},
		{"s", TimeOptions{}, "1700000000.123", "2023-11-14T22:13:20.123Z"},
		{"s", TimeOptions{}, "1700000000.1229999999999999999999", "2023-11-14T22:13:20.122Z"},
		{"s", TimeOptions{}, "1.7e9", "2023-11-14T22:13:20.000Z"},
		{"s", TimeOptions{}, "1.700000000123E+09", "2023-11-14T22:13:20.123Z"},
		{"s", TimeOptions{}, "-0.0001", "1969-12-31T23:59:59.999Z"},
		{"s", TimeOptions{}, "-1.5", "1969-12-31T23:59:58.500Z"},
		{"s", TimeOptions{}, " 1700000000 ", "2023-11-14T22:13:20.000Z"},
		{"s", TimeOptions{}, "+5", "1970-01-01T00:00:05.000Z"},
		{"s", TimeOptions{}, "1e30", problemRange},
		{"s", TimeOptions{}, "1e", "it is not a number"},
		{"s", TimeOptions{}, "NaN", "it is not a number"},
		{"s", TimeOptions{}, "0x10", "it is not a number"},
		{"ms", TimeOptions{}, "1700000000123", "2023-11-14T22:13:20.123Z"},
		{"ms", TimeOptions{}, "1700000000123.9", "2023-11-14T22:13:20.123Z"},
		{"ms", TimeOptions{}, "9223372036854775807", problemRange},
		{"ms", TimeOptions{}, "-9223372036854775808", problemRange},
		{"us", TimeOptions{}, "1700000000123456", "2023-11-14T22:13:20.123Z"},
		{"us", TimeOptions{}, "-1", "1969-12-31T23:59:59.999Z"},
		{"ns", TimeOptions{}, "1700000000123456789", "2023-11-14T22:13:20.123Z"},
		{"ns", TimeOptions{}, "18446744073709551615", "2554-07-21T23:34:33.709Z"},

		{"rfc3339", TimeOptions{}, "2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000Z"},
		{"rfc3339", TimeOptions{}, "2024-02-29t12:00:00.5z", "2024-02-29T12:00:00.500Z"},
		{"rfc3339", TimeOptions{}, "2024-02-29 12:00:00,999999+05:30", "2024-02-29T06:30:00.999Z"},
		{"rfc3339", TimeOptions{}, "2024-02-29T12:00:00-0800", "2024-02-29T20:00:00.000Z"},
		{"rfc3339", TimeOptions{}, "2024-02-29T12:00:00+02", "2024-02-29T10:00:00.000Z"},
		{"rfc3339", TimeOptions{}, "1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"},
		{"rfc3339", TimeOptions{}, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"},
		{"rfc3339", TimeOptions{}, "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"},
		{"rfc3339", TimeOptions{}, "2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"},
		{"rfc3339", TimeOptions{}, "2017-01-01T05:29:60.5+05:30", "2017-01-01T00:00:00.500Z"},
		{"rfc3339", TimeOptions{}, "2016-12-30T23:59:60Z", problemLeap},
		{"rfc3339", TimeOptions{}, "2016-12-31T12:30:60Z", problemLeap},
		{"rfc3339", TimeOptions{}, "2016-12-31T23:59:61Z", "there is no such second"},
		{"rfc3339", TimeOptions{}, "2023-02-29T00:00:00Z", "there is no such day"},
		{"rfc3339", TimeOptions{}, "2023-13-01T00:00:00Z", "there is no such month"},
		{"rfc3339", TimeOptions{}, "2023-00-01T00:00:00Z", "there is no such month"},
		{"rfc3339", TimeOptions{}, "0000-00-00T00:00:00Z", "there is no such month"},
		{"rfc3339", TimeOptions{}, "2023-01-01T24:00:00Z", "there is no such hour"},
		{"rfc3339", TimeOptions{}, "2023-01-01T00:00:00.Z", "a digit is missing in the fraction"},
		{"rfc3339", TimeOptions{}, "2023-01-01T00:00:00", "it has no offset such as Z or +01:00; name the zone with timezone"},
		{"rfc3339", TimeOptions{}, "2023-01-01T00:00:00 CET", "its end is not an offset such as Z or +01:00"},
		{"rfc3339", TimeOptions{}, "2023-01-01T00:00:00+25:00", "its end is not an offset such as Z or +01:00"},
		{"rfc3339", TimeOptions{}, "banana", "it does not look like 2006-01-02T15:04:05Z"},
		{"rfc3339", paris, "2023-01-01T00:00:00", "2022-12-31T23:00:00.000Z"},

		{"2006-01-02 15:04:05", TimeOptions{}, "2023-07-01 00:00:00", "2023-07-01T00:00:00.000Z"},
		{"2006-01-02 15:04:05", paris, "2023-07-01 00:00:00", "2023-06-30T22:00:00.000Z"},
		{"2006-01-02 15:04:05", paris, "2023-03-26 02:30:00", "2023-03-26T01:30:00.000Z"}, // does not occur: read with the offset before
		{"2006-01-02 15:04:05", paris, "2023-10-29 02:30:00", "2023-10-29T00:30:00.000Z"}, // occurs twice: the earlier one
		{"2006-01-02 15:04:05", paris, "2023-10-29 03:00:00", "2023-10-29T02:00:00.000Z"},
		{"2006-01-02 15:04:05 MST", paris, "2023-10-29 02:30:00 CET", "2023-10-29T01:30:00.000Z"},
		{"2006-01-02 15:04:05 MST", paris, "2023-10-29 02:30:00 CEST", "2023-10-29T00:30:00.000Z"},
		{"2006-01-02 15:04:05 MST", paris, "2023-07-01 00:00:00 CET", "2023-06-30T23:00:00.000Z"}, // standard time in summer, as it says
		{"2006-01-02 15:04:05 MST", TimeOptions{}, "2023-07-01 00:00:00 GMT", "2023-07-01T00:00:00.000Z"},
		{"2006-01-02 15:04:05 MST", TimeOptions{}, "2023-07-01 00:00:00 +03", "2023-06-30T21:00:00.000Z"},
		{"Mon Jan _2 15:04:05 2006", TimeOptions{}, "Sat Jul  1 00:00:07 2023", "2023-07-01T00:00:07.000Z"},
		{"Mon Jan _2 15:04:05 2006", TimeOptions{}, "SATURDAY july 1 00:00:07 2023", "2023-07-01T00:00:07.000Z"},
		{"02/Jan/2006:15:04:05 -0700", TimeOptions{}, "10/Oct/2023:13:55:36 -0700", "2023-10-10T20:55:36.000Z"},
		{"1/2/06 3:04 PM", TimeOptions{}, "7/1/23 12:05 am", "2023-07-01T00:05:00.000Z"},
		{"1/2/06 3:04 PM", TimeOptions{}, "7/1/69 1:05 PM", "1969-07-01T13:05:00.000Z"},
		{"1/2/06 3:04 PM", TimeOptions{}, "7/1/68 13:05 PM", "there is no such hour"},
		{"20060102150405", TimeOptions{}, "20230701000007", "2023-07-01T00:00:07.000Z"},
		{"20060102150405.000", TimeOptions{}, "20230701000007.25", "2023-07-01T00:00:07.250Z"},
		{"2006.002 15:04:05", TimeOptions{}, "2024.366 00:00:00", "2024-12-31T00:00:00.000Z"},
		{"2006.002 15:04:05", TimeOptions{}, "2023.366 00:00:00", "there is no such day in that year"},
		{"2006-01-02 15:04:05", TimeOptions{}, "2023-07-01 00:00:00 and more", `" and more" is left over`},
		{"2006-01-02 15:04:05", TimeOptions{}, "2023-7-01 00:00:00", "it does not follow the layout at character 7"},
		{"2006-01-02 15:04:05", TimeOptions{}, "2016-12-31 23:59:60", "2017-01-01T00:00:00.000Z"},
		{"2006-01-02 15:04:05", paris, "2017-01-01 00:59:60", "2017-01-01T00:00:00.000Z"},
		{"2006-01-02 15:04:05", TimeOptions{}, "2023-07-01 23:60:00", "there is no such minute"},
		{"2006-01-02", TimeOptions{}, "2023-07-01", "2023-07-01T00:00:00.000Z"},

		{"%Y-%m-%dT%H:%M:%S%z", TimeOptions{}, "2023-07-01T00:00:00+0200", "2023-06-30T22:00:00.000Z"},
		{"%d.%m.%y %I:%M %p", TimeOptions{}, "1.7.23 2:30 PM", "2023-07-01T14:30:00.000Z"},
		{"%a %b %e %T %Y", TimeOptions{}, "Sat Jul  1 00:00:07 2023", "2023-07-01T00:00:07.000Z"},
		{"%s", TimeOptions{}, "1700000000.5", "2023-11-14T22:13:20.500Z"},
		{"%Y%j", TimeOptions{}, "2024060", "2024-02-29T00:00:00.000Z"},
		{"%Y-%m-%d %H:%M:%S.%3N", TimeOptions{}, "2023-07-01 00:00:00.123", "2023-07-01T00:00:00.123Z"},
		{"%d%%%m%%%Y", TimeOptions{}, "01%07%2023", "2023-07-01T00:00:00.000Z"},

		{"Jan _2 15:04:05", TimeOptions{Year: 2023}, "Jul  1 00:00:07", "2023-07-01T00:00:07.000Z"},
		{"Jan _2 15:04:05", TimeOptions{Year: 2023}, "Feb 29 00:00:07", "there is no such day"},
		{"Jan _2 15:04:05", TimeOptions{}, "Jul  1 00:00:07", "it has no year; set year"},

		{"auto", TimeOptions{}, "1700000000", "2023-11-14T22:13:20.000Z"},
		{"auto", TimeOptions{}, "1700000000.123", "2023-11-14T22:13:20.123Z"},
		{"auto", TimeOptions{}, "1700000000123", "2023-11-14T22:13:20.123Z"},
		{"auto", TimeOptions{}, "1700000000123456", "2023-11-14T22:13:20.123Z"},
		{"auto", TimeOptions{}, "1700000000123456789", "2023-11-14T22:13:20.123Z"},
		{"auto", TimeOptions{}, "2023-07-01T00:00:00+02:00", "2023-06-30T22:00:00.000Z"},
		{"auto", TimeOptions{}, "2023-07-01 00:00:00", "2023-07-01T00:00:00.000Z"},
		{"auto", TimeOptions{}, "10/Oct/2023:13:55:36 -0700", "2023-10-10T20:55:36.000Z"},
		{"auto", TimeOptions{}, "Tue, 10 Oct 2023 13:55:36 GMT", "2023-10-10T13:55:36.000Z"},
		{"auto", TimeOptions{}, "Tue, 10 Oct 2023 13:55:36 EST", `zone EST is not known; write zones = { EST = "+01:00" } with its offset, or timezone = a zone that uses it`},
		{"auto", TimeOptions{}, "2023-02-30T00:00:00Z", "there is no such day"},
		{"auto", TimeOptions{}, "01/02/2023 10:00:00", problemAuto},
	} {
		ts := timestamps(t, c.unit, c.options)
		for range 2 { // the second time from memory
			ms, problem := ts.text([]byte(c.text))
			if problem == "" {
				require.Equal(t, c.want, time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"), "%s as %s", c.text, c.unit)
			} else {
				require.Equal(t, c.want, problem, "%s as %s", c.text, c.unit)
			}
		}
	}
}

func TestUnitsThatCannotBe(t *testing.T) {
	for unit, want := range map[string]string{
		"":                 "has nothing of a date",
		"seconds":          "has nothing of a date",
		"15:04:05":         "has no month and day",
		"%H:%M":            "has no month and day",
		"2006-01-02 03:04": "does not say AM or PM",
		"002":              "has a day of the year and no year",
		"%Y-%m-%d %Q":      "there is no %Q",
		"%Y-%m-%d %":       "ends with a percent sign",
	} {
		_, err := NewTimestamps(unit, TimeOptions{})
		require.ErrorContains(t, err, want, unit)
	}
	_, err := NewTimestamps("s", TimeOptions{Zones: map[string]string{"CET": "1"}})
	require.ErrorContains(t, err, `offset "1" of zone CET is not of the form "+01:00"`)
	_, err = NewTimestamps("s", TimeOptions{Year: 10000})
	require.ErrorContains(t, err, "year 10000")
}

func TestYearNearestToTheReference(t *testing.T) {
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339, s)
		require.NoError(t, err)
		return v.UnixMilli()
	}
	ts := timestamps(t, "Jan _2 15:04:05", TimeOptions{})
	require.True(t, ts.NeedsYear())
	for _, c := range []struct{ reference, text, want string }{
		{"2024-01-01T00:00:05Z", "Dec 31 23:59:59", "2023-12-31T23:59:59Z"},
		{"2023-12-31T23:59:50Z", "Jan  1 00:00:05", "2024-01-01T00:00:05Z"},
		{"2024-07-01T00:00:00Z", "Feb 29 12:00:00", "2024-02-29T12:00:00Z"},
		{"2026-06-01T00:00:00Z", "Feb 29 12:00:00", "2028-02-29T12:00:00Z"},
		{"2025-06-01T00:00:00Z", "Feb 29 12:00:00", "2024-02-29T12:00:00Z"},
	} {
		ts.SetReference(at(c.reference))
		ms, err := ts.Parse(c.text)
		require.NoError(t, err)
		require.Equal(t, c.want, time.UnixMilli(ms).UTC().Format(time.RFC3339), "%s near %s", c.text, c.reference)
	}
}

// TestEpochsAreExact compares numbers with rational arithmetic.
func TestEpochsAreExact(t *testing.T) {
	scales := map[string]*big.Rat{"s": big.NewRat(1000, 1), "ms": big.NewRat(1, 1), "us": big.NewRat(1, 1000), "ns": big.NewRat(1, 1000000)}
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"s", "ms", "us", "ns"}).Draw(t, "unit")
		text := rapid.StringMatching(`[+-]?[0-9]{1,22}(\.[0-9]{0,22})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "text")
		exact, ok := new(big.Rat).SetString(text)
		require.True(t, ok)
		exact.Mul(exact, scales[unit])
		want := new(big.Int).Div(exact.Num(), exact.Denom()) // Euclid's division by a positive number rounds down
		ms, problem := timestamps(t, unit, TimeOptions{}).text([]byte(text))
		if !want.IsInt64() || want.Int64() == math.MaxInt64 || want.Int64() == math.MinInt64 {
			require.Equal(t, problemRange, problem)
			return
		}
		require.Empty(t, problem, text)
		require.Equal(t, want.Int64(), ms, text)
	})
}

// TestColumnsLikeTexts says that the fast ways through columns and floats give what the text of the same number gives.
func TestColumnsLikeTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"s", "ms", "us", "ns", "auto"}).Draw(t, "unit")
		number := rapid.OneOf(
			rapid.Map(rapid.Int64(), func(v int64) string { return fmt.Sprint(v) }),
			rapid.Map(rapid.Int64Range(-1e12, 4e12), func(v int64) string { return fmt.Sprint(v) }),
			rapid.Map(rapid.Int64Range(0, 4e12), func(v int64) string { return fmt.Sprintf("%d.%03d", v/1000, v%1000) }),
			rapid.Map(rapid.Int64Range(0, 4e15), func(v int64) string { return fmt.Sprintf("%d.%06d", v/1000000, v%1000000) }),
			rapid.Map(rapid.Int64Range(-4e15, 0), func(v int64) string { return fmt.Sprintf("-%d.%06d", -v/1000000, -v%1000000) }),
		)
		numbers := rapid.SliceOfN(number, 1, 5).Draw(t, "numbers")
		d, errs := New(Spec{Format: FormatJSON, Fields: []Field{{Name: "ts"}}})
		require.NoError(t, errs.Err())
		var rows []string
		for _, n := range numbers {
			rows = append(rows, `{"ts":`+n+`}`)
		}
		b := lines(rows...)
		d.Decode(b)
		out := make([]int64, b.N)
		timestamps(t, unit, TimeOptions{}).Column(b, &b.Columns[0], out)
		for i, n := range numbers {
			ms, problem := timestamps(t, unit, TimeOptions{}).text([]byte(n))
			if problem != "" {
				ms = batch.NoTimestamp
			}
			require.Equal(t, ms, out[i], "%s in %s", n, unit)
		}
	})
}

// TestRowsThatAreDeadHaveNoTime says that what lies in the cells of a row that decoding has refused is taken for no time, on any way through.
func TestRowsThatAreDeadHaveNoTime(t *testing.T) {
	for _, unit := range []string{"s", "ms", "us", "auto"} {
		d, errs := New(Spec{Format: FormatDelimited, Delimiter: " ", Fields: []Field{{Name: "k"}, {Name: "ts"}},
			Declared: []Declared{{Name: "k", Path: Path{{Name: "k"}}, Type: TypeString}, {Name: "ts", Path: Path{{Name: "ts"}}, Type: TypeInt}}})
		require.NoError(t, errs.Err())
		b := lines("a x", "a 1000", "b", "a y", "a 2000", "a z")
		d.Decode(b)
		require.Equal(t, []uint32{1, 2, 4}, b.Sel, "the others are refused; one has no time")
		out := []int64{5, 5, 5, 5, 5, 5} // memory that was used before
		timestamps(t, unit, TimeOptions{}).Column(b, b.Column("ts"), out)
		for _, row := range []int{0, 2, 3, 5} {
			require.Equal(t, int64(batch.NoTimestamp), out[row], unit)
		}
		require.NotEqual(t, int64(batch.NoTimestamp), out[1], unit)
		require.NotEqual(t, int64(batch.NoTimestamp), out[4], unit)
	}
}

// TestRFC3339LikeTheStandardLibrary compares with time.Parse, in what both take.
func TestRFC3339LikeTheStandardLibrary(t *testing.T) {
	ts := timestamps(t, "rfc3339", TimeOptions{})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(19|20|00|99)[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`).Draw(t, "text")
		want, err := time.Parse(time.RFC3339, text)
		ms, problem := ts.text([]byte(text))
		require.Equal(t, err == nil, problem == "", "%s: %v, %s", text, err, problem)
		if err == nil {
			require.Equal(t, want.UnixMilli(), ms, text)
		}
	})
}

// TestZonesLikeTheStandardLibrary compares times of the clock with time.Date wherever that is unambiguous.
func TestZonesLikeTheStandardLibrary(t *testing.T) {
	for _, name := range []string{"Europe/Paris", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "America/Sao_Paulo", "UTC"} {
		location := loadZone(t, name)
		z, once := newZone(location), newZone(location)
		rapid.Check(t, func(t *rapid.T) {
			clock := rapid.Int64Range(-3e9, 4e9).Draw(t, "clock")
			if rapid.Bool().Draw(t, "near a change") {
				if _, end := time.Unix(clock, 0).In(location).ZoneBounds(); !end.IsZero() {
					clock = end.Unix() + rapid.Int64Range(-2*86400, 2*86400).Draw(t, "distance")
				}
			}
			offset := z.offset(clock)
			once.from, once.to = 0, 0
			require.Equal(t, once.offset(clock), offset, "what is remembered changes nothing")
			u := time.Unix(clock, 0).UTC()
			want := time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), 0, location)
			_, real := time.Unix(clock-offset, 0).In(location).Zone()
			if int64(real) == offset {
				// It is a time of that clock: the standard library's, or the earlier one of two.
				require.LessOrEqual(t, clock-offset, want.Unix())
				return
			}
			// It is none: no offset around would make it one.
			for _, d := range []int64{-86400, 86400} {
				_, o := time.Unix(clock+d, 0).In(location).Zone()
				_, r := time.Unix(clock-int64(o), 0).In(location).Zone()
				require.NotEqual(t, o, r)
			}
		})
	}
}

// TestLayoutsReadWhatGoWrites formats times with Go and strftime-like layouts and reads them back.
func TestLayoutsReadWhatGoWrites(t *testing.T) {
	for _, layout := range []string{time.ANSIC, time.RubyDate, time.RFC850, time.RFC1123, time.RFC1123Z, time.RFC3339, time.RFC3339Nano, time.DateTime,
		"2006-002 15:04:05.000", "02.01.2006 3:04:05.000 pm -07:00", "Jan 2, 2006 at 3:04:05PM (MST)", "20060102T150405Z0700"} {
		ts := timestamps(t, layout, TimeOptions{})
		rapid.Check(t, func(t *rapid.T) {
			from, to := int64(0), int64(4102444800000)
			if strings.Contains(layout, "06") && !strings.Contains(layout, "2006") {
				to = 3124224000000 // 2068, where two digits end
			}
			at := time.UnixMilli(rapid.Int64Range(from, to).Draw(t, "ms")).UTC()
			text := at.Format(layout)
			want, err := time.Parse(layout, text)
			require.NoError(t, err)
			ms, problem := ts.text([]byte(text))
			require.Empty(t, problem, text)
			require.Equal(t, want.UnixMilli(), ms, text)
		})
	}
}

func TestAutoSaysWhatItDecided(t *testing.T) {
	ts := timestamps(t, UnitAuto, TimeOptions{})
	for _, s := range []string{"1700000000", "1700000001", "1700000000123", "2024-01-01T00:00:00Z", "2024-01-01 00:00:00", "2024-01-01 00:00:01"} {
		_, err := ts.Parse(s)
		require.NoError(t, err)
	}
	var told []string
	for n, ok := ts.Notice(); ok; n, ok = ts.Notice() {
		told = append(told, n.Code+": "+n.Message)
	}
	require.Equal(t, []string{
		`detected_s: unit = "auto": numbers like 1700000000 are taken for s; write unit = "s" to be sure`,
		`detected_ms: unit = "auto": numbers like 1700000000123 are taken for ms; write unit = "ms" to be sure`,
		`detected_rfc3339: unit = "auto": texts like "2024-01-01T00:00:00Z" are read as "rfc3339"; write unit = "rfc3339" to be sure`,
		`detected_rfc3339_naive: unit = "auto": texts like "2024-01-01 00:00:00" are read as "rfc3339"; write unit = "rfc3339" and timezone = "UTC" to be sure`,
	}, told)
}

// TestAutoLayoutsAreDisjoint keeps the promise that the order in which unit auto tries layouts means nothing.
func TestAutoLayoutsAreDisjoint(t *testing.T) {
	ts := timestamps(t, UnitAuto, TimeOptions{Year: 2024})
	at := time.Date(2024, 10, 12, 13, 14, 15, 0, time.UTC)
	for _, l := range ts.auto {
		text, follows := at.Format(l.source), 0
		for _, other := range ts.auto {
			if _, problem := ts.byLayout(other, []byte(text)); problem == "" {
				follows++
			}
		}
		require.Equal(t, 1, follows, text)
	}
}

func FuzzTimestamps(f *testing.F) {
	for _, s := range []string{"1700000000", "-1.5e3", "2024-01-01T00:00:00.123+01:00", "Jan  2 15:04:05", "02/Jan/2006:15:04:05 -0700", "Tue, 10 Oct 2023 13:55:36 CET", "24:00", ""} {
		f.Add([]byte(s))
	}
	var all []*Timestamps
	for _, unit := range append([]string{"s", "ms", "us", "ns", "rfc3339", "auto", UnitSyslog, "%Y-%m-%d %H:%M:%S.%f %z %Z", "%s", "%j %Y %I %p %a %B", "2006_2006"}, autoLayouts[:]...) {
		l, err := NewTimestamps(unit, TimeOptions{Year: 2024, Location: time.UTC})
		if err != nil {
			continue
		}
		all = append(all, l)
	}
	strict := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]([01]\d|2[0-3]):\d\d)$`)
	standard := timestamps(f, "rfc3339", TimeOptions{})
	f.Fuzz(func(t *testing.T, text []byte) {
		if isBlank(text) {
			return
		}
		for _, ts := range all {
			ms, problem := ts.text(text)
			again, same := ts.text(text)
			require.Equal(t, problem, same)
			if problem == "" {
				require.Equal(t, ms, again)
				require.NotEqual(t, int64(batch.NoTimestamp), ms)
				require.NotEqual(t, int64(batch.EndOfInput), ms)
			}
		}
		// The standard library also takes hours of one digit and offsets of 24 hours.
		if want, err := time.Parse(time.RFC3339, string(text)); err == nil && strict.Match(text) {
			ms, problem := standard.text(text)
			require.Empty(t, problem)
			require.Equal(t, want.UnixMilli(), ms)
		}
	})
}
