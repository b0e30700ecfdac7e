package shard

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"golang.org/x/sync/errgroup"
)

// Downstream takes what a stage emits. Its methods are called by one goroutine, in order; an error ends the stage.
type Downstream interface {
	// Results takes over one share of b: result rows with their times, and marks. It may have no rows.
	Results(b *batch.Batch) error
	// Late hands on rows that were late for all their windows; watermark is what they were judged against. b is only lent.
	Late(b *batch.Batch, rows []uint32, watermark int64) error
	// Idle tells that the stage's inputs went idle, or one became active.
	Idle(idle bool) error
	// Barrier comes behind everything that precedes it.
	Barrier(id uint64) error
	// Flush comes when there is nothing more to hand on for now. Until then Results may keep back what it was given last, in order.
	Flush() error
}

// Config describes a stage.
type Config struct {
	Name           string
	Inputs         int
	Shards         int
	KeyFields      []string
	ProcessingTime bool             // the operator wants to be told processing time
	PassThrough    bool             // the operator emits no rows of its own: rows go on as they came, but for those it puts into Output.Late
	Clock          clock.Clock      // nil: the system's
	Manual         bool             // no timer of its own: whoever drives the stage calls Tick
	Valve          *watermark.Valve // combines the inputs, under the stage's lock; nil with one input
	NewOperator    func(shard int, out *window.Output) (window.Operator, error)
	// Snapshot is called by each shard's goroutine when a barrier passes it.
	Snapshot func(barrier uint64, shard int, op window.Operator) error
	// Aligned is called once for each barrier, when all inputs have brought it, with the stage's watermark.
	Aligned func(barrier uint64, watermark int64) error
	// Held is told by each shard how many bytes more (or less) its windows take than it said before; of operators that can tell. nil: nobody asks.
	Held       func(change int64)
	Downstream Downstream
	// Watermark is where the stage stands at the start: batch.NoWatermark, or what a checkpoint says.
	Watermark int64

	resultRows int // in one batch of results; tests make it small
}

// Stage is a keyed operator with its shards. Create it with New, call Run once.
type Stage struct {
	cfg     Config
	workers []*worker
	inputs  []*Input
	free    sync.Pool

	mu      sync.Mutex // serialises what goes to the shards; held while a full shard is waited for, so that it holds all inputs back
	aligned sync.Cond
	barrier uint64 // the barrier being aligned, 0 = none
	arrived int    // inputs that have brought it
	marks   []batch.Mark
	events  []watermark.Event

	watermark atomic.Int64
	firings   atomic.Int64

	dueChanged chan struct{}
	ctx        context.Context
}

// Input is one of a stage's inputs.
type Input struct {
	stage *Stage
	id    int
	held  uint64 // barrier this input has brought and that others have not yet

	watermark atomic.Int64 // the highest it has brought
	idle      atomic.Bool
}

// Watermark is the highest watermark that the input has brought since the start, batch.NoWatermark before the first.
func (in *Input) Watermark() int64 { return in.watermark.Load() }

// IsIdle reports whether the input's stream is idle.
func (in *Input) IsIdle() bool { return in.idle.Load() }

