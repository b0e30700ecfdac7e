package watermark

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// PartitionStatus is what is known about one partition. Watermark is event time; the other times are processing time, ms.
type PartitionStatus struct {
	Partition uint32
	State     State
	Watermark int64 // batch.NoWatermark: none yet
	Since     int64 // when the state last changed
	Active    int64 // last row or watermark, or the beginning, moved on by the time it was held
	Rose      int64 // when the watermark last rose, or the beginning
	IdleAt    int64 // when it becomes idle if nothing comes; Never: not by itself
}

// Status appends the status of every partition, in the order in which they were added, as far as none has been removed.
func (p *Partitions) Status(out []PartitionStatus) []PartitionStatus {
	for i := range p.parts {
		out = append(out, p.status(&p.parts[i]))
	}
	return out
}

func (p *Partitions) status(q *partition) PartitionStatus {
	s := PartitionStatus{
		Partition: q.id, State: StateActive, Watermark: q.watermark,
		Since: q.since, Active: q.activeAt, Rose: q.roseAt, IdleAt: p.idleAt(q),
	}
	switch {
	case q.ended:
		s.State = StateEnded
	case q.idle:
		s.State = StateIdle
	case q.held:
		s.State = StateHeld
	case !q.seen:
		s.State = NeverSeen
	}
	return s
}

// Holding says which partition keeps the combined watermark from rising, and what would change that.
type Holding struct {
	PartitionStatus
	Combined int64 // the combined watermark now
	Next     int64 // what it would be if this partition became idle or ended now
}

// Holding returns the partition that the watermark waits for; false when nothing holds it (no partition counts, or the end of
// input has been reached). Of several that stand equally low it is the one that was added first.
func (p *Partitions) Holding() (Holding, bool) {
	if p.output.last == batch.EndOfInput {
		return Holding{}, false
	}
	low, at := int64(0), -1
	for i := range p.parts {
		q := &p.parts[i]
		if q.ended || q.idle || q.watermark == batch.EndOfInput {
			continue
		}
		if at < 0 || q.watermark < low {
			low, at = q.watermark, i
		}
	}
	if at < 0 {
		return Holding{}, false
	}
	h := Holding{PartitionStatus: p.status(&p.parts[at]), Combined: p.output.last}
	next, _, alone := p.others(int32(at))
	switch {
	case alone:
		// Going idle would flush its own watermark, which is what the output has already.
		next = low
	case next == batch.EndOfInput:
		// The others are idle: that would make all of them idle.
		next = h.Combined
		if p.settings.OnAllIdle == Advance {
			for i := range p.parts {
				if q := &p.parts[i]; !q.ended && q.watermark != batch.EndOfInput {
					next = max(next, q.watermark)
				}
			}
		}
	}
	h.Next = max(next, h.Combined)
	return h, true
}

// Describe says in words why the watermark stands where it is at processing time now. name is the partition as people know it.
func (h Holding) Describe(name string, now int64) string {
	why := fmt.Sprintf("partition %s has stood at %s for %s", name, FormatTime(h.Watermark), ago(now-h.Rose))
	switch h.State {
	case NeverSeen:
		why = fmt.Sprintf("partition %s has delivered nothing since it began %s ago", name, ago(now-h.Since))
	case StateHeld:
		why = fmt.Sprintf("partition %s has been held back for %s and stands at %s", name, ago(now-h.Since), FormatTime(h.Watermark))
	}
	switch {
	case h.State == StateHeld:
		why += "; it goes on when it may deliver again"
	case h.IdleAt == Never:
		why += "; it goes on when a newer row comes (no idle_after is set)"
	default:
		why += fmt.Sprintf("; it goes on when a newer row comes, or in %s, when the partition counts as idle", ago(max(h.IdleAt-now, 0)))
	}
	if h.Next > h.Combined {
		why += fmt.Sprintf("; without it the watermark would be %s", FormatTime(h.Next))
	}
	return why
}

func ago(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%d ms", max(ms, 0))
	case ms < 120_000:
		return fmt.Sprintf("%.1f s", float64(ms)/1000)
	default:
		return fmt.Sprintf("%d min", ms/60_000)
	}
}
