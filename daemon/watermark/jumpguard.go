package watermark

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// JumpGuard holds rows that are suspiciously far ahead apart until others confirm that time has moved on (see jumpState), so that one
// wrong timestamp in a replay does not make everything after it late. It looks at Times before the assigner does, so no
// assigner can be misled.
//
// Rows that are held are in flight: they are part of Snapshot and of Held, and come out later as ordinary or as refused rows.
type JumpGuard struct {
	settings JumpSettings
	parts    []*jumpState // few are searched; a source has one lane of batches at a time
	last     *jumpState
	source   uint32 // number of the source, for rebuilt batches

	released, refused []jumper
}

// NewJumpGuard returns a guard that has seen nothing. Span must be positive.
func NewJumpGuard(s JumpSettings) *JumpGuard {
	return &JumpGuard{settings: s.withDefaults()}
}

// Apply takes over b and appends the batches to go on with to out, in order; the caller owns them. Mostly that is b itself. Held rows
// are dead in it. When rows held earlier are released, they come as batches of their own at the place where that was decided,
// and b is cut there; only the last part of b has its Position. Refused rows are the Bad ones of batches without alive rows.
func (g *JumpGuard) Apply(b *batch.Batch, out []*batch.Batch) []*batch.Batch {
	g.source = b.Source
	s := g.state(b.Partition)
	if high := highest(b); len(s.held) == 0 && s.ordinary(high, g.settings.Span) {
		n := uint64(b.Alive())
		s.next += n
		s.run = s.next
		s.high = max(s.high, high)
		return append(out, b)
	}

	type release struct {
		at   int // before this row
		rows []jumper
		of   uint32
	}
	var releases []release
	g.refused = g.refused[:0]
	alive := b.Select()
	kept := alive[:0]
	for _, row := range alive {
		t := b.Times[row]
		var v verdict
		v, g.released, g.refused = s.offer(t, &g.settings, func() []byte { return appendRow(nil, b, int(row)) }, g.released[:0], g.refused)
		if len(g.released) > 0 {
			releases = append(releases, release{int(row), slices.Clone(g.released), b.Partition})
		}
		if v == hold {
			for _, a := range g.agreeing(s, t) {
				q := a.state
				if rows := q.confirm(a.level, g.settings.Span, nil); len(rows) > 0 {
					if n := len(rows); q == s && rows[n-1].order == s.next-1 {
						rows, v = rows[:n-1], pass
					}
					if len(rows) > 0 {
						releases = append(releases, release{int(row), rows, q.id})
					}
				}
			}
		}
		if v == pass {
			kept = append(kept, row)
			continue
		}
		// NB: a held row keeps its number in b, dead and without time.
		b.Times[row] = batch.NoTimestamp
	}
	b.Sel = kept

	if len(releases) == 0 {
		out = append(out, b)
	} else {
		from := 0
		for _, r := range releases {
			if r.at > from {
				out = append(out, cut(b, from, r.at))
				from = r.at
			}
			out = rebuild(g.source, r.of, r.rows, out)
		}
		out = append(out, cut(b, from, b.N))
		b.Release()
	}
	return g.refuse(b.Partition, out)
}

// End says that a partition has ended: its held rows come out, most of them refused.
func (g *JumpGuard) End(partition uint32, out []*batch.Batch) []*batch.Batch {
	i := slices.IndexFunc(g.parts, func(s *jumpState) bool { return s.id == partition })
	if i < 0 {
		return out
	}
	s := g.parts[i]
	g.released, g.refused = s.end(g.settings.Span, g.released[:0], g.refused[:0])
	g.parts, g.last = slices.Delete(g.parts, i, i+1), nil
	out = rebuild(g.source, partition, g.released, out)
	return g.refuse(partition, out)
}

// EndAll is End for every partition, in the order in which they appeared.
func (g *JumpGuard) EndAll(out []*batch.Batch) []*batch.Batch {
	for len(g.parts) > 0 {
		out = g.End(g.parts[0].id, out)
	}
	return out
}

// Held is the number of rows that are kept apart.
func (g *JumpGuard) Held() int {
	n := 0
	for _, s := range g.parts {
		n += len(s.held)
	}
	return n
}

