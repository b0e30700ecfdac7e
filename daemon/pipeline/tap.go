package pipeline

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// TapRow is a row that has passed a source or a sink.
type TapRow struct {
	EventTime Moment `json:"event_time"` // "none" where a row has none
	Row       string `json:"row"`        // as it came in, or as it goes out
}

// taps are those who watch rows pass. While nobody does, a batch costs one load of n, and a row nothing.
type taps struct {
	n    atomic.Int32 // taps that there are
	mu   sync.Mutex
	open map[*tap]struct{}
}

// tap is one of them: it takes as many rows as its budget allows, and passes over all others.
type tap struct {
	component string
	budget    atomic.Int64
	rows      chan TapRow
}

// tapEvery is how often a tap may take rows again. Its share of the rate is what a burst can cost at once.
const tapEvery = 100 * time.Millisecond

// Tap shows rows that pass a source (with their times, before any step) or a sink (as they go to its queue) to f, at most perSecond of them; the
// others pass unseen. It returns when ctx is done or f returns an error. f may take its time: rows do not wait for it.
func (p *Pipeline) Tap(ctx context.Context, component string, perSecond int, f func(TapRow) error) error {
	if err := p.CanTap(component); err != nil {
		return err
	}
	share := int64(max(1, perSecond*int(tapEvery)/int(time.Second)))
	every := time.Second * time.Duration(share) / time.Duration(max(1, perSecond))
	t := &tap{component: component, rows: make(chan TapRow, share)}
	t.budget.Store(share)
	p.taps.add(t)
	defer p.taps.remove(t)
	refill := p.set.Clock.NewTicker(every)
	defer refill.Stop()
	for {
		select {
		case row := <-t.rows:
			if err := f(row); err != nil {
				return err
			}
		case <-refill.C():
			t.budget.Store(share)
		case <-ctx.Done():
			return nil
		}
	}
}

// CanTap says why a component cannot be tapped, or nil.
func (p *Pipeline) CanTap(component string) error {
	for _, s := range p.plan.Sinks {
		if s.Name == component {
			return nil
		}
	}
	if p.plan.Source(component) != nil {
		return nil
	}
	return fmt.Errorf("pipeline %s has no source and no sink named %q; what a step gives is seen at the sinks that read it", p.plan.Name, component)
}

func (s *taps) add(t *tap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*tap]struct{}{}
	}
	s.open[t] = struct{}{}
	s.n.Store(int32(len(s.open)))
}

func (s *taps) remove(t *tap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, t)
	s.n.Store(int32(len(s.open)))
}

// offer shows a batch, which is only lent, to those who watch the component. It waits for nobody.
func (s *taps) offer(component string, b *batch.Batch) {
	if s.n.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.open {
		if t.component == component {
			t.take(b)
		}
	}
}

// take copies what the budget allows from the beginning of a batch.
func (t *tap) take(b *batch.Batch) {
	alive := b.N
	if b.Sel != nil {
		alive = len(b.Sel)
	}
	for i := range alive {
		if t.budget.Add(-1) < 0 {
			return
		}
		row := i
		if b.Sel != nil {
			row = int(b.Sel[i])
		}
		text, at := b.Row(row), Moment(batch.NoTimestamp)
		if text == nil {
			text = columnsAsJSON(b, row)
		}
		if row < len(b.Times) {
			at = Moment(b.Times[row])
		}
		select {
		case t.rows <- TapRow{at, string(text)}:
		default:
			return
		}
	}
}

// tapped calls also what the settings ask for.
func (p *Pipeline) tapped(also func(component string, b *batch.Batch)) func(component string, b *batch.Batch) {
	return func(component string, b *batch.Batch) {
		if also != nil {
			also(component, b)
		}
		p.taps.offer(component, b)
	}
}
