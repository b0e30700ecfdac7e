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
		name string
		live int64
		want int
	}{
		{"nothing yet", 0, 3200},
		{"batches only: 32 MB of garbage", 8 * mb, 400},
		{"from there on as Go has it", 32 * mb, 100},
		{"as much again", 100 * mb, 100},
		{"windows: 128 MB of garbage", 512 * mb, 25},
		{"large windows: a fifth", 5 << 30, 20},
	} {
		require.Equal(t, c.want, percent(c.live), c.name)
	}
}

// TestTheRoomFollowsTheHeap: with 400 MB alive less than half as much garbage is let be, and more again when they are gone.
func TestTheRoomFollowsTheHeap(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("GOGC is set, which is left alone")
	}
	told := make(chan int, 100)
	k := &keeper{before: debug.SetGCPercent(100), current: 100, told: func(p int) {
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
	alive := make([]byte, 400<<20)
	until(func(p int) bool { return p < 50 })
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
