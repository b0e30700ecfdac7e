package watermark

import (
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Never is a processing time that does not come.
const Never = math.MaxInt64

// Hold says that the pipeline keeps partition id from delivering (backpressure, alignment). Until Resume its idleness clock stands
// (5.12), and it goes on counting in the minimum. Holding twice is holding once.
func (p *Partitions) Hold(id uint32, now int64) {
	if i := p.slot(id); i >= 0 && !p.parts[i].held && !p.parts[i].ended {
		p.parts[i].held, p.parts[i].heldFrom, p.parts[i].since = true, now, now
	}
}

// Resume ends Hold: the partition may deliver again, and its idleness clock goes on where it stood.
func (p *Partitions) Resume(id uint32, now int64) {
	i := p.slot(id)
	if i < 0 || !p.parts[i].held {
		return
	}
	q := &p.parts[i]
	pause := max(now-q.heldFrom, 0)
	q.activeAt += pause
	q.quietFrom += pause
	q.held, q.since = false, now
}

// Check applies the idleness rule to one partition and reports whether it is idle; it counts from the next recombination on. It is
// for callers that ask each partition's generator at a periodic call and must not ask idle ones (5.10); others call Tick.
func (p *Partitions) Check(id uint32, now int64) bool {
	i := p.slot(id)
	return i >= 0 && p.check(&p.parts[i], now)
}

func (p *Partitions) check(q *partition, now int64) bool {
	if p.settings.IdleAfter <= 0 || q.ended || q.held {
		return q.idle
	}
	quiet := false
	switch p.settings.IdleRule {
	case QuietTicks:
		switch {
		case q.active:
			q.active, q.ticked = false, false
		case !q.ticked:
			q.ticked, q.quietFrom = true, now
		default:
			quiet = now-q.quietFrom > p.settings.IdleAfter
		}
	default:
		quiet = now-q.activeAt >= p.settings.IdleAfter
	}
	if quiet && !q.idle {
		q.idle, q.since = true, now
		p.holder = -1
	}
	return q.idle
}

// NextTick is the processing time at which Tick has something to do, or Never. With QuietTicks it is the caller's interval that
// decides, so it is Never.
func (p *Partitions) NextTick() int64 {
	next := p.emptyUntil()
	for i := range p.parts {
		next = min(next, p.idleAt(&p.parts[i]))
	}
	return next
}

// emptyUntil is when a source without partitions becomes idle, so that a listener to whom nobody speaks holds nobody.
func (p *Partitions) emptyUntil() int64 {
	if p.settings.IdleAfter <= 0 || p.empty == Never || p.output.idle || p.output.last == batch.EndOfInput {
		return Never
	}
	return saturatingAdd(p.empty, p.settings.IdleAfter)
}

// idleAt is when q becomes idle if nothing comes.
func (p *Partitions) idleAt(q *partition) int64 {
	if p.settings.IdleAfter <= 0 || p.settings.IdleRule != SinceActivity || q.idle || q.held || q.ended {
		return Never
	}
	return saturatingAdd(q.activeAt, p.settings.IdleAfter)
}
