package window

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// TestAJumpOverManyIntervalsIsHeld: Flink gives an equal result for each interval of a continuous trigger that a watermark jumps over;
// ten years of milliseconds would be more results than anybody can store.
func TestAJumpOverManyIntervalsIsHeld(t *testing.T) {
	const year = 365 * dayMillis
	r := newRig(t, generalEngine, Spec{Type: Tumbling, Size: 10 * year, Trigger: ContinuousEventTime, Interval: 1}, true, 1, countAndSum...)
	r.process(testRow{key: "a", ts: 0, value: 1})
	op, out := r.ops[0], r.outs[0]
	op.AdvanceWatermark(5 * year)
	require.Equal(t, MaxRepeats, out.Results.N)
	require.EqualValues(t, 5*year-MaxRepeats, out.Collapsed)

	// The schedule has gone on: the next millisecond fires, once.
	out.Collapsed = 0
	r.take()
	require.Len(t, r.advance(5*year+1), 1)
	require.Zero(t, out.Collapsed)

	// And the end gives its result, after the repeats of that advance.
	results := r.advance(11 * year)
	require.Len(t, results, MaxRepeats)
	last := results[len(results)-1]
	require.Equal(t, "on_time", last.timing)
	require.EqualValues(t, 2*MaxRepeats, last.firing)
	require.Zero(t, r.live())
}

// TestPurgedWindowsAreNotWalked: a window without rows has nothing to give at any interval.
func TestPurgedWindowsAreNotWalked(t *testing.T) {
	r := newRig(t, generalEngine, Spec{Type: Global, Trigger: ContinuousProcessingTime, Interval: 1, Purging: true}, true, 1, countAndSum...)
	r.clock(1)
	r.process(testRow{key: "a", ts: 0, value: 1})
	require.Len(t, r.clock(1000*365*dayMillis), 1)
	require.Zero(t, r.outs[0].Collapsed)
	require.Empty(t, r.clock(math.MaxInt64))
}

func TestTheNextAlarmIsWhenSomethingHappens(t *testing.T) {
	r := newRig(t, generalEngine, Spec{Type: Tumbling, Size: 10, ProcessingTime: true}, false, 1, countAndSum...)
	op := r.ops[0]
	require.EqualValues(t, math.MaxInt64, op.NextProcessingTime())
	r.clock(3)
	r.process(testRow{key: "a"})
	require.EqualValues(t, 10, op.NextProcessingTime())
	require.Empty(t, r.clock(9))
	require.Len(t, r.clock(10), 1)
	require.EqualValues(t, math.MaxInt64, op.NextProcessingTime())
}

// TestYearsBetweenTwoRowsCostNothing would not end in this life if empty time was walked through.
func TestYearsBetweenTwoRowsCostNothing(t *testing.T) {
	for _, spec := range []Spec{
		{Type: Tumbling, Size: 1}, {Type: Sliding, Size: 3, Slide: 1}, {Type: Session, Gap: 1}, {Type: Cumulative, Size: 4, Slide: 1},
		{Type: Tumbling, Size: 2, EarlyEvery: 1}, {Type: Tumbling, Size: 1, Lateness: 5, LateEvery: 1},
	} {
		for _, e := range engines() {
			r := newRig(t, e, spec, false, 1, countAndSum...)
			if !e.can(spec, r.layout) {
				continue
			}
			year1, year9999 := int64(-62135596800000), int64(253402300799999)
			r.process(testRow{key: "a", ts: year1}, testRow{key: "a", ts: year9999}, testRow{key: "a", ts: math.MinInt64 + 1})
			require.NotEmpty(t, r.advance(year1+100))
			require.NotEmpty(t, r.advance(batch.EndOfInput))
		}
	}
}

// An Output that the caller has swapped gets its columns again, and results of one call can follow those of another in one batch.
func TestTheOutputMayBeSwappedOrKept(t *testing.T) {
	r := newRig(t, generalEngine, Spec{Type: Tumbling, Size: 10, EarlyCount: 1}, true, 1, countAndSum...)
	out := r.outs[0]
	b := r.batch([]testRow{{key: "a", ts: 1}})
	r.keys.Compute(b, []string{"key"})
	rows := Rows{Batch: b, Index: []uint32{0}, Keys: &r.keys}
	r.ops[0].Process(rows)
	r.ops[0].Process(rows)
	require.Equal(t, 2, out.Results.N)
	first := out.Results
	out.Results = batch.Get()
	out.Segments = nil
	r.ops[0].Process(rows)
	require.Equal(t, 2, first.N)
	require.Equal(t, 1, out.Results.N)
	require.Equal(t, []Segment{{Place: 0, At: 0, End: 10, From: 0, To: 1}}, out.Segments)
	require.Equal(t, "early", cellText(out.Results, out.Results.Column(TimingColumn), 0))
}
