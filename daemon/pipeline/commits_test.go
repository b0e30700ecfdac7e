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
	s.add(100, 2*time.Millisecond, 8*time.Millisecond)
	s.add(50, 5*time.Millisecond, 1*time.Millisecond)
	s.add(1, 0, 100*time.Millisecond)
	got := s.summary()
	require.InDelta(t, 10, got.P50, 0.7)
	got.P50 = 0
	require.Equal(t, CheckpointSummary{Count: 3, Bytes: 151, Max: 100, Barriers: 5}, got)
}
