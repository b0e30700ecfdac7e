package watermark

import (
	"math"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// CodeUnconfirmedJump is the reason of rows whose jump into the future nothing has confirmed.
const CodeUnconfirmedJump = "unconfirmed_jump"

// JumpSettings configures a JumpGuard (`confirm_jump`).
type JumpSettings struct {
	Span    int64 // ms: a row further ahead of its partition's confirmed time than this is a jumper; must be positive
	Records int   // so many jumpers in a row, within one span, confirm a jump; 0: 3

	// Partitions: so many partitions whose newest rows are jumpers to about the same time confirm one, too; 0: partitions do not vouch for
	// each other. Which rows are refused can then depend on how the partitions' batches interleave; without it, on each partition's own rows alone.
	Partitions int

	Patience int // a jumper is refused after so many further rows of its partition; 0: 10,000
	MaxHeld  int // so many jumpers of a partition are held; beyond it the oldest is refused; 0: 256; at least Records
}

func (s JumpSettings) withDefaults() JumpSettings {
	if s.Records <= 0 {
		s.Records = 3
	}
	if s.Patience <= 0 {
		s.Patience = 10_000
	}
	if s.MaxHeld <= 0 {
		s.MaxHeld = 256
	}
	s.MaxHeld = max(s.MaxHeld, s.Records) // a run must fit
	return s
}

// verdict says what becomes of a row.
type verdict uint8

const (
	pass verdict = iota // it goes on, after the rows released with it
	hold                // it is kept apart
)

// jumper is a row that is kept apart.
type jumper struct {
	time  int64
	order uint64 // number of the row in its partition, as far as the guard has seen it
	row   []byte // see appendRow
}

// jumpState is the machine of one partition. It is a function of the partition's times alone:
//
//   - A row at most span ahead of high is ordinary: it passes and raises high. It ends the current run of jumpers.
//   - Any other row is a jumper and is held. When Records jumpers of a run are within one span of each other, they agree that time has
//     moved: high rises to the lowest of them. A bad clock among good ones never gets a run, however often it speaks, and clocks that are
//     wrong each in its own way do not agree.
//   - A row without a time says nothing about it: it passes, and ends no run.
//   - Whenever high rises, held rows at most span ahead of it are released, in the order of their arrival, and raise high
//     themselves. So a wrong row in the middle of a real jump stays behind alone.
//   - Before anything is confirmed every row is a jumper: the first rows confirm each other.
type jumpState struct {
	id    uint32
	high  int64 // confirmed time; batch.NoTimestamp: none yet
	next  uint64
	run   uint64 // number of the first row that can belong to the current run
	held  []jumper
	least int64 // lowest time in held
}

func (s *jumpState) ordinary(time, span int64) bool {
	return s.high != batch.NoTimestamp && time <= saturatingAdd(s.high, span)
}

// offer takes the next row. row encodes it and is called only if it has to be held. Released rows are appended to released, refused
// ones to refused.
func (s *jumpState) offer(time int64, set *JumpSettings, row func() []byte, released, refused []jumper) (verdict, []jumper, []jumper) {
	order := s.next
	s.next++
	if time == batch.NoTimestamp {
		return pass, released, refused
	}
	if s.ordinary(time, set.Span) {
		s.high = max(s.high, time)
		s.run = s.next
		if len(s.held) > 0 {
			released = s.release(set.Span, released)
			for len(s.held) > 0 && s.held[0].order+uint64(set.Patience) <= order {
				refused = s.drop(refused)
			}
		}
		return pass, released, refused
	}
	s.add(jumper{time: time, order: order})
	if level, ok := agreed(s.current(), set.Records, set.Span); ok {
		released = s.confirm(level, set.Span, released)
	}
	// If the row itself has been released, it goes on at its own place instead.
	if n := len(released); n > 0 && released[n-1].order == order {
		return pass, released[:n-1], refused
	}
	s.held[len(s.held)-1].row = row()
	for len(s.held) > set.MaxHeld {
		refused = s.drop(refused)
	}
	return hold, released, refused
}

func (s *jumpState) add(j jumper) {
	if len(s.held) == 0 || j.time < s.least {
		s.least = j.time
	}
	s.held = append(s.held, j)
}

// current is the current run: the newest held rows, as far as they are in a row.
func (s *jumpState) current() []jumper {
	i := len(s.held)
	for i > 0 && s.held[i-1].order >= s.run {
		i--
	}
	return s.held[i:]
}

// agreed returns the lowest time of so many rows of a run within one span of each other.
func agreed(run []jumper, records int, span int64) (level int64, ok bool) {
	if len(run) < records {
		return 0, false
	}
	times := make([]int64, len(run))
	for i, j := range run {
		times[i] = j.time
	}
	slices.Sort(times)
	for i := range len(times) - records + 1 {
		if times[i+records-1] <= saturatingAdd(times[i], span) {
			return times[i], true
		}
	}
	return 0, false
}

// confirm believes a time and releases what it vouches for.
func (s *jumpState) confirm(level, span int64, released []jumper) []jumper {
	s.high = max(s.high, level)
	return s.release(span, released)
}

// release takes out the held rows that have become ordinary, by their own help too, and appends them in the order of arrival.
func (s *jumpState) release(span int64, released []jumper) []jumper {
	from := len(released)
	for len(s.held) > 0 && s.ordinary(s.least, span) {
		kept := s.held[:0]
		least := int64(math.MaxInt64)
		limit := saturatingAdd(s.high, span)
		for _, j := range s.held {
			if j.time <= limit {
				s.high = max(s.high, j.time)
				released = append(released, j)
				continue
			}
			least = min(least, j.time)
			kept = append(kept, j)
		}
		clear(s.held[len(kept):])
		s.held, s.least = kept, least
	}
	slices.SortFunc(released[from:], func(a, b jumper) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	return released
}

// drop refuses the oldest held row.
func (s *jumpState) drop(refused []jumper) []jumper {
	refused = append(refused, s.held[0])
	s.held = slices.Delete(s.held, 0, 1)
	s.least = math.MaxInt64
	for _, j := range s.held {
		s.least = min(s.least, j.time)
	}
	return refused
}

// end is the end of the partition: what is still held never gets company. If nothing was ever confirmed, the rows vouch for
// each other, from the lowest up.
func (s *jumpState) end(span int64, released, refused []jumper) ([]jumper, []jumper) {
	if s.high == batch.NoTimestamp && len(s.held) > 0 {
		s.high = s.least
		released = s.release(span, released)
	}
	refused = append(refused, s.held...)
	s.held = nil
	return released, refused
}
