package watermark

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

func TestMaxAheadRefusesTheFutureOnly(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC).UnixMilli()
	guard := MaxAhead{Limit: 5 * time.Minute}
	b := rowsAt(0, 0, now, now+300_000, now+300_001, 0, math.MaxInt64, batch.NoTimestamp)
	require.Equal(t, 2, guard.Apply(b, now))
	require.Equal(t, []uint32{0, 1, 3, 5}, b.Sel)
	require.Equal(t, []int64{now, now + 300_000, batch.NoTimestamp, 0, batch.NoTimestamp, batch.NoTimestamp}, b.Times)
	require.Equal(t, CodeTooFarAhead, b.Bad[0].Code)
	require.Equal(t, "timestamp 2024-05-01T12:05:00.001Z is 5m0.001s ahead of the clock; max_ahead is 5m0s", b.Bad[0].Message)

	far := rowsAt(0, 0, time.Date(5138, 11, 16, 9, 46, 39, 0, time.UTC).UnixMilli(), now+72*3600_000)
	require.Equal(t, 2, guard.Apply(far, now))
	require.Equal(t, "timestamp 5138-11-16T09:46:39Z is 1137562 days ahead of the clock; max_ahead is 5m0s", far.Bad[0].Message)
	require.Equal(t, "timestamp 2024-05-04T12:00:00Z is 3 days ahead of the clock; max_ahead is 5m0s", far.Bad[1].Message)

	require.Zero(t, guard.Apply(b, now), "a second time there is nothing to refuse")
	off := rowsAt(0, 0, math.MaxInt64)
	require.Zero(t, MaxAhead{}.Apply(off, now))

	marks, dropped := guard.Marks([]batch.Mark{{Watermark: now}, {Watermark: now + 300_001}, {Watermark: batch.EndOfInput}}, now)
	require.Equal(t, []batch.Mark{{Watermark: now}, {Watermark: batch.EndOfInput}}, marks)
	require.Equal(t, 1, dropped)
}

func TestUnitDetective(t *testing.T) {
	for _, c := range []struct {
		name   string
		sample []float64
		unit   Unit
		ok     bool
	}{
		{"seconds", []float64{1700000000, 1700000003, 1700000009}, Seconds, true},
		{"seconds with a fraction", []float64{1700000000.25}, Seconds, true},
		{"milliseconds", []float64{1700000000000}, Milliseconds, true},
		{"microseconds", []float64{1700000000000000}, Microseconds, true},
		{"nanoseconds", []float64{1700000000000000000}, Nanoseconds, true},
		{"placeholders and one broken clock", []float64{0, 0, 0, math.NaN(), 1700000000, 1700000001, 1700000002, 1700000003, 1700000004, 4}, Seconds, true},
		{"as many of each", []float64{1700000000, 1700000000000}, "", false},
		{"small made-up times", []float64{1000, 2000, 3000}, "", false},
		{"nothing", nil, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			unit, ok := DetectUnit(c.sample)
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.unit, unit)
		})
	}
	s, ok := SuspectUnit(Milliseconds, []float64{1700000000, 1700000003})
	require.True(t, ok)
	require.Equal(t, `these look like seconds: 1700000000 as "ms" is 1970-01-20T16:13:20Z, as "s" it is 2023-11-14T22:13:20Z; write unit = "s"`, s.String())
	s, ok = SuspectUnit(Seconds, []float64{1.7e18})
	require.True(t, ok)
	require.Contains(t, s.String(), "look like nanoseconds")
	_, ok = SuspectUnit(Seconds, []float64{1700000000})
	require.False(t, ok)
	_, ok = SuspectUnit(Milliseconds, []float64{12, 13})
	require.False(t, ok, "no other unit makes sense of it")
}

func TestIngestionTime(t *testing.T) {
	g := NewIngestion(200)
	require.EqualValues(t, 1001, g.Arrive(1001))
	w, ok := g.Watermark(1001)
	require.True(t, ok)
	require.EqualValues(t, 1000, w)
	_, ok = g.Watermark(1200)
	require.False(t, ok, "at the boundary it is not above it")
	require.EqualValues(t, 1201, g.Next())
	w, ok = g.Watermark(1201)
	require.True(t, ok)
	require.EqualValues(t, 1200, w)
	require.EqualValues(t, 1201, g.Arrive(900), "the clock was set back")
	w, ok = g.Watermark(1999)
	require.True(t, ok)
	require.EqualValues(t, 1800, w, "jumped boundaries are not caught up with")
}

func TestLatenessAdvice(t *testing.T) {
	l := NewLateness()
	times := make([]int64, 0, 10_000)
	for i := range int64(10_000) {
		switch {
		case i%5000 == 4999:
			times = append(times, i-1500) // two of ten thousand
		case i%100 == 99:
			times = append(times, i-90) // one in a hundred
		case i%4 == 3:
			times = append(times, i-8)
		default:
			times = append(times, i)
		}
	}
	l.Observe(0, times, nil)
	require.Equal(t, []Advice{
		{Bound: 0, Lost: 2500, Share: 0.25},
		{Bound: 10 * time.Millisecond, Lost: 100, Share: 0.01},
		{Bound: 100 * time.Millisecond, Lost: 2, Share: 0.0002},
		{Bound: 2 * time.Second, Lost: 0, Share: 0},
	}, l.Advise(0))
	require.Equal(t, 1499*time.Millisecond, l.Longest())
	require.Nil(t, NewLateness().Advise(time.Second))
	l.End(0)
	l.Observe(0, []int64{5}, nil)
	require.EqualValues(t, 2500, l.Lost(0), "a partition that begins again has no past")
}

func TestAlignmentForgetsWhoHasEnded(t *testing.T) {
	a := NewAlignment(10)
	require.EqualValues(t, math.MaxInt64, a.Ceiling(), "nobody has reported")
	a.Report(1, 5)
	a.Report(2, 100)
	require.True(t, a.MustWait(2))
	require.False(t, a.MustWait(9), "unknown")
	a.Remove(1)
	require.False(t, a.MustWait(2))
	a.Report(3, batch.EndOfInput)
	a.Report(2, 50)
	require.False(t, a.MustWait(3), "it has ended and has nothing to wait with")
}
