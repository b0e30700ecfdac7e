package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPercent(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name   string
		live   int64
		factor float64
		want   int
	}{
		{"nothing yet", 0, 1, 3200},
		{"batches only: 32 MB of garbage", 8 * mb, 1, 400},
		{"from there on as Go has it", 32 * mb, 1, 100},
		{"as much again", 64 * mb, 1, 100},
		{"windows: 64 MB of garbage", 256 * mb, 1, 25},
		{"large windows: an eighth", 5 << 30, 1, 12},
		{"collections are dear", 256 * mb, 4, 100},
	} {
		require.Equal(t, c.want, percent(c.live, c.factor), c.name)
	}
}

// TestDearCollectionsBecomeRare: a heap whose collections take a tenth of the processor at first, and the less the more room there is.
func TestDearCollectionsBecomeRare(t *testing.T) {
	factor := 1.0
	for range 20 {
		factor = next(factor, 0.1/factor)
	}
	require.InDelta(t, 5, factor, 1.5)
	for range 20 {
		factor = next(factor, 0.5)
	}
	require.EqualValues(t, mostFactor, factor)
	for range 20 {
		factor = next(factor, 0.001)
	}
	require.EqualValues(t, 1, factor)
}

// TestTheRoomFollowsTheHeap: with 1 GB alive less than as much garbage is let be, however dear collections are, and more again when it is gone.
func TestTheRoomFollowsTheHeap(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("GOGC is set, which is left alone")
	}
	told := make(chan int, 100)
	k := &keeper{before: debug.SetGCPercent(100), current: 100, factor: 1, told: func(p int) {
		select {
		case told <- p:
		default:
		}
	}}
	defer k.stop()
	k.watch()
	until := func(right func(percent int) bool) {
		for {
			runtime.GC()
			if right(<-told) {
				return
			}
		}
	}
	alive := make([]byte, 1<<30)
	until(func(p int) bool { return p < 100 })
	runtime.KeepAlive(alive)
	alive = nil
	until(func(p int) bool { return p >= 100 })
}

func TestWhatWasThereIsPutBack(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("GOGC is set, which is left alone")
	}
	limit := debug.SetMemoryLimit(-1)
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	stop := Keep(3 << 30)
	require.EqualValues(t, 3<<30, debug.SetMemoryLimit(-1))
	stop()
	require.Equal(t, limit, debug.SetMemoryLimit(-1))
	require.Equal(t, 77, debug.SetGCPercent(77))

	t.Setenv("GOGC", "50") // somebody has decided
	stop = Keep(0)
	require.Equal(t, 77, debug.SetGCPercent(77))
	stop()
	require.Equal(t, 77, debug.SetGCPercent(77))
}
