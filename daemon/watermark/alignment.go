package watermark

import (
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Alignment keeps the sources (or partitions) of a group from running ahead of each other (`max_drift`, semantics section 6).
// Members report their watermarks; the ceiling is the lowest report plus the drift, and a member above it has to wait. Waiting is
// being held: the member's idleness clock stands, and a stop never waits for it.
type Alignment struct {
	maxDrift int64
	members  []member
}

type member struct {
	id        uint32
	idle      bool
	watermark int64
}

// NewAlignment returns an empty group. maxDrift is in milliseconds and not negative.
func NewAlignment(maxDrift int64) *Alignment { return &Alignment{maxDrift: maxDrift} }

// Report tells the watermark that member id last sent. It may be lower than the report before; a member that was idle is not idle
// any more. A member that has no watermark yet reports nothing.
func (a *Alignment) Report(id uint32, watermark int64) {
	m := a.member(id)
	m.watermark, m.idle = watermark, false
}

// ReportIdle tells that member id is idle: it does not lower the ceiling.
func (a *Alignment) ReportIdle(id uint32) { a.member(id).idle = true }

// Remove takes member id out, for example because it has ended.
func (a *Alignment) Remove(id uint32) {
	for i := range a.members {
		if a.members[i].id == id {
			a.members = append(a.members[:i], a.members[i+1:]...)
			return
		}
	}
}

// Ceiling is the highest watermark at which a member may go on. It can fall. Without reports, or when all are idle, there is none:
// math.MaxInt64.
func (a *Alignment) Ceiling() int64 {
	low := int64(math.MaxInt64)
	for _, m := range a.members {
		if !m.idle {
			low = min(low, m.watermark)
		}
	}
	return saturatingAdd(low, a.maxDrift)
}

// MustWait reports whether member id has to wait: its watermark is above the ceiling (at the ceiling it goes on). A member that is
// idle, unknown or at its end has nothing to wait with.
func (a *Alignment) MustWait(id uint32) bool {
	ceiling := a.Ceiling()
	for _, m := range a.members {
		if m.id == id {
			return !m.idle && m.watermark != batch.EndOfInput && m.watermark > ceiling
		}
	}
	return false
}

// Waiting appends the members that have to wait, in the order of their first reports.
func (a *Alignment) Waiting(out []uint32) []uint32 {
	ceiling := a.Ceiling()
	for _, m := range a.members {
		if !m.idle && m.watermark != batch.EndOfInput && m.watermark > ceiling {
			out = append(out, m.id)
		}
	}
	return out
}

// Ahead appends the partitions that should not be read for now, in the order in which they were added: those whose watermark is above ceiling,
// or more than maxDrift ms above the lowest of the source's own partitions. A partition counts while it is neither idle nor ended and has a
// watermark: one that has said nothing yet may never do so, and is waited for by nobody. The one that stands lowest is ahead of no other.
func (p *Partitions) Ahead(maxDrift, ceiling int64, out []uint32) []uint32 {
	counts := func(q *partition) bool {
		return !q.ended && !q.idle && q.watermark != batch.NoWatermark && q.watermark != batch.EndOfInput
	}
	low := int64(math.MaxInt64)
	for i := range p.parts {
		if q := &p.parts[i]; counts(q) {
			low = min(low, q.watermark)
		}
	}
	ceiling = min(ceiling, saturatingAdd(low, maxDrift))
	for i := range p.parts {
		if q := &p.parts[i]; counts(q) && q.watermark > ceiling {
			out = append(out, q.id)
		}
	}
	return out
}

func (a *Alignment) member(id uint32) *member {
	for i := range a.members {
		if a.members[i].id == id {
			return &a.members[i]
		}
	}
	a.members = append(a.members, member{id: id, watermark: batch.NoWatermark})
	return &a.members[len(a.members)-1]
}
