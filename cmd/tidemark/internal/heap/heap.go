// Package heap decides how much garbage the process may hold beside what lives.
//
// Go's rule (GOGC=100) is as much again. That is a lot where windows take most of the heap: their tables hold no pointers, so that collecting twice as
// often costs next to nothing and saves a third of the process. And it is little where nothing but batches lives: 10 MB are full of garbage
// every few milliseconds. So the room for garbage is bounded on both sides; and where collections take more of the processor than they should, because
// what lives is full of pointers, it grows until they do not.
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
	leastRoom = 32 << 20 // bytes of garbage that are never worth a collection
	mostRoom  = 64 << 20 // bytes of garbage that always are,
	leastPart = 8        // unless what lives is more than so many times that

	muchTime   = 0.02 // share of the processor time that collections should not take
	littleTime = 0.01 // share that shows that they could be more frequent
	mostFactor = 8    // how far the room grows
)

// percent is GOGC for a heap of which so many bytes live, where the room is factor times what is usual.
func percent(live int64, factor float64) int {
	live = max(live, 1<<20)
	room := max(live/leastPart, min(max(live, leastRoom), mostRoom))
	return int(factor * float64(room*100/live))
}

// next is the factor after a time in which collections took a share of the processor.
func next(factor, share float64) float64 {
	switch {
	case share > muchTime:
		return min(factor*1.5, mostFactor)
	case share < littleTime:
		return max(factor/1.25, 1)
	}
	return factor
}

// Keep sets Go's soft limit, if limit is not 0 (bytes), and adapts GOGC to the heap after each collection, until stop is called, which puts back what was
// there. One may be kept at a time.
func Keep(limit int64) (stop func()) {
	before := int64(math.MinInt64)
	if limit > 0 {
		before = debug.SetMemoryLimit(limit)
	}
	k := &keeper{factor: 1}
	if os.Getenv("GOGC") == "" {
		k.current = percent(0, 1)
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
	factor  float64
	gc, all float64           // seconds of processor time at the last collection
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
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"},
	}
	metrics.Read(samples)
	seconds := func(i int) float64 { return samples[i].Value.Float64() }
	gc, all := seconds(1)-seconds(2), seconds(3)-seconds(4)-seconds(2) // collecting with a processor that has nothing else to do costs nobody
	if all > k.all {
		k.factor = next(k.factor, (gc-k.gc)/(all-k.all))
	}
	k.gc, k.all = gc, all
	// The world stops for it, though shortly: small changes are left alone.
	if p := percent(int64(samples[0].Value.Uint64()), k.factor); p > k.current+k.current/8 || p < k.current-k.current/8 {
		debug.SetGCPercent(p)
		k.current = p
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
