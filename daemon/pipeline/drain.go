package pipeline

import (
	"context"
	"fmt"
)

// Drain has the pipeline come to its end where it is: sources stop, what they have said is processed, and then it is as if the input had ended.
// Every window gives its result, all results are delivered, and Run returns in state [Finished]. After a failure the next attempt goes on with
// it. It does not wait, and asking twice is harmless. A stop that comes meanwhile cuts it off, with what is not committed to be done again.
func (p *Pipeline) Drain() { p.drainOnce.Do(func() { close(p.draining) }) }

// watchDrain has the sources stop, and the lanes take that for the end of their input, when a drain is asked for.
func (a *attempt) watchDrain(ctx, inner context.Context) error {
	select {
	case <-inner.Done():
		return nil
	case <-ctx.Done(): // a stop is the stronger
		return nil
	case <-a.p.draining:
	}
	a.p.enter(Draining, nil)
	for _, l := range a.lanes {
		l.draining.Store(true)
		if l.align != nil {
			l.align.stop()
		}
		if err := l.source.Stop(); err != nil && inner.Err() == nil {
			return fmt.Errorf("source %s: stop: %w", l.name, err)
		}
	}
	return nil
}
