package deliver

import (
	"github.com/tidemark-stream/tidemark/state"
)

// Part is what belongs to one checkpoint: the rows that were appended before its barrier and that the sink has not taken, and how far it
// has come. It is a checkpoint.Contributor.
type Part struct {
	outbox  *Outbox
	next    uint64 // rows below belong to it
	acked   uint64
	live    uint64 // number of the first row that the store still needs
	written []*chunk
}

// Cut is called when all inputs of the sink have brought a barrier, between two calls of Append. Parts are committed in the order they
// were cut.
func (o *Outbox) Cut() *Part {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last := o.last(); last != nil {
		last.closed = true
	}
	return &Part{outbox: o, next: o.next}
}

// Contribute writes into d what the commit has to hold.
func (p *Part) Contribute(d *state.Delta) {
	o := p.outbox
	// What is being written ahead is in the store when this is done, and what is written after it is behind all that it removes.
	o.ahead.Lock()
	defer o.ahead.Unlock()
	p.written = o.put(d, func(c *chunk) bool { return c.first < p.next })
	o.mu.Lock()
	defer o.mu.Unlock()
	r := record{next: p.next, acked: min(o.acked, p.next-1)}
	for _, c := range o.chunks {
		if c.first < p.next {
			r.chunks = append(r.chunks, c)
		}
	}
	p.live = p.next
	if len(r.chunks) > 0 {
		p.live = r.chunks[0].first
	}
	// A chunk that was just written may have been taken since: it is garbage of the next commit.
	if o.garbage && p.live > o.given+1 {
		d.RemoveRange(chunkName(o.set.Name, o.given+1), chunkName(o.set.Name, p.live))
		o.garbage = false
		for _, c := range p.written {
			o.garbage = o.garbage || c.first < p.live
		}
	} else {
		p.live = o.given + 1
	}
	if o.sweeps > 0 {
		// A row that the last commit calls taken has its letter in this one at the latest.
		o.sweeps--
		d.RemoveRange(refusedName(o.set.Name, 0), refusedName(o.set.Name, o.recorded+1))
	}
	if o.skipTo > 0 && p.next > o.skipTo {
		d.Remove(skipName(o.set.Name))
		o.skipTo = 0
	}
	p.acked = r.acked
	d.Put(sinkName(o.set.Name), r.encode())
}

// Committed is called when the commit is made, and sets the rows free for delivery.
func (p *Part) Committed() {
	o := p.outbox
	o.stored(p.written)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recorded = p.acked
	o.given = max(o.given, p.live-1)
	if p.next > o.deliverable {
		o.deliverable = p.next
		o.signal()
	}
}
