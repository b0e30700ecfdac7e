// Package heap decides how much garbage the process may hold beside what lives.
//
// Go's rule (GOGC=100) is as much again. That is a lot where windows take most of the heap: their tables hold no pointers, so that collecting twice as
// often costs next to nothing and saves a third of the process. And it is little where nothing but batches lives: 10 MB are full of garbage
// every few milliseconds. So the room for garbage is bounded on both sides.
//
// Whoever sets GOGC decides it himself. A limit (GOMEMLIMIT, or the daemon's `memory`) holds in any case: near it Go collects as often as is needed.
package heap

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	leastRoom = 32 << 20  // bytes of garbage that are never worth a collection
	mostRoom  = 128 << 20 // bytes of garbage that always are,
	leastPart = 5         // unless what lives is more than so many times that
)

// percent is GOGC for a heap of which so many bytes live.
func percent(live int64) int {
	live = max(live, 1<<20)
	room := max(live/leastPart, min(max(live, leastRoom), mostRoom))
	return int(room * 100 / live)
}

// Keep sets Go's soft limit, if limit is not 0 (bytes), and adapts GOGC to the heap after each collection, until stop is called, which puts back what was
// there. One may be kept at a time.
func Keep(limit int64) (stop func()) {
	before := int64(math.MinInt64)
	if limit > 0 {
		before = debug.SetMemoryLimit(limit)
	}
	k := &keeper{}
	if os.Getenv("GOGC") == "" {
		k.current = percent(0)
		k.before = debug.SetGCPercent(k.current)
		k.watch()
	}
	return func() {
		if before != math.MinInt64 {
			debug.SetMemoryLimit(before)
		}
		k.stop()
	}
}

// keeper follows the collections.
type keeper struct {
	mu      sync.Mutex
	stopped bool
	before  int // percent; 0: it is not ours
	current int
	told    func(percent int) // of each collection, for tests; or nil
}

// sentinel is garbage at once: it is gone after the next collection. (It has a pointer, since several tiny objects without live and die together.)
type sentinel struct{ _ *keeper }

// watch has adapt called after the next collection.
func (k *keeper) watch() { runtime.AddCleanup(new(sentinel), (*keeper).adapt, k) }

func (k *keeper) adapt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() == metrics.KindUint64 {
		// The world stops for it, though shortly: small changes are left alone.
		if p := percent(int64(sample[0].Value.Uint64())); p > k.current+k.current/8 || p < k.current-k.current/8 {
			debug.SetGCPercent(p)
			k.current = p
		}
	}
	if k.told != nil {
		k.told(k.current)
	}
	k.watch()
}

func (k *keeper) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	if k.before != 0 {
		debug.SetGCPercent(k.before)
	}
}