// New makes a stage. Operators are made here, so that state can be restored into them before Run (see Operator).
func New(cfg Config) (*Stage, error) {
	if cfg.resultRows == 0 {
		cfg.resultRows = defaultResultRows
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	s := &Stage{cfg: cfg, dueChanged: make(chan struct{}, 1)}
	s.watermark.Store(cfg.Watermark)
	s.aligned.L = &s.mu
	s.free.New = func() any { return &Message{index: make([][]uint32, cfg.Shards)} }
	for i := range cfg.Inputs {
		in := &Input{stage: s, id: i}
		in.watermark.Store(batch.NoWatermark)
		s.inputs = append(s.inputs, in)
	}
	for i := range cfg.Shards {
		w, err := newWorker(s, i)
		if err != nil {
			return nil, err
		}
		s.workers = append(s.workers, w)
	}
	return s, nil
}

// Operator is shard i's operator, to restore into before Run.
func (s *Stage) Operator(i int) window.Operator { return s.workers[i].op }

// Input is the i-th input.
func (s *Stage) Input(i int) *Input { return s.inputs[i] }

// Counts are the counters of each shard.
func (s *Stage) Counts(yield func(shard int, c *Counts)) {
	for i, w := range s.workers {
		yield(i, &w.counts)
	}
}

// Firings is the number of windows that have fired, each counted once for each firing however many keys it had.
func (s *Stage) Firings() int64 { return s.firings.Load() }

// Watermark is the stage's combined watermark.
func (s *Stage) Watermark() int64 {
	return s.watermark.Load()
}

// Run runs the shards and the collector until ctx is done (nil) or something fails. Senders that wait are released in either case.
func (s *Stage) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	stop := context.AfterFunc(ctx, func() { // wakes inputs that wait for alignment
		s.mu.Lock()
		defer s.mu.Unlock()
		s.aligned.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	s.ctx = ctx
	s.aligned.Broadcast()
	s.mu.Unlock()
	for _, w := range s.workers {
		if s.cfg.Watermark != batch.NoWatermark {
			w.op.RestoreWatermark(s.cfg.Watermark)
		}
		group.Go(func() error { return w.run(ctx) })
	}
	group.Go(func() error { return s.collect(ctx) })
	if s.cfg.ProcessingTime && !s.cfg.Manual {
		group.Go(func() error { return s.timer(ctx) })
	}
	return group.Wait()
}

// timer tells the shards processing time when one of them has something due.
func (s *Stage) timer(ctx context.Context) error {
	for {
		due := s.NextProcessingTime()
		wait := time.Duration(math.MaxInt64)
		if due != math.MaxInt64 {
			wait = max(0, time.UnixMilli(due).Sub(s.cfg.Clock.Now()))
		}
		timer := s.cfg.Clock.NewTimer(wait)
		select {
		case <-timer.C():
			if err := s.Tick(); err != nil {
				return ignoreCancel(ctx, err)
			}
			// The shards publish their next alarm when they have worked through the tick; dueChanged tells.
			select {
			case <-s.dueChanged:
			case <-ctx.Done():
				return nil
			}
		case <-s.dueChanged:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// NextProcessingTime is when a shard has something due by the clock, ms; math.MaxInt64: nothing.
func (s *Stage) NextProcessingTime() int64 {
	due := int64(math.MaxInt64)
	for _, w := range s.workers {
		due = min(due, w.nextDue.Load())
	}
	return due
}

// Tick tells the shards processing time.
func (s *Stage) Tick() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.send(&Message{kind: clockMessage, now: s.cfg.Clock.Now().UnixMilli()})
}

// send hands m to all shards; s.mu is held.
func (s *Stage) send(m *Message) error {
	for s.ctx == nil {
		s.aligned.Wait() // until Run
	}
	for _, w := range s.workers {
		select {
		case w.in <- m:
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
	return nil
}

// Prepare computes keys and each shard's rows of b. It takes over the caller's share of b. Safe on several goroutines.
func (in *Input) Prepare(b *batch.Batch) *Message {
	s := in.stage
	m := s.free.Get().(*Message)
	m.kind, m.batch, m.now, m.idle, m.barrier = rowsMessage, b, 0, false, 0
	m.marks = append(m.marks[:0], b.Marks...)
	m.keys.Compute(b, s.cfg.KeyFields)
	for i := range m.index {
		m.index[i] = m.index[i][:0]
	}
	if n := len(m.index); n == 1 {
		if b.Sel == nil {
			for i := range b.N {
				m.index[0] = append(m.index[0], uint32(i))
			}
		} else {
			m.index[0] = append(m.index[0], b.Sel...)
		}
	} else if b.Sel == nil {
		for i := range b.N {
			k := rowkey.Shard(m.keys.Hash[i], n)
			m.index[k] = append(m.index[k], uint32(i))
		}
	} else {
		for _, i := range b.Sel {
			k := rowkey.Shard(m.keys.Hash[i], n)
			m.index[k] = append(m.index[k], i)
		}
	}
	return m
}

// SetMarks replaces the marks of a prepared message, for callers that know them only after Prepare.
func (m *Message) SetMarks(marks []batch.Mark) { m.marks = append(m.marks[:0], marks...) }

// Send passes a prepared message on. It blocks while the shards are busy and while a barrier that this input has brought waits for
// other inputs.
func (in *Input) Send(m *Message) error {
	s := in.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := in.wait(); err != nil {
		return err
	}
	if s.cfg.ProcessingTime && m.now == 0 {
		m.now = s.cfg.Clock.Now().UnixMilli()
	}
	if err := s.combine(in, m); err != nil {
		return err
	}
	if err := s.send(m); err != nil {
		return err
	}
	return s.announce()
}

// combine replaces an input's marks by the stage's. What they mean beside that is left in s.events.
func (s *Stage) combine(in *Input, m *Message) error {
	s.events = s.events[:0]
	n := len(m.marks)
	if n > 0 {
		in.watermark.Store(max(in.watermark.Load(), m.marks[n-1].Watermark))
	}
	if s.cfg.Valve == nil || n == 0 {
		if n > 0 {
			s.watermark.Store(max(s.watermark.Load(), m.marks[n-1].Watermark))
		}
		return nil
	}
	input := in.id
	last := m.marks[n-1]
	ends := last.Watermark == batch.EndOfInput
	if ends { // a stream that has ended does not push the others forward
		m.marks = m.marks[:n-1]
	}
	s.marks = s.cfg.Valve.Apply(input, m.marks, s.marks[:0])
	if ends {
		s.events = s.cfg.Valve.End(input, s.events)
		// What comes before the watermark goes with it; the stage's idleness comes behind the rows.
		rest := s.events[:0]
		for _, e := range s.events {
			switch e.Kind {
			case watermark.Rise:
				s.marks = append(s.marks, batch.Mark{After: last.After, Watermark: e.Watermark})
			case watermark.Active:
				if err := s.send(&Message{kind: statusMessage}); err != nil {
					return err
				}
			default:
				rest = append(rest, e)
			}
		}
		s.events = rest
	}
	m.marks = append(m.marks[:0], s.marks...)
	s.watermark.Store(s.cfg.Valve.Current())
	return nil
}

// Idle tells that the input's stream went idle or became active.
func (in *Input) Idle(idle bool) error {
	s := in.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := in.wait(); err != nil {
		return err
	}
	in.idle.Store(idle)
	if s.cfg.Valve == nil {
		return s.send(&Message{kind: statusMessage, idle: idle})
	}
	if idle {
		s.events = s.cfg.Valve.Idle(in.id, s.events[:0])
	} else {
		s.events = s.cfg.Valve.Active(in.id, s.events[:0])
	}
	return s.announce()
}

// announce sends what the valve says, in order; s.mu is held.
func (s *Stage) announce() error {
	for _, e := range s.events {
		m := &Message{kind: statusMessage, idle: e.Kind == watermark.Idle}
		if e.Kind == watermark.Rise {
			s.watermark.Store(e.Watermark)
			m = &Message{kind: rowsMessage, marks: []batch.Mark{{Watermark: e.Watermark}}}
		}
		if err := s.send(m); err != nil {
			return err
		}
	}
	return nil
}

// Barrier brings barrier id in on this input. It does not wait; the next Send does, until the others have brought it too.
func (in *Input) Barrier(id uint64) error {
	s := in.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := in.wait(); err != nil {
		return err
	}
	if s.barrier == 0 {
		s.barrier = id
	} else if s.barrier != id {
		return fmt.Errorf("stage %s: barrier %d while %d is being aligned", s.cfg.Name, id, s.barrier)
	}
	in.held = id
	s.arrived++
	return s.align()
}

// align lets the barrier through when every input has brought it; s.mu is held. Inputs that came to their end bring barriers too.
func (s *Stage) align() error {
	if s.barrier == 0 || s.arrived < s.cfg.Inputs {
		return nil
	}
	id := s.barrier
	s.barrier, s.arrived = 0, 0
	for _, in := range s.inputs {
		in.held = 0
	}
	s.aligned.Broadcast()
	if s.cfg.Aligned != nil {
		if err := s.cfg.Aligned(id, s.watermark.Load()); err != nil {
			return err
		}
	}
	return s.send(&Message{kind: barrierMessage, barrier: id})
}

// wait blocks while this input holds a barrier that is not aligned yet; s.mu is held.
func (in *Input) wait() error {
	s := in.stage
	for in.held != 0 && (s.ctx == nil || s.ctx.Err() == nil) {
		s.aligned.Wait()
	}
	if s.ctx != nil && s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return nil
}

func ignoreCancel(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
