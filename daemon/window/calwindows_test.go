package window

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"pgregory.net/rapid"
)

// shows is the first minute at which the local clock shows a reading (ms as if it were UTC) or later, found by looking at every minute.
func shows(loc *time.Location, reading int64) int64 {
	const minute = 60_000
	for at := floorDiv(reading, minute)*minute - 36*60*minute; ; at += minute {
		if _, offset := time.UnixMilli(at).In(loc).Zone(); at+int64(offset)*1000 >= reading {
			return at
		}
	}
}

// naiveWindows are the windows of ts by the definition: all that could be meant are looked at.
func naiveWindows(s Spec, ts int64) (out []Span) {
	date := time.UnixMilli(ts).UTC()
	reading := func(months, millis int64) int64 {
		return time.Date(1970, time.Month(1+months), 1, 0, 0, 0, 0, time.UTC).UnixMilli() + millis + s.Offset
	}
	// The beginning of the k-th slide or period, and what the clock shows some ms or months later.
	n, unit := s.CalendarN, s.CalendarUnit
	if s.Type == Sliding {
		n, unit = s.SlideN, s.SlideUnit
	}
	begin := func(k, months, millis int64) int64 {
		switch unit {
		case Month:
			return reading(k*int64(n)+months, millis)
		case Week:
			return reading(months, (k*int64(n)*7-3)*86_400_000+millis)
		}
		return reading(months, k*int64(n)*86_400_000+millis)
	}
	unitDays := map[CalendarUnit]int64{Day: 1, Week: 7, Month: 28}
	lengthDays := int64(s.CalendarN) * unitDays[s.CalendarUnit] * 31 / 28
	around := date.Unix() / 86400 / (int64(n) * unitDays[unit])
	if unit == Month {
		around = (int64(date.Year()-1970)*12 + int64(date.Month()) - 1) / int64(n)
	}
	for k := around - lengthDays/(int64(n)*unitDays[unit]) - 3; k <= around+2; k++ {
		start, next := shows(s.Location, begin(k, 0, 0)), shows(s.Location, begin(k+1, 0, 0))
		if start == next || ts < start {
			continue // a day that was left out
		}
		if s.Type == Sliding {
			length := int64(s.CalendarN) * unitDays[s.CalendarUnit] * 86_400_000
			end := begin(k, 0, length)
			if s.CalendarUnit == Month {
				end = begin(k, int64(s.CalendarN), 0)
			}
			if end := shows(s.Location, end); ts < end {
				out = append(out, Span{start, end})
			}
			continue
		}
		if ts >= next {
			continue
		}
		for i := int64(1); ; i++ {
			end := begin(k, 0, i*s.Slide)
			switch s.SlideUnit {
			case Month:
				end = begin(k, i*int64(s.SlideN), 0)
			case Day, Week:
				end = begin(k, 0, i*int64(s.SlideN)*unitDays[s.SlideUnit]*86_400_000)
			}
			over := end >= begin(k+1, 0, 0)
			at := next
			if !over {
				at = shows(s.Location, end)
			}
			if span := (Span{start, at}); at > ts && (len(out) == 0 || out[len(out)-1] != span) {
				out = append(out, span)
			}
			if over {
				break
			}
		}
	}
	return out
}