// refuse appends the rows of g.refused as batches in which they are Bad.
func (g *JumpGuard) refuse(partition uint32, out []*batch.Batch) []*batch.Batch {
	from := len(out)
	out = rebuild(g.source, partition, g.refused, out)
	for _, b := range out[from:] {
		for row := range b.N {
			b.Refuse(row, CodeUnconfirmedJump, fmt.Sprintf("timestamp %s is more than confirm_jump (%s) ahead of what came before, and nothing confirmed it",
				FormatTime(b.Times[row]), time.Duration(g.settings.Span)*time.Millisecond))
			b.Times[row] = batch.NoTimestamp
		}
		b.Narrow(0)
	}
	return out
}

// vote is a partition that stands before a jump, and the lowest time it says.
type vote struct {
	state *jumpState
	level int64
}

// agreeing returns the partitions that stand before a jump to about the same time as t, that of the newest row of s, or nothing if they are too
// few. A partition that has not begun confirms itself and nobody else.
func (g *JumpGuard) agreeing(s *jumpState, t int64) []vote {
	if g.settings.Partitions <= 0 || s.high == batch.NoTimestamp {
		return nil
	}
	span := g.settings.Span
	var list []vote
	for _, q := range g.parts {
		if q.high == batch.NoTimestamp {
			continue
		}
		level := int64(math.MaxInt64)
		for _, j := range q.current() {
			if j.time <= saturatingAdd(t, span) && t <= saturatingAdd(j.time, span) {
				level = min(level, j.time)
			}
		}
		if level != math.MaxInt64 {
			list = append(list, vote{q, level})
		}
	}
	if len(list) < g.settings.Partitions {
		return nil
	}
	return list
}

func (g *JumpGuard) state(id uint32) *jumpState {
	if g.last != nil && g.last.id == id {
		return g.last
	}
	for _, s := range g.parts {
		if s.id == id {
			g.last = s
			return s
		}
	}
	g.last = &jumpState{id: id, high: batch.NoTimestamp}
	g.parts = append(g.parts, g.last)
	return g.last
}

const jumpVersion = 1 // 2026: per partition id, high, counters, held rows

// Snapshot appends what a checkpoint has to keep: each partition's confirmed time and its held rows, with their columns.
func (g *JumpGuard) Snapshot(out []byte) []byte {
	out = append(out, jumpVersion)
	out = binary.AppendUvarint(out, uint64(len(g.parts)))
	for _, s := range g.parts {
		out = binary.AppendUvarint(out, uint64(s.id))
		out = binary.AppendVarint(out, s.high)
		out = binary.AppendUvarint(out, s.next)
		out = binary.AppendUvarint(out, s.run)
		out = binary.AppendUvarint(out, uint64(len(s.held)))
		for _, j := range s.held {
			out = binary.AppendVarint(out, j.time)
			out = binary.AppendUvarint(out, j.order)
			out = appendBytes(out, j.row)
		}
	}
	return out
}

// Restore replaces everything by a snapshot. On an error nothing has changed. The held rows have the columns of the time when they were
// held; a pipeline that projects others starts without this snapshot.
func (g *JumpGuard) Restore(snapshot []byte) error {
	r := reader{rest: snapshot}
	if r.byte() != jumpVersion {
		r.bad = true
	}
	var parts []*jumpState
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		s := &jumpState{id: uint32(r.uvarint()), high: r.varint(), next: r.uvarint(), run: r.uvarint()}
		for k := r.uvarint(); k > 0 && !r.bad; k-- {
			j := jumper{time: r.varint(), order: r.uvarint()}
			j.row = slices.Clone(r.bytes())
			if _, err := readRow(j.row); err != nil {
				r.bad = true
			}
			s.add(j)
		}
		parts = append(parts, s)
	}
	if err := r.end("confirm_jump"); err != nil {
		return err
	}
	g.parts, g.last = parts, nil
	return nil
}

// Renumber gives the partitions of a restored snapshot the numbers that they have in this run; number returns false for a partition that
// will not come back, whose held rows come out with EndAll. Call it right after Restore. Partitions that another one has taken the
// number of must be renumbered, too.
func (g *JumpGuard) Renumber(number func(stored uint32) (uint32, bool)) {
	gone := uint32(math.MaxUint32)
	for _, s := range g.parts {
		if id, ok := number(s.id); ok {
			s.id = id
			continue
		}
		s.id = gone
		gone--
	}
	g.last = nil
}
