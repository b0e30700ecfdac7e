package window

import (
	"math"
	"slices"
)

// entry is what a key has in one window, beside the accumulators: 64 bytes, one cache line. Times at which something is due are
// watermarks: "due at t" means at the first watermark at or above t. For the clock, the watermark is the last millisecond that is over.
type entry struct {
	span     Span
	timer    int64 // the earliest timer set for it, math.MaxInt64 = none
	storedAt int64 // the time under which the last snapshot has it, when it has
	next     int64 // when the event-time schedule fires, notDue = no schedule
	count    int64 // rows since the last firing by count
	key      uint32
	gen      uint32 // counts the uses of this memory
	flags    uint32
	firings  uint32 // results so far
}

// extra is what few operators need of an entry.
type extra struct {
	lateDue     int64  // when collected late rows fire, notDue = there are none
	clock       int64  // when the schedule by the clock fires, notDue = no schedule
	alarm       int64  // the earliest timer by the clock set for it, math.MaxInt64 = none
	retractions uint32 // the first of the results that the next firing takes back, noResult = none
}

// needExtras makes room for extras in an operator that did without them.
func (s *entries) needExtras() {
	if s.hasMore {
		return
	}
	s.hasMore = true
	s.extras = make([]extra, len(s.all))
	for i := range s.extras {
		s.extras[i] = noExtra()
	}
}

func noExtra() extra {
	return extra{lateDue: notDue, clock: notDue, alarm: math.MaxInt64, retractions: noResult}
}

const notDue = math.MaxInt64

// Flags of an entry.
const (
	inUse    = 1 << iota
	filled   // has rows that were not dropped by a purge
	changed  // has rows that no firing has shown
	ended    // the end has fired, or the window was over when it began: only late rows fire
	dirty    // stands in the list of changes since the last snapshot
	isStored // the last snapshot has it
)

func (e *entry) is(flag uint32) bool { return e.flags&flag != 0 }

// entries is all entries of an operator with their accumulators: entry i has the words mem[i*words:].
type entries struct {
	all     []entry
	mem     []uint64
	words   int
	extras  []extra // as long as all, or empty where the operator needs none
	hasMore bool
	nothing extra // what extra gives then: it is only read
	free    []uint32
	live    int
}

// extra is what entry i has beside the entry itself. An operator that needs none (see general.needsExtra) never writes to it.
func (s *entries) extra(i uint32) *extra {
	if !s.hasMore {
		return &s.nothing
	}
	return &s.extras[i]
}

// add returns a fresh entry. Pointers to entries and to mem are void afterwards.
func (s *entries) add(span Span, key uint32) uint32 {
	s.live++
	var i uint32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		n := len(s.all)
		if uint64(n+1)*uint64(max(s.words, 1)) > math.MaxUint32 {
			panic("window: the state of one shard has more than four billion words; use more shards")
		}
		i = uint32(n)
		if n == cap(s.all) {
			// By half: what append would add to a slice of this size is so little that copying would be most of the work.
			s.all = slices.Grow(s.all, n/2+64)
			s.mem = slices.Grow(s.mem, cap(s.all)*s.words-len(s.mem))
		}
		s.all = s.all[:n+1]
		s.mem = s.mem[:(n+1)*s.words]
		if s.hasMore {
			s.extras = append(s.extras, extra{})
		}
	}
	e := &s.all[i]
	*e = entry{span: span, key: key, gen: e.gen, flags: inUse, timer: math.MaxInt64, next: notDue}
	if s.hasMore {
		s.extras[i] = noExtra()
	}
	return i
}

// at is where the accumulators of entry i begin.
func (s *entries) at(i uint32) uint32 { return i * uint32(s.words) }

// remove makes the memory of an entry, whose accumulators are empty, free for another.
func (s *entries) remove(i uint32) {
	e := &s.all[i]
	e.gen++
	e.flags = 0
	s.free = append(s.free, i)
	s.live--
}

// shown is a result that has been emitted and that the next firing of its window takes back.
type shown struct {
	result
	next uint32 // of the same entry, in the order in which they are taken back
}

const noResult = ^uint32(0)

// shownResults is the memory for results that can be taken back; result i has the accumulators mem[i*words:].
type shownResults struct {
	all   []shown
	mem   []uint64
	words int
	free  []uint32
}

func (s *shownResults) add(r result) uint32 {
	var i uint32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		i = uint32(len(s.all))
		s.all = append(s.all, shown{})
		s.mem = slices.Grow(s.mem, s.words)[:len(s.all)*s.words]
	}
	s.all[i] = shown{result: r, next: noResult}
	return i
}

func (s *shownResults) at(i uint32) uint32 { return i * uint32(s.words) }