// Around the days on which zones do strange things the windows are those of the definition.
func TestCalendarWindowsAreTheDefinition(t *testing.T) {
	strange := map[string][]string{
		"Europe/Berlin":       {"2024-03-31T01:00:00Z", "2024-10-27T01:00:00Z"},
		"Australia/Lord_Howe": {"2024-04-06T15:00:00Z", "2024-10-05T15:30:00Z"},
		"Asia/Kolkata":        {"2024-03-01T00:00:00Z"},
		"America/Santiago":    {"2024-09-08T04:00:00Z", "2024-04-07T03:00:00Z"},
		"America/Havana":      {"2023-11-05T05:00:00Z"},
		"America/St_Johns":    {"2006-10-29T02:31:00Z"},
		"Pacific/Apia":        {"2011-12-30T10:00:00Z"},
		"UTC":                 {"1970-01-01T00:00:00Z", "1969-02-28T00:00:00Z"},
	}
	specs := []Spec{
		{Type: Sliding, CalendarN: 7, CalendarUnit: Day, SlideN: 1, SlideUnit: Day},
		{Type: Sliding, CalendarN: 1, CalendarUnit: Day, SlideN: 1, SlideUnit: Day},
		{Type: Sliding, CalendarN: 5, CalendarUnit: Day, SlideN: 2, SlideUnit: Day},
		{Type: Sliding, CalendarN: 2, CalendarUnit: Week, SlideN: 1, SlideUnit: Week},
		{Type: Sliding, CalendarN: 10, CalendarUnit: Day, SlideN: 1, SlideUnit: Week},
		{Type: Sliding, CalendarN: 1, CalendarUnit: Day, SlideN: 3, SlideUnit: Day},
		{Type: Sliding, CalendarN: 3, CalendarUnit: Month, SlideN: 1, SlideUnit: Month},
		{Type: Sliding, CalendarN: 3, CalendarUnit: Month, SlideN: 2, SlideUnit: Month},
		{Type: Cumulative, CalendarN: 1, CalendarUnit: Day, Slide: 3600_000},
		{Type: Cumulative, CalendarN: 1, CalendarUnit: Day, Slide: 6 * 3600_000},
		{Type: Cumulative, CalendarN: 2, CalendarUnit: Day, Slide: 30 * 60_000},
		{Type: Cumulative, CalendarN: 1, CalendarUnit: Week, SlideN: 1, SlideUnit: Day},
		{Type: Cumulative, CalendarN: 1, CalendarUnit: Month, SlideN: 1, SlideUnit: Day},
		{Type: Cumulative, CalendarN: 12, CalendarUnit: Month, SlideN: 1, SlideUnit: Month},
	}
	for name, moments := range strange {
		loc := zone(t, name)
		rapid.Check(t, func(t *rapid.T) {
			s := rapid.SampledFrom(specs).Draw(t, "spec")
			s.Location = loc
			s.Offset = rapid.SampledFrom([]int64{0, 0, 6 * 3600_000, -3600_000, 90 * 60_000}).Draw(t, "offset")
			require.Empty(t, s.Check())
			moment, err := time.Parse(time.RFC3339, rapid.SampledFrom(moments).Draw(t, "moment"))
			require.NoError(t, err)
			ts := moment.UnixMilli() + rapid.OneOf(rapid.Int64Range(-2*86_400_000, 2*86_400_000), rapid.SampledFrom([]int64{-3600_000, -1, 0, 1, 3600_000})).Draw(t, "from it")
			a := newAssigner(s)
			a.assign(ts+rapid.Int64Range(-3*86_400_000, 3*86_400_000).Draw(t, "the row before"), nil)
			require.Equal(t, naiveWindows(s, ts), a.assign(ts, nil), "%s %+v", time.UnixMilli(ts).In(loc), s)
		})
	}
}

// In a zone that never changes its clocks days are 24 hours, and the windows are those of fixed lengths.
func TestCalendarWindowsOfAFixedZoneAreOfFixedLength(t *testing.T) {
	for _, loc := range []*time.Location{nil, time.UTC, time.FixedZone("UTC+05:30", 5*3600+1800)} {
		s := Spec{Type: Sliding, CalendarN: 2, CalendarUnit: Week, SlideN: 1, SlideUnit: Week, Location: loc, Offset: 3600_000}
		require.Empty(t, s.Check())
		require.Equal(t, "panes", StateFormat(s, Env{}))
		named := s
		named.Location = time.UTC
		rapid.Check(t, func(t *rapid.T) {
			ts := rapid.Int64Range(-1e12, 3e12).Draw(t, "ts")
			by := newCalendarWindows(s)
			require.Equal(t, by.assign(ts, nil), s.Assign(ts, nil))
		})
	}
	require.Equal(t, "windows", StateFormat(Spec{Type: Sliding, CalendarN: 2, CalendarUnit: Day, SlideN: 1, SlideUnit: Day, Location: zone(t, "Europe/Berlin")}, Env{}))
}

