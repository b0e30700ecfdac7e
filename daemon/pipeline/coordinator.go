package pipeline

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/deliver"
	"github.com/tidemark-stream/tidemark/state"
)

// cut is one checkpoint in the making: what every part of the graph has contributed at the place of its barrier.
type cut struct {
	barrier uint64
	lanes   map[string]laneSnapshot
	stages  map[string]stageSnapshot
	deltas  []*state.Delta
	letters *deliver.LettersPart
	parts   []*deliver.Part // of the sinks
	foreign []foreignState
	taken   time.Duration // from the request to the last contribution
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
	// progress is a number that changes with everything a commit could hold. While it stands still no cut is made, so that a pipeline
	// with nothing to do does not touch the disk. nil: cuts are always made.
	progress func() uint64

	// least is the pause that the last commit leaves to the next that nobody waits for; set by commit.
	least time.Duration

	contributions chan contribution
	wanted        chan struct{} // a commit is wanted before its time
	results       chan struct{} // results wait for a commit
	waiting       []func() bool // of the sinks: whether results have come since their last barrier
	over          chan struct{} // closed when all sources have ended or stopped: one last cut
	orders        chan order
	manual        bool // cuts are made to order only, and at the end
}

// order asks for a cut now, or for a probe: a barrier that passes everything and leaves nothing behind. When it has arrived everywhere,
// all that went before it has been worked through.
type order struct {
	probe bool
	done  chan<- error // gets the outcome; has room for it
	// then is called when the commit is made, before there is another one. Its error is the order's and nobody else's.
	then func() error
}

// probeBit marks the barriers of probes. Whoever is passed by one contributes nothing and keeps what it has.
const probeBit = 1 << 63

func isProbe(barrier uint64) bool { return barrier&probeBit != 0 }

func newCoordinator() *coordinator {
	return &coordinator{contributions: make(chan contribution, 64), wanted: make(chan struct{}, 1), results: make(chan struct{}, 1), over: make(chan struct{}),
		orders: make(chan order), next: 1}
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
func (c *coordinator) want() { tell(c.wanted) }

// outbox is for a sink: it calls brought when it has results, which never blocks, and cut at each barrier, between two calls of brought. Results
// that come while a cut is being collected, but before their sink's barrier, are in that cut and ask for no other one.
func (c *coordinator) outbox() (brought, cut func()) {
	since := new(atomic.Bool)
	c.waiting = append(c.waiting, since.Load)
	return func() {
		since.Store(true)
		tell(c.results)
	}, func() { since.Store(false) }
}

// inCut drops the wish for a commit of results that are all in the cut that has just been collected.
func (c *coordinator) inCut() {
	take(c.results)
	for _, waits := range c.waiting {
		if waits() {
			tell(c.results)
			return
		}
	}
}

func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func take(c <-chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// run makes cuts until the last one is committed (nil), ctx is done (nil), or one fails.
func (c *coordinator) run(ctx context.Context) error {
	last, stands := c.clock.Now(), uint64(0)
	ended := last
	for {
		final, ordered, err := c.pause(ctx, last, ended)
		if err != nil {
			return quiet(ctx, err)
		}
		probe := ordered != nil && ordered.probe
		if !probe {
			last = c.clock.Now()
		}
		if c.progress != nil && !probe {
			now := c.progress()
			if now == stands && !final && ordered == nil {
				continue
			}
			stands = now
		}
		err = c.once(ctx, probe)
		ended = c.clock.Now()
		if ordered != nil {
			told := err
			if told == nil && ordered.then != nil {
				told = ordered.then()
			}
			ordered.done <- told
		}
		if err != nil {
			return quiet(ctx, err)
		}
		if final {
			return nil
		}
	}
}

func (c *coordinator) once(ctx context.Context, probe bool) error {
	made, err := c.cut(ctx, probe)
	if err != nil || probe {
		return err
	}
	if err := c.commit(ctx, made); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// order has a cut or a probe made and waits for it.
func (c *coordinator) order(ctx context.Context, probe bool) error {
	done := make(chan error, 1)
	select {
	case c.orders <- order{probe: probe, done: done}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// orderThen has a cut made, and then called when it is committed. When ctx ends before the cut is begun there is none; after that only the end
// of life is not waited for.
func (c *coordinator) orderThen(ctx, life context.Context, then func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	select {
	case c.orders <- order{done: done, then: then}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-life.Done():
		return context.Cause(life)
	}
}

// pause waits until the next cut is due, or ordered. last is when the last one was asked for, ended when it had been made.
func (c *coordinator) pause(ctx context.Context, last, ended time.Time) (final bool, ordered *order, err error) {
	var due <-chan time.Time
	var early clock.Timer
	defer func() {
		if early != nil {
			early.Stop()
		}
	}()
	wanted, results := c.wanted, c.results
	var now <-chan time.Time
	soon := func() {
		early = c.clock.NewTimer(max(0, c.minInterval-c.clock.Since(last)))
		now, wanted, results = early.C(), nil, nil
	}
	if c.manual {
		wanted, results = nil, nil
	} else {
		timer := c.clock.NewTimer(max(0, c.interval-c.clock.Since(last), c.least-c.clock.Since(ended)))
		defer timer.Stop()
		due = timer.C()
	}
	for {
		select {
		case <-due:
			return false, nil, nil
		case <-now:
			return false, nil, nil
		case <-c.over:
			return true, nil, nil
		case o := <-c.orders:
			return false, &o, nil
		case <-wanted:
			soon()
		case <-results:
			soon()
		case <-ctx.Done():
			return false, nil, context.Cause(ctx)
		}
	}
}

// cut sends a barrier through the graph and collects what comes of it. A probe gathers nothing.
func (c *coordinator) cut(ctx context.Context, probe bool) (*cut, error) {
	made := &cut{barrier: c.next, lanes: map[string]laneSnapshot{}, stages: map[string]stageSnapshot{}}
	if probe {
		made.barrier |= probeBit
	} else {
		take(c.wanted) // what waits now will be in this cut
		take(c.results)
	}
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
			if part.apply != nil {
				part.apply(made)
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if !probe {
		c.inCut()
	}
	made.taken = c.clock.Since(begun)
	return made, nil
}
