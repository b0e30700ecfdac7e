package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/deliver"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/shard"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/deadletter"
)

// attempt is everything that runs between two failures.
type attempt struct {
	stopAsked context.Context // done: an orderly stop has begun
	askStop   context.CancelFunc

	p       *Pipeline
	plan    *plan.Plan
	graph   *graph
	ctx     context.Context // ends everything at once
	cancel  context.CancelCauseFunc
	closers []func() error // in the order to be called

	workers int
	shards  int
	store   *state.Store
	pool    *pool
	places  *places
	box     *letterBox
	letters *deliver.Letters
	budget  *deliver.Budget
	memory  *memory
	settled *settled
	lanes   []*lane
	stages  map[string]*stageNode
	sinks   map[string]*sinkNode
	coord   *coordinator
	counts  *counts
	outlets []outlet

	foreigners map[string]*foreign // steps done by transform plugins
	wards      []*ward

	log         *checkpoint.Log
	restored    *checkpoint.State // what the last commit says
	deadLetters *deadletter.Store
	boxInputs   int
	pathWriters map[*path]*letterWriter

	visitors visitors // of the store

	mu   sync.Mutex
	left int // lanes that have neither ended nor stopped
}

// stageNode is a keyed step with its shards.
type stageNode struct {
	step     *plan.Step
	operator uint32
	stage    *shard.Stage
	valve    *watermark.Valve // with several inputs
	deltas   []*state.Delta   // one for each shard
	stores   []*shardStore    // the same; nil where the operator does not read the store
	output   *stageOutput
	main     *port
	writer   *letterWriter
	skipped  skippedCells
}

func (a *attempt) onClose(f func() error) { a.closers = append(a.closers, f) }

// close takes everything down; run has returned, or was never called.
func (a *attempt) close() error {
	a.cancel(nil)
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i]())
	}
	return errors.Join(errs...)
}

// run starts everything, sinks first and sources last, and waits for the end.
func (a *attempt) run(ctx context.Context) (State, error) {
	group, inner := errgroup.WithContext(a.ctx)
	// Whoever waits for others (an input for a barrier to be aligned, a part for its contribution to be taken) waits on a.ctx.
	release := context.AfterFunc(inner, func() { a.cancel(context.Cause(inner)) })
	defer release()
	for i := range a.workers {
		group.Go(func() error { return a.pool.run(inner, i) })
	}
	for _, s := range a.stages {
		group.Go(func() error { return s.stage.Run(inner) })
	}
	for _, o := range a.outlets {
		group.Go(func() error { return named("sink", o.name, a.forGood(o.outbox.Run(inner))) })
	}
	group.Go(func() error { return named("dead letters", "", a.letters.Run(inner)) })
	for _, t := range a.foreigners {
		group.Go(func() error { return named("transform", t.step.Name, t.run(inner)) })
	}
	for _, l := range a.lanes {
		group.Go(func() error { return l.run(inner) })
	}
	var end State
	group.Go(func() error {
		if err := a.coord.run(inner); err != nil {
			return err
		}
		if inner.Err() != nil {
			return nil
		}
		end = Finished
		if err := a.settle(ctx, inner); err != nil {
			return err
		}
		a.cancel(errDone)
		return nil
	})
	if a.p.set.Drive != nil {
		a.p.set.Drive(newDriver(a))
	}
	stopped := make(chan struct{})
	group.Go(func() error { return a.watchStop(ctx, inner, stopped) })
	group.Go(func() error { return a.watchDrain(ctx, inner) })
	err := group.Wait()
	select {
	case <-stopped:
		end = Stopped
	default:
	}
	if err == nil && end == "" {
		err = context.Cause(a.ctx)
	}
	if errors.Is(err, errDone) {
		err = nil
	}
	return end, err
}

var errDone = errors.New("done")

// watchStop turns the end of ctx into an orderly stop: sources stop where they are, one last commit holds everything, no window fires
// early.
func (a *attempt) watchStop(ctx, inner context.Context, stopped chan<- struct{}) error {
	select {
	case <-inner.Done():
		return nil
	case <-ctx.Done():
	}
	close(stopped)
	a.askStop()
	a.p.enter(Stopping, nil)
	for _, l := range a.lanes {
		if l.align != nil {
			l.align.stop()
		}
		if err := l.source.Stop(); err != nil && inner.Err() == nil {
			return fmt.Errorf("source %s: stop: %w", l.name, err)
		}
	}
	timer := a.p.set.Clock.NewTimer(a.p.set.StopTimeout)
	defer timer.Stop()
	select {
	case <-inner.Done():
		return nil
	case <-timer.C():
		return fmt.Errorf("the stop took longer than %s; the pipeline ends at its last commit", a.p.set.StopTimeout)
	}
}

// laneFinished is called by each lane once.
func (a *attempt) laneFinished() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left--; a.left == 0 {
		close(a.coord.over)
	}
}

func orCPUs(n, fallback int) int {
	if n > 0 {
		return n
	}
	if fallback > 0 {
		return fallback
	}
	return runtime.GOMAXPROCS(0)
}

func (a *attempt) now() int64 { return a.p.set.Clock.Now().UnixMilli() }

func isolation(s string) host.Isolation { return host.Isolation(s) }

// startCoordinator gives the coordinator what it works with; everything is built.
func (a *attempt) startCoordinator() {
	c := a.coord
	c.clock, c.manual = a.p.set.Clock, a.p.set.Drive != nil
	c.interval, c.minInterval, c.timeout = a.plan.Checkpoint.Interval, a.plan.Checkpoint.MinInterval, a.plan.Checkpoint.Timeout
	c.parts = len(a.lanes) + len(a.stages)*(1+a.shards) + len(a.foreigners) + len(a.sinks)
	if a.boxInputs > 0 {
		c.parts++
	}
	c.request = func(ctx context.Context, barrier uint64) error {
		for _, l := range a.lanes {
			if err := l.request(ctx, request{kind: barrierItem, barrier: barrier}); err != nil {
				return err
			}
		}
		return nil
	}
	c.commit = a.commit
	c.progress = a.progress
}

// progress is the coordinator's: every item that a lane has sent, every result and every row that a sink has taken moves it.
func (a *attempt) progress() uint64 {
	n := uint64(1)
	for _, l := range a.lanes {
		n += l.emitted.Load()
	}
	for _, s := range a.stages {
		s.stage.Counts(func(_ int, c *shard.Counts) { n += uint64(c.Results.Load()) })
	}
	for _, o := range a.outlets {
		s := o.outbox.Status()
		n += s.Taken + s.Next
	}
	s := a.letters.Status()
	return n + s.Taken + s.Next
}

// named says whose error it is.
func named(kind, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case name == "":
		return fmt.Errorf("%s: %w", kind, err)
	}
	return fmt.Errorf("%s %s: %w", kind, name, err)
}
