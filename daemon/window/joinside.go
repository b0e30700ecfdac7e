package window

import (
	"sort"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// joinSide is the buffered rows of one input.
type joinSide struct {
	columns []JoinColumn
	keep    int64 // how long after its time a row is kept

	table   keyTable
	lists   lists // the rows of a key, ascending by (time, arrival)
	rows    []joinRow
	free    []uint32
	blobs   blobs
	timers  timers
	changes []uint32
	live    int

	source []*batch.Column // of the current batch
}

// joinRow is a buffered row.
type joinRow struct {
	ts      int64
	arrival uint64
	cells   blob
	key     uint32
	gen     uint32
	flags   uint32 // inUse, dirty, isStored
}

// add buffers a row.
func (s *joinSide) add(ts int64, arrival, hash uint64, tag uint8, key, cells []byte) uint32 {
	k := s.table.find(hash, tag, key)
	if k == noKey {
		k = s.table.add(hash, tag, key)
	}
	var i uint32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		i = uint32(len(s.rows))
		s.rows = append(s.rows, joinRow{})
	}
	r := &s.rows[i]
	*r = joinRow{ts: ts, arrival: arrival, cells: s.blobs.put(cells), key: k, gen: r.gen, flags: inUse | dirty}
	s.changes = append(s.changes, i)
	s.live++
	l := &s.table.records[k].windows
	s.lists.insert(l, s.placeOf(l, ts, arrival), i)
	s.timers.push(addSaturating(ts, s.keep), i, r.gen)
	return i
}

// placeOf is where a row stands, or belongs, in its key's list.
func (s *joinSide) placeOf(l *windowList, ts int64, arrival uint64) int {
	list := s.lists.all(l)
	n := len(list)
	if n == 0 || s.before(list[n-1], ts, arrival) {
		return n
	}
	return sort.Search(n, func(k int) bool { return !s.before(list[k], ts, arrival) })
}

func (s *joinSide) before(i uint32, ts int64, arrival uint64) bool {
	r := &s.rows[i]
	return r.ts < ts || r.ts == ts && r.arrival < arrival
}

// between is the rows of a key with times from low to high, both included.
func (s *joinSide) between(key uint32, low, high int64) []uint32 {
	l := &s.table.records[key].windows
	list := s.lists.all(l)
	from := sort.Search(len(list), func(k int) bool { return s.rows[list[k]].ts >= low })
	to := from + sort.Search(len(list)-from, func(k int) bool { return s.rows[list[from+k]].ts > high })
	return list[from:to]
}

func (s *joinSide) remove(i uint32) {
	r := &s.rows[i]
	l := &s.table.records[r.key].windows
	s.lists.remove(l, s.placeOf(l, r.ts, r.arrival))
	if l.n == 0 {
		s.table.remove(r.key)
	}
	s.blobs.remove(r.cells)
	r.gen++
	r.flags = 0
	s.free = append(s.free, i)
	s.live--
}