func TestCalendarSlidingAndCumulativeAtTheEndsOfTime(t *testing.T) {
	for _, loc := range []*time.Location{zone(t, "UTC"), zone(t, "America/New_York")} {
		for _, s := range []Spec{
			{Type: Sliding, CalendarN: 3, CalendarUnit: Month, SlideN: 1, SlideUnit: Month, Location: loc},
			{Type: Sliding, CalendarN: 7, CalendarUnit: Day, SlideN: 1, SlideUnit: Day, Location: loc},
			{Type: Cumulative, CalendarN: 1, CalendarUnit: Month, SlideN: 1, SlideUnit: Day, Location: loc},
			{Type: Cumulative, CalendarN: 1, CalendarUnit: Day, Slide: 3600_000, Location: loc},
		} {
			for _, ts := range []int64{math.MinInt64 + 1, math.MinInt64 + 40*dayMillis, math.MaxInt64 - 40*dayMillis, math.MaxInt64 - 1, -62135596800000, 253402300799999} {
				spans := s.Assign(ts, nil)
				require.NotEmpty(t, spans, "%+v %d", s, ts)
				for i, w := range spans {
					require.LessOrEqual(t, w.Start, ts)
					require.Greater(t, w.End, ts)
					require.True(t, i == 0 || before(spans[i-1], w))
				}
			}
		}
	}
}

// FuzzCalendarWindows: whatever the lengths, the zone and the time, windows hold the row, ascend, and are found again from their own instants.
func FuzzCalendarWindows(f *testing.F) {
	f.Add(int64(1711846800000), 7, 1, byte(0), byte(0), int64(0), "Europe/Berlin", true)
	f.Add(int64(1325239200000), 3, 1, byte(0), byte(0), int64(3600_000), "Pacific/Apia", true)
	f.Add(int64(1712412000000), 1, 1, byte(2), byte(0), int64(0), "Australia/Lord_Howe", false)
	f.Add(int64(math.MinInt64+1), 12, 1, byte(2), byte(2), int64(0), "America/New_York", false)
	f.Fuzz(func(t *testing.T, ts int64, n, m int, unit, slide byte, offset int64, name string, sliding bool) {
		loc, err := time.LoadLocation(name)
		if err != nil {
			return
		}
		units := []CalendarUnit{Day, Week, Month}
		s := Spec{Type: Cumulative, CalendarN: n, CalendarUnit: units[unit%3], SlideN: m, SlideUnit: units[slide%3], Offset: offset, Location: loc}
		if sliding {
			s.Type = Sliding
		}
		if len(s.Check()) > 0 || n > 500 {
			return
		}
		spans := s.Assign(ts, nil)
		if sliding && !s.hasGaps() && len(spans) == 0 && ts != math.MinInt64 {
			t.Fatalf("%+v: no window holds %d", s, ts)
		}
		for i, w := range spans {
			if ts < w.Start || ts >= w.End && w.End != math.MaxInt64 || i > 0 && !before(spans[i-1], w) {
				t.Fatalf("%+v: %d is in %v, the windows are %v", s, ts, w, spans)
			}
		}
		if len(spans) > 0 && ts > -farAway && ts < farAway {
			last := spans[len(spans)-1]
			found := false
			for _, w := range s.Assign(last.End-1, nil) {
				found = found || w == last
			}
			if !found {
				t.Fatalf("%+v: %v of %d is not found from its last instant", s, last, ts)
			}
		}
	})
}

