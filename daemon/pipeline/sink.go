package pipeline

import (
	"context"
	"fmt"
	"sync"

	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// sinkNode joins the inputs of one sink. Rows of different inputs come in any order; those of one input keep theirs.
type sinkNode struct {
	name   string
	inputs int
	take   func(b *batch.Batch) error // takes over one share of b; all its rows count
	// cut is called when all inputs have brought a barrier: what the outlet holds now belongs to that checkpoint.
	cut func(barrier uint64) error
	// tap is shown the rows in their order, or nil.
	tap func(sink string, rows *batch.Batch)

	mu      sync.Mutex
	aligned sync.Cond
	ctx     context.Context
	barrier uint64
	arrived int
	held    []bool
}

func newSinkNode(ctx context.Context, name string, inputs int, take func(*batch.Batch) error, cut func(uint64) error) *sinkNode {
	s := &sinkNode{name: name, inputs: inputs, take: take, cut: cut, ctx: ctx, held: make([]bool, inputs)}
	s.aligned.L = &s.mu
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.aligned.Broadcast()
	})
	return s
}

// wait blocks while input i has brought a barrier that others have not; s.mu is held.
func (s *sinkNode) wait(i int) error {
	for s.held[i] && s.ctx.Err() == nil {
		s.aligned.Wait()
	}
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return nil
}

// do calls f for something of input i, behind the barriers that this input has brought.
func (s *sinkNode) do(i int, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.wait(i); err != nil {
		return err
	}
	return f()
}

// append gives rows to the outbox; s.mu is held.
func (s *sinkNode) append(rows *batch.Batch) error {
	if s.tap != nil {
		s.tap(s.name, rows)
	}
	return s.take(rows)
}

func (s *sinkNode) bring(i int, barrier uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.wait(i); err != nil {
		return err
	}
	if s.barrier != 0 && s.barrier != barrier {
		return fmt.Errorf("sink %s: barrier %d while %d is being aligned", s.name, barrier, s.barrier)
	}
	s.barrier, s.held[i] = barrier, true
	if s.arrived++; s.arrived < s.inputs {
		return nil
	}
	s.barrier, s.arrived = 0, 0
	clear(s.held)
	s.aligned.Broadcast()
	return s.cut(barrier)
}

// sinkInput is an input of a sink as an end of a port. Each worker has its own.
type sinkInput struct {
	sink    *sinkNode
	input   int
	text    *format.Formatter          // nil: the sink takes columns
	columns []string                   // of a sink that takes columns; nil: all
	refused func(b *batch.Batch) error // rows that could not be formatted, in b.Bad
}

func (s *sinkInput) idle(bool) error         { return nil }
func (s *sinkInput) barrier(id uint64) error { return s.sink.bring(s.input, id) }

func (s *sinkInput) prepare(b *batch.Batch, out []prepared) []prepared {
	if b.Alive() == 0 {
		b.Release()
		return out
	}
	rows := batch.Get()
	if s.text == nil {
		selectColumns(rows, b, s.columns)
		b.Release()
		return append(out, sinkRows{s, rows, nil})
	}
	if bad := s.text.Append(rows, b); len(bad) > 0 {
		refused := b.Fork() // b's own list belongs to whoever made it
		b.Release()
		refused.Bad = bad
		return append(out, sinkRows{s, rows, refused})
	}
	b.Release()
	return append(out, sinkRows{s, rows, nil})
}

// sinkRows are rows ready for a sink, and those that could not be made ready.
type sinkRows struct {
	to      *sinkInput
	rows    *batch.Batch
	refused *batch.Batch
}

func (s sinkRows) send() error {
	if s.refused != nil {
		err := s.to.refused(s.refused)
		s.refused.Release()
		if err != nil {
			return err
		}
	}
	if s.rows.N == 0 {
		s.rows.Release()
		return nil
	}
	return s.to.sink.do(s.to.input, func() error { return s.to.sink.append(s.rows) })
}

// selectColumns copies the selected rows of the named columns (nil: all).
func selectColumns(dst, src *batch.Batch, names []string) {
	picked := src.Fork()
	if names != nil {
		picked.Columns = nil
		for _, name := range names {
			if c := src.Column(name); c != nil {
				picked.Columns = append(picked.Columns, *c)
				continue
			}
			c := picked.AddColumn(name)
			for i := range src.N {
				c.SetMissing(i)
			}
		}
	}
	if len(picked.Times) < picked.N {
		picked.Times = make([]int64, picked.N)
		for i := range picked.Times {
			picked.Times[i] = batch.NoTimestamp
		}
	}
	if src.Sel == nil {
		dst.AppendRows(picked, 0, picked.N)
	} else {
		for from := 0; from < len(src.Sel); { // runs of neighbours go at once
			to := from + 1
			for to < len(src.Sel) && src.Sel[to] == src.Sel[to-1]+1 {
				to++
			}
			dst.AppendRows(picked, int(src.Sel[from]), int(src.Sel[to-1])+1)
			from = to
		}
	}
	picked.Release()
}
