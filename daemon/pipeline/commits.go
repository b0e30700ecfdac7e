package pipeline

import (
	"math/bits"
	"sync"
	"time"
)

// CheckpointSummary says what the checkpoints so far were like. Milliseconds run from the order for a barrier to the end of the commit, while
// which processing goes on; the median is exact to 6 %.
type CheckpointSummary struct {
	Count    int64   `json:"count"`
	Bytes    int64   `json:"bytes"` // written by all of them
	P50      float64 `json:"p50_ms"`
	Max      float64 `json:"max_ms"`
	Barriers float64 `json:"barriers_max_ms"` // the longest that a barrier was on its way
	Last     *Commit `json:"last,omitempty"`  // nil: there was none yet
	From     *Commit `json:"from,omitempty"`  // that an earlier run has left, and this one went on from; nil: it began anew
}

// Commit is a commit of a pipeline's state.
type Commit struct {
	Number uint64    `json:"number"` // from 1 on, over all runs on the same state
	At     time.Time `json:"at"`
}

// commitStats gathers what a CheckpointSummary says, over all attempts. Any goroutine may read it.
type commitStats struct {
	mu       sync.Mutex
	count    int64
	bytes    int64
	barriers time.Duration
	newest   Commit
	from     *Commit
	sum      time.Duration
	took     durations
}

func (s *commitStats) add(c Commit, bytes int64, barriers, commit time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.bytes += bytes
	s.newest, s.sum = c, s.sum+barriers+commit
	s.barriers = max(s.barriers, barriers)
	s.took.add(barriers + commit)
}

func (s *commitStats) summary() CheckpointSummary {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := CheckpointSummary{
		From: s.from, Count: s.count, Bytes: s.bytes, P50: millis(s.took.quantile(0.5)), Max: millis(s.took.longest), Barriers: millis(s.barriers),
	}
	if c := s.newest; c.Number > 0 {
		out.Last = &c
	}
	return out
}

// resume notes the commit that an attempt goes on from.
func (s *commitStats) resume(c Commit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Number == 0 {
		return
	}
	s.newest = c
	if s.count == 0 && s.from == nil { // not this run's own
		s.from = &c
	}
}

func (s *commitStats) last() Commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// timeBounds are the bounds of a CommitTimes, in seconds.
var timeBounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

func (s *commitStats) times() CommitTimes {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := CommitTimes{Count: s.count, Sum: s.sum, Bounds: timeBounds, Within: make([]uint64, len(timeBounds))}
	for i, n := range s.took.buckets {
		at := middle(i).Seconds()
		for k, bound := range timeBounds {
			if at <= bound {
				out.Within[k] += uint64(n)
			}
		}
	}
	return out
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// durations counts durations in buckets, eight for each doubling from a microsecond on.
type durations struct {
	buckets [8 * 40]int64
	n       int64
	longest time.Duration
}

func (d *durations) add(t time.Duration) {
	d.buckets[bucketOf(t)]++
	d.n++
	d.longest = max(d.longest, t)
}

func bucketOf(t time.Duration) int {
	us := uint64(max(t.Microseconds(), 0))
	if us < 8 {
		return int(us)
	}
	shift := bits.Len64(us) - 4 // the four highest bits stay
	return min(8*shift+int(us>>shift), len(durations{}.buckets)-1)
}

// middle is the middle of a bucket.
func middle(i int) time.Duration {
	if i < 16 {
		return time.Duration(i) * time.Microsecond
	}
	shift := i/8 - 1
	low := uint64(i-8*shift) << shift
	return time.Duration(low+1<<shift/2) * time.Microsecond
}

// quantile is exact to a sixteenth; the highest one is exact.
func (d *durations) quantile(q float64) time.Duration {
	rank := int64(q * float64(d.n))
	for i, n := range d.buckets {
		if rank -= n; rank < 0 {
			return min(middle(i), d.longest)
		}
	}
	return d.longest
}
