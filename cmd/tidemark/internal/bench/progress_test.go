package bench

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A run that takes records, pauses while results go on, stands still, and ends with results alone.
func TestPausesOfARun(t *testing.T) {
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var x tracker
	look := func(seconds float64, records, results int64) {
		x.look(begun.Add(time.Duration(seconds*float64(time.Second))), records, results)
	}
	look(0, 0, 0) // the start is no pause
	look(5, 0, 0)
	look(10, 100, 0)
	look(11, 200, 0)
	look(12, 200, 50) // results alone: the input pauses, the run does not stand still
	look(13, 200, 90)
	look(14, 300, 90)
	look(16, 400, 90)
	look(71, 500, 90) // in the second minute, after the longest pause and standstill
	look(73, 500, 95)
	look(200, 500, 99) // behind the last record
	require.Equal(t, Progress{
		FirstRecord: begun.Add(10 * time.Second), LastRecord: begun.Add(71 * time.Second), Pause: 55, PauseAt: 6, Standstill: 127, Minutes: []int64{400, 100},
	}, x.Progress)
}

func TestARunWithoutRecordsHasNoProgress(t *testing.T) {
	var x tracker
	x.look(time.Now(), 0, 0)
	require.Equal(t, Progress{}, x.Progress)
}

// Whoever kills the program has to know when its first record came before it ends.
func TestTheFirstRecordIsToldAtOnce(t *testing.T) {
	first := filepath.Join(t.TempDir(), "first")
	_, ok := readFirst(first)
	require.False(t, ok)
	var records atomic.Int64
	f := Follow(first, func() (int64, int64) { return records.Load(), 0 })
	records.Store(7)
	var at time.Time
	require.Eventually(t, func() bool { at, ok = readFirst(first); return ok }, time.Minute, time.Millisecond)
	records.Store(9)
	p, err := f.Stop()
	require.NoError(t, err)
	require.True(t, at.Equal(p.FirstRecord))
	require.Equal(t, []int64{9}, p.Minutes)
}
