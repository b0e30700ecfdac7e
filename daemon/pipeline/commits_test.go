package pipeline

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestQuantilesOfDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 50).Draw(t, "us")
		var d durations
		for _, us := range all {
			d.add(time.Duration(us) * time.Microsecond)
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.5, 0.9} {
			want := all[int(q*float64(len(all)))]
			require.InDelta(t, float64(want), float64(d.quantile(q).Microseconds()), float64(want)/16+1)
		}
		require.Equal(t, all[len(all)-1], d.quantile(1).Microseconds())
	})
	var none durations
	require.Zero(t, none.quantile(0.5))
}

func TestCheckpointsAreSummedUp(t *testing.T) {
	var s commitStats
	s.add(Commit{Number: 7}, 100, 2*time.Millisecond, 8*time.Millisecond)
	s.add(Commit{Number: 7}, 50, 5*time.Millisecond, 1*time.Millisecond)
	s.add(Commit{Number: 7}, 1, 0, 100*time.Millisecond)
	got := s.summary()
	require.InDelta(t, 10, got.P50, 0.7)
	got.P50 = 0
	require.Equal(t, CheckpointSummary{Count: 3, Bytes: 151, Max: 100, Barriers: 5, Last: &Commit{Number: 7}}, got)
}

func TestCommitTimesAreAHistogram(t *testing.T) {
	var s commitStats
	s.resume(Commit{Number: 3})
	require.EqualValues(t, 3, s.last().Number, "there was one before this run")
	for _, d := range []time.Duration{500 * time.Microsecond, 30 * time.Millisecond, 20 * time.Second} {
		s.add(Commit{Number: s.last().Number + 1}, 1, 0, d)
	}
	got := s.times()
	require.EqualValues(t, 3, got.Count)
	require.Equal(t, 20*time.Second+30*time.Millisecond+500*time.Microsecond, got.Sum)
	require.EqualValues(t, 1, got.Within[0], "a millisecond at most")
	require.EqualValues(t, 2, got.Within[len(got.Within)-1], "ten seconds at most")
	require.EqualValues(t, 6, s.last().Number)
}
