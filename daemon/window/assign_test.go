package window

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSumsOfTimesStopAtTheEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edge := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}))
		a, b := edge.Draw(t, "a"), edge.Draw(t, "b")
		held := func(x *big.Int) int64 {
			switch {
			case x.IsInt64():
				return x.Int64()
			case x.Sign() < 0:
				return math.MinInt64
			}
			return math.MaxInt64
		}
		x, y := big.NewInt(a), big.NewInt(b)
		require.Equal(t, held(new(big.Int).Add(x, y)), addSaturating(a, b))
		require.Equal(t, held(new(big.Int).Sub(x, y)), subSaturating(a, b))
		if b > 0 {
			require.Equal(t, held(new(big.Int).Mul(x, y)), mulSaturating(a, b))
			q, r := new(big.Int).DivMod(x, y, new(big.Int)) // Euclidean, which is floored for a positive divisor
			require.Equal(t, q.Int64(), floorDiv(a, b))
			require.Equal(t, r.Int64(), floorMod(a, b))
		}
	})
}

// checkAssignment compares Assign with the definition: a window that begins at offset + k*slide has the times from its start to
// its end, cut at the ends of time.
func checkAssignment(t require.TestingT, s Spec, ts int64) {
	got := s.Assign(ts, nil)
	at := big.NewInt(ts)
	cut := func(x *big.Int) int64 {
		switch {
		case x.IsInt64():
			return x.Int64()
		case x.Sign() < 0:
			return math.MinInt64
		}
		return math.MaxInt64
	}
	slide := s.Slide
	if s.Type != Sliding {
		slide = s.Size
	}
	// The last boundary at or before ts, without any risk of overflow.
	rest := new(big.Int).Mod(new(big.Int).Sub(at, big.NewInt(s.Offset)), big.NewInt(slide))
	start := new(big.Int).Sub(at, rest)
	var want []Span
	switch s.Type {
	case Cumulative:
		for k := int64(1); k <= s.Size/s.Slide; k++ {
			end := new(big.Int).Add(start, big.NewInt(k*s.Slide))
			if end.Cmp(at) > 0 {
				span := Span{cut(start), cut(end)}
				if len(want) == 0 || want[len(want)-1] != span {
					want = append(want, span)
				}
			}
		}
	default:
		for {
			end := new(big.Int).Add(start, big.NewInt(s.Size))
			if end.Cmp(at) <= 0 {
				break
			}
			want = append([]Span{{cut(start), cut(end)}}, want...)
			start = new(big.Int).Sub(start, big.NewInt(slide))
		}
	}
	require.Equal(t, want, got, "%+v at %d", s, ts)
}

func TestAssignmentIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{Type: rapid.SampledFrom([]Type{Tumbling, Sliding, Cumulative}).Draw(t, "type")}
		s.Size = rapid.Int64Range(1, 1000).Draw(t, "size")
		switch s.Type {
		case Sliding:
			s.Slide = rapid.Int64Range(1, 1000).Draw(t, "slide")
			s.Offset = rapid.Int64Range(-s.Slide+1, s.Slide-1).Draw(t, "offset")
		case Cumulative:
			s.Slide = rapid.Int64Range(1, 50).Draw(t, "step")
			s.Size = s.Slide * rapid.Int64Range(1, 50).Draw(t, "steps")
			s.Offset = rapid.Int64Range(-s.Size+1, s.Size-1).Draw(t, "offset")
		default:
			s.Offset = rapid.Int64Range(-s.Size+1, s.Size-1).Draw(t, "offset")
		}
		require.Empty(t, s.Check())
		ts := rapid.OneOf(rapid.Int64Range(-3000, 3000), rapid.Int64Range(math.MinInt64, math.MinInt64+3000),
			rapid.Int64Range(math.MaxInt64-3000, math.MaxInt64), rapid.Int64()).Draw(t, "ts")
		checkAssignment(t, s, ts)
	})
}

func FuzzAssignment(f *testing.F) {
	f.Add(uint8(0), int64(10), int64(5), int64(3), int64(12))
	f.Add(uint8(1), int64(math.MaxInt64), int64(math.MaxInt64), int64(-1), int64(math.MinInt64+1))
	f.Add(uint8(2), int64(60), int64(10), int64(59), int64(-1))
	f.Fuzz(func(t *testing.T, kind uint8, size, slide, offset, ts int64) {
		s := Spec{Type: []Type{Tumbling, Sliding, Cumulative}[kind%3], Size: size, Slide: slide, Offset: offset}
		if len(s.Check()) > 0 || s.Type != Tumbling && s.Size/s.Slide > 10_000 {
			return
		}
		checkAssignment(t, s, ts)
	})
}

