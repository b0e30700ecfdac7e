package window

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

// The dates' arithmetic is our own, so that it reaches to both ends of int64; package time is the witness.
func TestMonthsAndDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := rapid.Int64Range(-800_000, 4_000_000).Draw(t, "day")
		date := time.UnixMilli(day * dayMillis).UTC()
		month := int64(date.Year()-1970)*12 + int64(date.Month()-1)
		require.Equal(t, month, monthOf(day), "%s", date)
		first := time.Date(date.Year(), date.Month(), 1, 0, 0, 0, 0, time.UTC)
		require.Equal(t, first.UnixMilli()/dayMillis, firstOfMonth(month), "%s", date)
	})
}

func calendarSpec(n int, unit CalendarUnit, loc *time.Location) Spec {
	return Spec{Type: Tumbling, CalendarN: n, CalendarUnit: unit, Location: loc}
}

func TestCalendarWindows(t *testing.T) {
	for _, c := range []struct {
		name       string
		n          int
		unit       CalendarUnit
		zone       string
		at         string
		start, end string
	}{
		{"a day", 1, Day, "UTC", "2024-02-29T12:00:00Z", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"a day before 1970", 1, Day, "UTC", "1969-12-31T23:59:59.999Z", "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"year 1", 1, Day, "UTC", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0001-01-02T00:00:00Z"},
		{"year 9999", 12, Month, "UTC", "9999-12-31T23:59:59.999Z", "9999-01-01T00:00:00Z", "+10000-01-01"},
		{"a week begins on Monday", 1, Week, "UTC", "2024-01-07T12:00:00Z", "2024-01-01T00:00:00Z", "2024-01-08T00:00:00Z"},
		{"two weeks, counted from the one of 1970-01-01", 2, Week, "UTC", "1970-01-11T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-12T00:00:00Z"},
		{"a quarter", 3, Month, "UTC", "2024-06-30T23:59:59Z", "2024-04-01T00:00:00Z", "2024-07-01T00:00:00Z"},
		{"February of a leap year", 1, Month, "UTC", "2024-02-29T00:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"a year that is no leap year", 1, Month, "UTC", "1900-02-28T00:00:00Z", "1900-02-01T00:00:00Z", "1900-03-01T00:00:00Z"},
		{"23 hours", 1, Day, "Europe/Berlin", "2024-03-31T12:00:00+02:00", "2024-03-31T00:00:00+01:00", "2024-04-01T00:00:00+02:00"},
		{"25 hours", 1, Day, "Europe/Berlin", "2024-10-27T12:00:00+01:00", "2024-10-27T00:00:00+02:00", "2024-10-28T00:00:00+01:00"},
		{"half an hour from everybody", 1, Day, "Asia/Kolkata", "2024-01-01T00:00:00+05:30", "2024-01-01T00:00:00+05:30", "2024-01-02T00:00:00+05:30"},
		{"midnight is skipped", 1, Day, "America/Sao_Paulo", "2018-11-04T12:00:00-02:00", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		{"midnight comes twice: the day before is longer", 1, Day, "America/Sao_Paulo", "2018-02-17T23:30:00-03:00", "2018-02-17T00:00:00-02:00", "2018-02-18T00:00:00-03:00"},
		{"the first of two midnights begins the day", 1, Day, "America/Havana", "2023-11-05T00:30:00-05:00", "2023-11-05T00:00:00-04:00", "2023-11-06T00:00:00-05:00"},
		{"back over midnight by a minute: still the new day", 1, Day, "America/St_Johns", "2006-10-29T00:00:30-02:30", "2006-10-29T00:00:00-02:30", "2006-10-30T00:00:00-03:30"},
		{"the hour that comes again belongs to the new day", 1, Day, "America/St_Johns", "2006-10-28T23:30:00-03:30", "2006-10-29T00:00:00-02:30", "2006-10-30T00:00:00-03:30"},
		{"a month with summer time in it", 1, Month, "America/New_York", "2024-03-10T12:00:00-04:00", "2024-03-01T00:00:00-05:00", "2024-04-01T00:00:00-04:00"},
		{"a day that a zone left out", 1, Day, "Pacific/Apia", "2011-12-31T00:00:00+14:00", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := calendarSpec(c.n, c.unit, zone(t, c.zone))
			require.Empty(t, spec.Check())
			at, err := time.Parse(time.RFC3339, c.at)
			require.NoError(t, err)
			start, err := time.Parse(time.RFC3339, c.start)
			require.NoError(t, err)
			end := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
			if c.end[0] != '+' {
				end, err = time.Parse(time.RFC3339, c.end)
				require.NoError(t, err)
			}
			require.Equal(t, []Span{{start.UnixMilli(), end.UnixMilli()}}, spec.Assign(at.UnixMilli(), nil))
		})
	}
}

// TestCalendarWindowsDivideTime: whatever a zone does with its clocks, the windows follow each other without gap and overlap, and a
// time is in its own.
func TestCalendarWindowsDivideTime(t *testing.T) {
	zones := []*time.Location{time.UTC, nil}
	for _, name := range []string{
		"Europe/Berlin", "America/Sao_Paulo", "America/Havana", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Kathmandu",
		"Africa/Monrovia", "Pacific/Kwajalein", "Europe/Amsterdam", "Antarctica/Troll",
	} {
		zones = append(zones, zone(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]CalendarUnit{Day, Week, Month}).Draw(t, "unit")
		c := newCalendar(rapid.IntRange(1, 13).Draw(t, "n"), unit, rapid.Int64Range(-dayMillis+1, dayMillis-1).Draw(t, "offset"),
			rapid.SampledFrom(zones).Draw(t, "zone"))
		ts := rapid.Int64Range(-3e12, 3e12).Draw(t, "ts")
		span := c.span(ts)
		require.LessOrEqual(t, span.Start, ts)
		require.Less(t, ts, span.End)
		require.Equal(t, span, c.span(span.Start))
		require.Equal(t, span, c.span(span.End-1))
		require.Equal(t, span.End, c.span(span.End).Start)
		require.Equal(t, span.Start, c.span(span.Start-1).End)
	})
}

