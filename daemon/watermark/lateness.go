package watermark

import (
	"math"
	"math/bits"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Lateness remembers how far rows come behind the highest time that their partition has shown before them, and answers what a bound
// on out-of-orderness would lose. It has constant memory (8 KB and a number a partition), and sketches of several sources merge.
//
// The answers are exact below 32 ms and within a sixteenth above, always rounded to the pessimistic side.
type Lateness struct {
	rows    uint64
	behind  [latenessBuckets]uint64 // rows by their delay; rows in order are not in it
	longest uint64

	highs    map[uint32]int64
	lastID   uint32
	lastHigh int64
}

// Delays below 32 ms have a bucket each; above, each power of two has sixteen.
const (
	latenessFine    = 32
	latenessBuckets = latenessFine + (64-5)*16
)

// NewLateness returns an empty sketch.
func NewLateness() *Lateness {
	return &Lateness{highs: map[uint32]int64{}, lastHigh: batch.NoTimestamp}
}

// Observe takes in the times of the selected rows of a batch (sel nil: all), in their order. Rows without a time are left out. It
// does not allocate.
func (l *Lateness) Observe(partition uint32, times []int64, sel []uint32) {
	if partition != l.lastID || l.lastHigh == batch.NoTimestamp {
		l.change(partition)
	}
	high, rows := l.lastHigh, uint64(0)
	if sel != nil {
		for _, row := range sel {
			if t := times[row]; t != batch.NoTimestamp {
				rows++
				if t >= high {
					high = t
				} else {
					l.add(uint64(high) - uint64(t))
				}
			}
		}
	} else {
		for _, t := range times {
			switch {
			case t == batch.NoTimestamp:
			case t >= high:
				rows++
				high = t
			default:
				rows++
				l.add(uint64(high) - uint64(t))
			}
		}
	}
	l.lastHigh = high
	l.rows += rows
}

// Forget drops what is known of a partition that has ended.
func (l *Lateness) Forget(partition uint32) {
	delete(l.highs, partition)
	if l.lastID == partition {
		l.lastHigh = batch.NoTimestamp
	}
}

// change puts the highest time of the current partition away and takes out that of another.
func (l *Lateness) change(partition uint32) {
	if l.lastHigh != batch.NoTimestamp {
		l.highs[l.lastID] = l.lastHigh
	}
	high, ok := l.highs[partition]
	if !ok {
		high = batch.NoTimestamp
	}
	l.lastID, l.lastHigh = partition, high
}

// End forgets the highest time of a partition that has ended; what was counted stays.
func (l *Lateness) End(partition uint32) {
	if partition == l.lastID {
		l.lastHigh = batch.NoTimestamp
	}
	delete(l.highs, partition)
}

func (l *Lateness) add(delay uint64) {
	l.behind[latenessBucket(delay)]++
	if delay > l.longest {
		l.longest = delay
	}
}

func latenessBucket(delay uint64) int {
	if delay < latenessFine {
		return int(delay)
	}
	exponent := bits.Len64(delay) - 1
	return latenessFine + (exponent-5)*16 + int(delay>>(exponent-4)&15)
}

// latenessTop is the longest delay that falls into a bucket.
func latenessTop(bucket int) uint64 {
	if bucket < latenessFine {
		return uint64(bucket)
	}
	exponent, part := (bucket-latenessFine)/16+5, uint64(bucket-latenessFine)%16
	return (17+part)<<(exponent-4) - 1
}

// Merge adds what other has counted.
func (l *Lateness) Merge(other *Lateness) {
	l.rows += other.rows
	l.longest = max(l.longest, other.longest)
	for i, n := range other.behind {
		l.behind[i] += n
	}
}

// Rows is the number of rows seen.
func (l *Lateness) Rows() uint64 { return l.rows }

// Longest is the longest delay seen: a bound of that length loses nothing.
func (l *Lateness) Longest() time.Duration {
	if l.longest > math.MaxInt64/uint64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(l.longest) * time.Millisecond
}

// Lost is the number of rows that come more than bound behind, at most; a window that is still open takes some of them all the same.
func (l *Lateness) Lost(bound time.Duration) uint64 {
	ms := uint64(max(bound.Milliseconds(), 0))
	if ms >= l.longest {
		return 0
	}
	lost := uint64(0)
	for i := latenessBucket(ms); i < latenessBuckets; i++ {
		if latenessTop(i) > ms {
			lost += l.behind[i]
		}
	}
	return lost
}

// Advice says what a bound loses.
type Advice struct {
	Bound time.Duration `json:"bound_ns"`
	Lost  uint64        `json:"lost"`  // rows behind the watermark with that bound, at most
	Share float64       `json:"share"` // of all rows, 0 to 1
}

// Advise answers for the bound in use, and proposes the shortest round bounds that lose at most 1 %, 0.1 %, 0.01 % and nothing. The
// answers are ordered by bound, each bound once.
func (l *Lateness) Advise(inUse time.Duration) []Advice {
	if l.rows == 0 {
		return nil
	}
	bounds := []time.Duration{inUse}
	for _, share := range [...]float64{0.01, 0.001, 0.0001, 0} {
		allowed := uint64(share * float64(l.rows))
		for _, b := range roundBounds {
			if l.Lost(b) <= allowed {
				bounds = append(bounds, b)
				break
			}
		}
	}
	var out []Advice
	for len(bounds) > 0 {
		least := 0
		for i := range bounds {
			if bounds[i] < bounds[least] {
				least = i
			}
		}
		b := bounds[least]
		bounds = append(bounds[:least], bounds[least+1:]...)
		if len(out) > 0 && out[len(out)-1].Bound == b {
			continue
		}
		lost := l.Lost(b)
		out = append(out, Advice{Bound: b, Lost: lost, Share: float64(lost) / float64(l.rows)})
	}
	return out
}

const day = 24 * time.Hour

// roundBounds are lengths of time that a person would write.
var roundBounds = [...]time.Duration{
	0, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 3 * day, 7 * day, 14 * day, 30 * day, 90 * day, 365 * day,
}
