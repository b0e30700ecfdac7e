package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/deadletter"
)

// cut is one checkpoint in the making: what every part of the graph has contributed at the place of its barrier.
type cut struct {
	barrier uint64
	lanes   map[string]laneSnapshot
	stages  map[string]stageSnapshot
	deltas  []*state.Delta
	letters []deadletter.Letter
	parts   []checkpoint.Contributor // of the sinks
	taken   time.Duration            // from the request to the last contribution
}

// stageSnapshot is a stage's part of a checkpoint beside its shards' deltas.
type stageSnapshot struct {
	watermark int64
	valve     []byte // of a stage with several inputs
}

// contribution is one part's answer to a barrier.
type contribution struct {
	barrier uint64
	apply   func(*cut)
}

// coordinator asks for barriers, waits until everything has contributed, and has the cut committed. Processing goes on during a
// commit; only the next barrier waits for it. That commit is the only moment at which anything becomes true (I1).
type coordinator struct {
	clock       clock.Clock
	interval    time.Duration
	minInterval time.Duration
	timeout     time.Duration
	parts       int                                             // contributions that make a cut
	request     func(ctx context.Context, barrier uint64) error // brings a barrier into every lane
	commit      func(ctx context.Context, c *cut) error
	next        uint64

	contributions chan contribution
	wanted        chan struct{} // results wait for a commit
	over          chan struct{} // closed when all sources have ended or stopped: one last cut
}

func newCoordinator() *coordinator {
	return &coordinator{contributions: make(chan contribution, 64), wanted: make(chan struct{}, 1), over: make(chan struct{}), next: 1}
}

// contribute hands in a part of the cut of a barrier.
func (c *coordinator) contribute(ctx context.Context, barrier uint64, apply func(*cut)) error {
	select {
	case c.contributions <- contribution{barrier, apply}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// want asks for a commit before the interval is over. It never blocks.
func (c *coordinator) want() {
	select {
	case c.wanted <- struct{}{}:
	default:
	}
}

// run makes cuts until the last one is committed (nil), ctx is done (nil), or one fails.
func (c *coordinator) run(ctx context.Context) error {
	last := c.clock.Now()
	for {
		final, err := c.pause(ctx, last)
		if err != nil {
			return quiet(ctx, err)
		}
		last = c.clock.Now()
		made, err := c.cut(ctx)
		if err != nil {
			return quiet(ctx, err)
		}
		if err := c.commit(ctx, made); err != nil {
			return quiet(ctx, fmt.Errorf("checkpoint: %w", err))
		}
		if final {
			return nil
		}
	}
}

// pause waits until the next cut is due.
func (c *coordinator) pause(ctx context.Context, last time.Time) (final bool, err error) {
	due := c.clock.NewTimer(max(0, c.interval-c.clock.Since(last)))
	defer due.Stop()
	select {
	case <-due.C():
		return false, nil
	case <-c.over:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-c.wanted:
	}
	early := c.clock.NewTimer(max(0, c.minInterval-c.clock.Since(last)))
	defer early.Stop()
	select {
	case <-early.C():
		return false, nil
	case <-c.over:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// cut sends a barrier through the graph and collects what comes of it.
func (c *coordinator) cut(ctx context.Context) (*cut, error) {
	select { // what waits now will be in this cut
	case <-c.wanted:
	default:
	}
	made := &cut{barrier: c.next, lanes: map[string]laneSnapshot{}, stages: map[string]stageSnapshot{}}
	c.next++
	begun := c.clock.Now()
	if err := c.request(ctx, made.barrier); err != nil {
		return nil, err
	}
	for range c.parts {
		select {
		case part := <-c.contributions:
			if part.barrier != made.barrier {
				return nil, fmt.Errorf("a contribution to barrier %d while %d is being collected", part.barrier, made.barrier)
			}
			part.apply(made)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	made.taken = c.clock.Since(begun)
	return made, nil
}
