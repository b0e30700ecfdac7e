package pipeline

import (
	"context"

	"github.com/tidemark-stream/tidemark/daemon/shard"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// stageInput is an input of a window stage as an end of a port.
type stageInput struct{ in *shard.Input }

func (s stageInput) prepare(b *batch.Batch, out []prepared) []prepared {
	if b.Alive() == 0 && len(b.Marks) == 0 {
		b.Release()
		return out
	}
	return append(out, stageMessage{s.in, s.in.Prepare(b)})
}

func (s stageInput) idle(idle bool) error    { return s.in.Idle(idle) }
func (s stageInput) barrier(id uint64) error { return s.in.Barrier(id) }

type stageMessage struct {
	in *shard.Input
	m  *shard.Message
}

func (s stageMessage) send() error { return s.in.Send(s.m) }

// stageOutput is what follows a stage: its results go to the main port, its late rows to the late port.
type stageOutput struct {
	main *port
	late func(b *batch.Batch, rows []uint32, watermark int64) error
	// latePort is what reads the late port; lateStages says that there are stages among it, which want watermarks.
	latePort   *port
	lateStages bool
	seen       func(b *batch.Batch) // shown the results; or nil
	out        []prepared

	// Large batches are prepared by the pool, some at a time, and sent in their order.
	pool    *pool
	ctx     context.Context
	workers []*port    // the main port for each worker of the pool; nil: everything is prepared here
	under   []*results // under way, oldest first
	spare   []*results
}

// results is a batch of results that a worker prepares.
type results struct {
	out  []prepared
	done chan struct{}
}

// manyResults is how many rows make a batch worth a worker: others may come behind it.
const manyResults = 1024

func (s *stageOutput) Results(b *batch.Batch) error {
	if s.workers != nil && b.N >= manyResults && len(b.Marks) == 0 && s.seen == nil {
		return s.submit(b)
	}
	if err := s.Flush(); err != nil {
		b.Release()
		return err
	}
	if s.lateStages && len(b.Marks) > 0 { // late rows have the time of the stage they were late for, as in Flink
		m := batch.Get()
		for _, mark := range b.Marks {
			m.Marks = append(m.Marks, batch.Mark{Watermark: mark.Watermark})
		}
		s.out = s.latePort.prepare(m, s.out[:0])
		if err := sendAll(s.out); err != nil {
			b.Release()
			return err
		}
	}
	if s.seen != nil {
		s.seen(b)
	}
	s.out = s.main.prepare(b, s.out[:0])
	return sendAll(s.out)
}

// submit has a worker prepare b, and sends what is ready when there is more under way than workers can be at.
func (s *stageOutput) submit(b *batch.Batch) error {
	if len(s.under) > s.pool.workers {
		if err := s.sendFirst(); err != nil {
			b.Release()
			return err
		}
	}
	r := &results{done: make(chan struct{}, 1)}
	if n := len(s.spare); n > 0 {
		r, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	s.under = append(s.under, r)
	return s.pool.submit(s.ctx, func(worker int) { r.out = s.workers[worker].prepare(b, r.out[:0]) }, r.done)
}

// sendFirst waits for the oldest batch under way and sends it.
func (s *stageOutput) sendFirst() error {
	r := s.under[0]
	select {
	case <-r.done:
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
	s.under = append(s.under[:0], s.under[1:]...)
	s.spare = append(s.spare, r)
	return sendAll(r.out)
}

// Flush sends everything that is under way.
func (s *stageOutput) Flush() error {
	for len(s.under) > 0 {
		if err := s.sendFirst(); err != nil {
			return err
		}
	}
	return nil
}

func sendAll(out []prepared) error {
	for i, p := range out {
		out[i] = nil
		if err := p.send(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stageOutput) Late(b *batch.Batch, rows []uint32, watermark int64) error {
	if err := s.Flush(); err != nil {
		return err
	}
	return s.late(b, rows, watermark)
}

func (s *stageOutput) Idle(idle bool) error {
	if err := s.Flush(); err != nil {
		return err
	}
	if err := s.main.idle(idle); err != nil {
		return err
	}
	return s.latePort.idle(idle)
}

func (s *stageOutput) Barrier(id uint64) error {
	if err := s.Flush(); err != nil {
		return err
	}
	if err := s.main.barrier(id); err != nil {
		return err
	}
	return s.latePort.barrier(id)
}
