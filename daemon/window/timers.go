package window

import (
	"math"
	"math/bits"
)

// timer is a moment at which an entry may have something to do.
type timer struct {
	at    uint64 // the moment, moved so that unsigned order is the order of time
	entry uint32
	gen   uint32 // the entry's generation when the timer was set; a later one has reused the memory
}

// timers is a queue of timers: a radix heap. Time only moves forward, and that makes a heap of buckets possible whose operations
// touch memory in order: bucket k holds the timers whose time differs from floor in bit k-1 and in none above. Moving floor on
// empties the low buckets, which are all due, and spreads exactly one over lower ones; a timer moves at most once for each bit of its
// distance. How much time passes does not matter, only how many timers are due.
//
// Deletion is lazy: whoever takes a timer compares it with its entry.
type timers struct {
	buckets [65][]timer
	lowest  [65]uint64 // lowest time in each bucket, where it is not empty
	floor   uint64     // no timer is below it
	low     uint64     // no timer is below it, and one is at it, unless the queue is empty
}

const noTimer = math.MaxUint64

func newTimers() timers { return timers{low: noTimer} }

func ordered(t int64) uint64 { return uint64(t) ^ 1<<63 }

// push sets a timer. One that lies in the past is due with the next advance.
func (q *timers) push(at int64, entry, gen uint32) {
	q.put(timer{max(ordered(at), q.floor), entry, gen})
}

func (q *timers) put(t timer) {
	k := bits.Len64(t.at ^ q.floor)
	if len(q.buckets[k]) == 0 || t.at < q.lowest[k] {
		q.lowest[k] = t.at
	}
	q.buckets[k] = append(q.buckets[k], t)
	q.low = min(q.low, t.at)
}

// isDue says whether an advance to now would find any timer.
func (q *timers) isDue(now int64) bool {
	return q.low <= ordered(now) && q.low != noTimer || now == math.MaxInt64
}

// take appends to dst all timers at or before now, in no order, and removes them.
func (q *timers) take(now int64, dst []timer) []timer {
	if now == math.MaxInt64 {
		for k := range q.buckets {
			dst = append(dst, q.buckets[k]...)
			q.buckets[k] = q.buckets[k][:0]
		}
		q.floor, q.low = math.MaxUint64, noTimer
		return dst
	}
	floor := ordered(now) + 1
	if floor <= q.floor {
		return dst
	}
	split := bits.Len64(floor ^ q.floor)
	q.floor = floor
	for k := range split {
		dst = append(dst, q.buckets[k]...)
		q.buckets[k] = q.buckets[k][:0]
	}
	mixed := q.buckets[split]
	q.buckets[split] = mixed[:0]
	for _, t := range mixed {
		if t.at < floor {
			dst = append(dst, t)
		} else {
			q.put(t) // into a lower bucket, never behind the read position of this one
		}
	}
	q.low = noTimer
	for k := range q.buckets {
		if len(q.buckets[k]) > 0 {
			q.low = q.lowest[k]
			break
		}
	}
	return dst
}

// next is the time of the earliest timer, which may be one that its entry no longer needs; math.MaxInt64 is none.
func (q *timers) next() int64 {
	if q.low == noTimer {
		return math.MaxInt64
	}
	return int64(q.low ^ 1<<63)
}

// size is the number of timers, those that nobody needs any more included.
func (q *timers) size() int {
	n := 0
	for k := range q.buckets {
		n += len(q.buckets[k])
	}
	return n
}

// prune removes the timers that needed says no of.
func (q *timers) prune(needed func(timer) bool) {
	q.low = noTimer
	for k := range q.buckets {
		kept := q.buckets[k][:0]
		low := uint64(noTimer)
		for _, t := range q.buckets[k] {
			if needed(t) {
				kept = append(kept, t)
				low = min(low, t.at)
			}
		}
		q.buckets[k], q.lowest[k] = kept, low
		q.low = min(q.low, low)
	}
}