func TestCalendarWindowsAtTheEndsOfTime(t *testing.T) {
	for _, unit := range []CalendarUnit{Day, Week, Month} {
		for _, loc := range []*time.Location{nil, zone(t, "America/New_York")} {
			c := newCalendar(1, unit, 0, loc)
			low := c.span(math.MinInt64 + 1)
			require.Less(t, low.Start, int64(math.MinInt64+32*dayMillis))
			require.Greater(t, low.End, low.Start)
			high := c.span(math.MaxInt64)
			require.EqualValues(t, math.MaxInt64, high.End)
			require.Less(t, high.Start, high.End)
		}
	}
}

func TestAlignmentOfFixedSizes(t *testing.T) {
	require.Zero(t, Align(nil))
	require.EqualValues(t, 8*3600_000, Align(zone(t, "Asia/Shanghai")))
	require.EqualValues(t, 3600_000, Align(zone(t, "Europe/Berlin")), "standard time")
	require.EqualValues(t, 0, Align(zone(t, "Europe/Dublin")), "whose law calls summer the standard time")
	require.EqualValues(t, -5*3600_000, Align(zone(t, "America/New_York")))
	require.EqualValues(t, 10*3600_000, Align(zone(t, "Australia/Sydney")), "summer in January")
	require.True(t, HasSummerTime(zone(t, "Europe/Berlin")))
	require.False(t, HasSummerTime(zone(t, "Asia/Kolkata")))
	require.False(t, HasSummerTime(nil))
}

func FuzzCalendar(f *testing.F) {
	f.Add(int64(0), 1, 0, int64(0), "UTC")
	f.Add(int64(1711846800000), 1, 0, int64(0), "Europe/Berlin")
	f.Add(int64(math.MaxInt64), 7, 2, int64(5), "Pacific/Apia")
	f.Fuzz(func(t *testing.T, ts int64, n, unit int, offset int64, name string) {
		loc, err := time.LoadLocation(name)
		if err != nil || ts == math.MinInt64 {
			return
		}
		spec := calendarSpec(n, []CalendarUnit{Day, Week, Month}[uint(unit)%3], loc)
		spec.Offset = offset
		if len(spec.Check()) > 0 {
			return
		}
		span := spec.Assign(ts, nil)[0]
		if span.Start > ts || span.End <= ts && span.End != math.MaxInt64 {
			t.Fatalf("%d is not in [%d,%d)", ts, span.Start, span.End)
		}
	})
}
