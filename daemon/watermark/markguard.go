package watermark

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// MarkGuard is what `confirm_jump` does for watermarks that say more than the rows do: those of markers, of sources that bring their own
// time, and of anybody's assigner. It stands behind the assigner and sees the rows that a JumpGuard has let pass.
//
// A watermark at most one span ahead of its partition's time, that of the rows so far, is believed. Any other is left out, unless so many in a
// row, with no row in between, agree within one span. It is not kept for later: rows that came before it may still be held. The next one says
// as much. So a heartbeat with a wrong clock makes nothing late.
type MarkGuard struct {
	span    int64
	records int
	parts   map[uint32]*markState
	last    *markState // of lastID: rows of a partition come in a row
	lastID  uint32
}

// markState is where a partition stands.
type markState struct {
	high int64   // time of the rows, and of watermarks that have been confirmed; batch.NoTimestamp: none yet
	run  []int64 // watermarks since the last row that are not believed, the newest ones
}

// NewMarkGuard returns a guard that has seen nothing. Of the settings it uses Span and Records.
func NewMarkGuard(s JumpSettings) *MarkGuard {
	s = s.withDefaults()
	return &MarkGuard{span: s.Span, records: s.Records, parts: map[uint32]*markState{}}
}

func (g *MarkGuard) state(id uint32) *markState {
	if g.last != nil && g.lastID == id {
		return g.last
	}
	s := g.parts[id]
	if s == nil {
		s = &markState{high: batch.NoTimestamp}
		g.parts[id] = s
	}
	g.last, g.lastID = s, id
	return s
}

// near tells whether a watermark is believed. The end of input is: nobody's clock says that by mistake.
func (g *MarkGuard) near(s *markState, w int64) bool {
	return w == batch.EndOfInput || s.high != batch.NoTimestamp && w <= saturatingAdd(s.high, g.span)
}

// Apply takes the marks out of a batch that are not to be believed, and returns how many.
func (g *MarkGuard) Apply(b *batch.Batch) (left int) {
	s := g.state(b.Partition)
	if len(s.run) == 0 && g.plain(s, b.Marks) {
		s.high = max(s.high, highest(b))
		return 0
	}
	marks, out := b.Marks, b.Marks[:0]
	mark := func(before int) {
		for len(marks) > 0 && int(marks[0].After) <= before {
			if g.offer(s, marks[0].Watermark) {
				out = append(out, marks[0])
			}
			marks = marks[1:]
		}
	}
	row := func(r int) {
		mark(r)
		t := b.Times[r]
		if t == batch.NoTimestamp {
			return
		}
		s.run = s.run[:0]
		s.high = max(s.high, t)
	}
	if b.Sel != nil {
		for _, r := range b.Sel {
			row(int(r))
		}
	} else {
		for r := range b.Times {
			row(r)
		}
	}
	mark(b.N)
	left = len(b.Marks) - len(out)
	b.Marks = out
	return left
}

// plain tells whether all marks are believed whatever the rows between them are.
func (g *MarkGuard) plain(s *markState, marks []batch.Mark) bool {
	for _, m := range marks {
		if !g.near(s, m.Watermark) {
			return false
		}
	}
	return true
}

// Row takes the time of a row that is looked at by itself.
func (g *MarkGuard) Row(partition uint32, t int64) {
	if t != batch.NoTimestamp {
		s := g.state(partition)
		s.run, s.high = s.run[:0], max(s.high, t)
	}
}

// Offer takes a watermark that is looked at by itself, and reports whether it is believed.
func (g *MarkGuard) Offer(partition uint32, w int64) bool { return g.offer(g.state(partition), w) }

// Span is how far ahead of the rows a watermark is believed.
func (g *MarkGuard) Span() time.Duration { return time.Duration(g.span) * time.Millisecond }

// offer takes the next watermark and reports whether it is believed.
func (g *MarkGuard) offer(s *markState, w int64) bool {
	if g.near(s, w) {
		return true
	}
	s.run = append(s.run, w)
	if len(s.run) > g.records {
		s.run = slices.Delete(s.run, 0, 1)
	}
	if len(s.run) == g.records {
		if low, high := slices.Min(s.run), slices.Max(s.run); high <= saturatingAdd(low, g.span) {
			s.high, s.run = max(s.high, low), s.run[:0]
			return true
		}
	}
	return false
}

// Believes reports whether a watermark that belongs to no row, such as the answer to a tick, is to be believed now.
func (g *MarkGuard) Believes(partition uint32, w int64) bool { return g.near(g.state(partition), w) }

// End forgets a partition.
func (g *MarkGuard) End(partition uint32) {
	delete(g.parts, partition)
	g.last = nil
}

const markGuardVersion = 1 // 2026: high, run

// Snapshot appends what a checkpoint has to keep of a partition.
func (g *MarkGuard) Snapshot(partition uint32, out []byte) []byte {
	s := g.state(partition)
	out = binary.AppendVarint(append(out, markGuardVersion), s.high)
	out = binary.AppendUvarint(out, uint64(len(s.run)))
	for _, w := range s.run {
		out = binary.AppendVarint(out, w)
	}
	return out
}

// Restore gives a partition the state of a snapshot. On an error nothing has changed.
func (g *MarkGuard) Restore(partition uint32, snapshot []byte) error {
	r := reader{rest: snapshot}
	if r.byte() != markGuardVersion {
		r.bad = true
	}
	s := &markState{high: r.varint()}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		s.run = append(s.run, r.varint())
	}
	if err := r.end("confirm_jump"); err != nil {
		return err
	}
	g.parts[partition], g.last = s, nil
	return nil
}