func TestCheckNamesTheSettingAndTheMistake(t *testing.T) {
	for _, c := range []struct {
		field, message string
		spec           Spec
	}{
		{"type", `"hopping" is no type`, Spec{Type: "hopping"}},
		{"size", "0s is not above 0", Spec{Type: Tumbling}},
		{"size", "-1s is not above 0", Spec{Type: Tumbling, Size: -1000}},
		{"slide", "0s is not above 0", Spec{Type: Sliding, Size: 1000}},
		{"slide", "86400000 windows", Spec{Type: Sliding, Size: dayMillis, Slide: 1}},
		{"step", "the size 5s is not a multiple of the step 2s", Spec{Type: Cumulative, Size: 5000, Slide: 2000}},
		{"gap", "0s is not above 0", Spec{Type: Session}},
		{"gap_field", "only sessions have a gap", Spec{Type: Global, GapColumn: "g"}},
		{"max_length", "1s is shorter than the gap, 5s", Spec{Type: Session, Gap: 5000, MaxLength: 1000}},
		{"offset", "5s is not shorter than the size, 5s", Spec{Type: Tumbling, Size: 5000, Offset: 5000}},
		{"offset", "-5s is not shorter than the slide, 5s", Spec{Type: Sliding, Size: 10_000, Slide: 5000, Offset: -5000}},
		{"offset", "session windows have no offset", Spec{Type: Session, Gap: 1, Offset: 1}},
		{"offset", "24h0m0s is not shorter than the shortest such window", Spec{Type: Tumbling, CalendarN: 1, CalendarUnit: Day, Offset: dayMillis}},
		{"size", "session windows have no length in days", Spec{Type: Session, CalendarN: 1, CalendarUnit: Day, Gap: 1}},
		{"slide", "needs a slide by the calendar", Spec{Type: Sliding, CalendarN: 1, CalendarUnit: Day, Slide: 1}},
		{"slide", "7d do not go together", Spec{Type: Sliding, CalendarN: 1, CalendarUnit: Month, SlideN: 7, SlideUnit: Day}},
		{"slide", "12001d is not between", Spec{Type: Sliding, CalendarN: 1, CalendarUnit: Day, SlideUnit: Day, SlideN: 12001}},
		{"step", "1mo is not a multiple of the step 7d", Spec{Type: Cumulative, CalendarN: 1, CalendarUnit: Month, SlideN: 7, SlideUnit: Day}},
		{"step", "1w is not a multiple of the step 2d", Spec{Type: Cumulative, CalendarN: 1, CalendarUnit: Week, SlideN: 2, SlideUnit: Day}},
		{"step", "30d is not a multiple of the step 1mo", Spec{Type: Cumulative, CalendarN: 30, CalendarUnit: Day, SlideN: 1, SlideUnit: Month}},
		{"step", "1d is not a multiple of the step 7h", Spec{Type: Cumulative, CalendarN: 1, CalendarUnit: Day, Slide: 7 * 3600_000}},
		{"step", "at most 100000", Spec{Type: Cumulative, CalendarN: 1, CalendarUnit: Day, Slide: 500}},
		{"offset", "the shortest such slide, 24h0m0s", Spec{Type: Sliding, CalendarN: 7, CalendarUnit: Day, SlideN: 1, SlideUnit: Day, Offset: dayMillis}},
		{"size", `"y" is no calendar unit`, Spec{Type: Tumbling, CalendarN: 1, CalendarUnit: "y"}},
		{"size", "0mo is not between", Spec{Type: Tumbling, CalendarUnit: Month}},
		{"allowed_lateness", "is negative", Spec{Type: Tumbling, Size: 1, Lateness: -1}},
		{"allowed_lateness", "nothing is late for windows over the clock", Spec{Type: Tumbling, Size: 1, Lateness: 1, ProcessingTime: true}},
		{"allowed_lateness", "nothing is late for a global window", Spec{Type: Global, Lateness: 1}},
		{"late_every", "without allowed lateness", Spec{Type: Tumbling, Size: 1, LateEvery: 1}},
		{"late_every", "the trigger count gives no late results", Spec{Type: Tumbling, Size: 1, Lateness: 1, LateEvery: 1, Trigger: OnCount, Count: 1}},
		{"trigger", `"sometimes" is no trigger`, Spec{Type: Tumbling, Size: 1, Trigger: "sometimes"}},
		{"trigger", "do not follow the watermark", Spec{Type: Tumbling, Size: 1, ProcessingTime: true, Trigger: OnEventTime}},
		{"trigger", "no end that the clock could reach", Spec{Type: Global, Trigger: OnProcessingTime}},
		{"trigger", "dropped before the end of input", Spec{Type: Tumbling, Size: 1, Trigger: OnEndOfInput}},
		{"count", "0 is not above 0", Spec{Type: Global, Trigger: OnCount}},
		{"interval", "0s is not above 0", Spec{Type: Global, Trigger: ContinuousEventTime}},
		{"mode", `"undoing" is no mode`, Spec{Type: Tumbling, Size: 1, Mode: "undoing"}},
		{"mode", "cannot be taken back", Spec{Type: Tumbling, Size: 1, Mode: Retracting, Purging: true}},
		{"early_every", `the trigger "count" says itself`, Spec{Type: Tumbling, Size: 1, Trigger: OnCount, Count: 1, EarlyEvery: 1}},
		{"early_count", `the trigger "never" says itself`, Spec{Type: Global, EarlyCount: 1}},
		{"early_every", "do not follow the watermark", Spec{Type: Tumbling, Size: 1, ProcessingTime: true, EarlyEvery: 1}},
		{"timezone", "a time zone cannot move them", Spec{Type: Session, Gap: 1, Location: zone(t, "Europe/Berlin")}},
	} {
		t.Run(c.field+" "+c.message, func(t *testing.T) {
			mistakes := c.spec.Check()
			require.Len(t, mistakes, 1)
			require.Equal(t, c.field, mistakes[0].Field)
			require.ErrorContains(t, mistakes[0], c.message)
			_, err := New(c.spec, nil, Env{}, nil)
			require.ErrorContains(t, err, c.message)
		})
	}
}

func TestCheckFindsAllMistakesAtOnce(t *testing.T) {
	s := Spec{Type: Tumbling, Size: -1, Lateness: -1, Trigger: "x", EarlyCount: -1}
	require.Len(t, s.Check(), 4)
}