// Marks that no window of a calendar can notice are left out, also where the clocks change and where an offset has milliseconds.
func TestCalendarMarksInsideABucketCanBeLeftOut(t *testing.T) {
	const hour = 3600_000
	moments := map[string]string{
		"Europe/Berlin": "2024-03-31T01:00:00Z", "Australia/Lord_Howe": "2024-10-05T15:30:00Z", "America/Santiago": "2024-09-08T04:00:00Z",
		"Asia/Kolkata": "2024-03-31T18:30:00Z", "UTC": "2024-03-31T00:00:00Z",
	}
	specs := []Spec{
		{Type: Tumbling, CalendarN: 1, CalendarUnit: Day},
		{Type: Sliding, CalendarN: 2, CalendarUnit: Day, SlideN: 1, SlideUnit: Day},
		{Type: Cumulative, CalendarN: 1, CalendarUnit: Day, Slide: hour},
		{Type: Cumulative, CalendarN: 1, CalendarUnit: Day, Slide: hour + hour/2},
		{Type: Cumulative, CalendarN: 1, CalendarUnit: Month, SlideN: 1, SlideUnit: Day},
	}
	for name, moment := range moments {
		loc := zone(t, name)
		at, err := time.Parse(time.RFC3339, moment)
		require.NoError(t, err)
		rapid.Check(t, func(t *rapid.T) {
			spec := rapid.SampledFrom(specs).Draw(t, "spec")
			spec.Location = loc
			spec.Offset = rapid.SampledFrom([]int64{0, 1, hour + 1, -hour + 500}).Draw(t, "offset")
			spec.Lateness = rapid.SampledFrom([]int64{0, 1500, hour}).Draw(t, "lateness")
			require.Empty(t, spec.Check())
			size, offset := spec.MarkBucket(false)
			aggs := []aggregate.Spec{{Name: "n", Func: "count"}}
			every, first := newRig(t, generalEngine, spec, false, 1, aggs...), newRig(t, generalEngine, spec, false, 1, aggs...)
			watermark, bucket := at.UnixMilli()-26*hour, int64(math.MinInt64)
			step := rapid.SampledFrom([]int64{1, 499, 500, 999, 1000, 1001, 60_000, hour - 1, hour, hour + 1, 12 * hour})
			for range rapid.IntRange(1, 60).Draw(t, "steps") {
				if rapid.Bool().Draw(t, "mark") {
					watermark += step.Draw(t, "further")
					got := every.advance(watermark)
					if b := floorDiv(watermark+1-offset, size); b > bucket {
						bucket = b
						require.Equal(t, lines(got), lines(first.advance(watermark)))
					} else {
						require.Empty(t, got, "the mark %d made a difference", watermark)
					}
					continue
				}
				row := testRow{key: "a", value: 1, ts: watermark + step.Draw(t, "ahead") - step.Draw(t, "behind")}
				require.Equal(t, lines(every.process(row)), lines(first.process(row)))
				require.Equal(t, every.late, first.late)
			}
			require.Equal(t, lines(every.advance(math.MaxInt64)), lines(first.advance(math.MaxInt64)))
		})
	}
}

// In Santiago midnight was skipped, so this day begins with a whole second, although the offset has a millisecond.
func TestABoundaryThatIsSkippedIsOneOfABucket(t *testing.T) {
	at := time.Date(2024, 9, 8, 4, 0, 0, 0, time.UTC).UnixMilli()
	spec := Spec{Type: Tumbling, CalendarN: 1, CalendarUnit: Day, Location: zone(t, "America/Santiago"), Offset: 1, Lateness: 250}
	require.Equal(t, at, spec.Assign(at-1, nil)[0].End)
	size, offset := spec.MarkBucket(false)
	for _, end := range []int64{at, at + 250, at + dayMillis + 1, at + dayMillis + 251} {
		require.Zero(t, floorMod(end-offset, size), "%d", end-at)
	}
}
