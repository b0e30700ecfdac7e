package shard

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sort"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// worker is one shard: the goroutine and what it owns.
type worker struct {
	stage *Stage
	id    int
	op    window.Operator
	out   *window.Output

	in      chan *Message
	replies chan *reply
	free    chan *reply // bounds how far a shard may run ahead of the collector

	counts  Counts
	nextDue atomic.Int64 // earliest processing-time alarm

	spiller window.Spiller // the operator, if it is one
	ctx     context.Context
	reply   *reply // that the operator fills
	step    uint32 // of the call that it is in
	held    int64  // bytes that the stage was told of

	ended    bool      // the watermark is at the end of input
	nextLive time.Time // when it is worth while to count what is held
}

// Counts are what a shard has done since it started. They are published between messages.
type Counts struct {
	Rows     atomic.Int64 // rows processed
	Late     atomic.Int64 // rows that no window took and that were late
	Silent   atomic.Int64 // rows that had no window at all
	Results  atomic.Int64 // result rows
	Live     atomic.Int64 // (key, window) pairs held, as of a barrier a moment ago: counting them can mean walking through them
	Panicked atomic.Bool
}

const runAhead = 4 // messages between neighbours: enough to keep both busy, few enough to stay in cache

func newWorker(s *Stage, id int) (*worker, error) {
	w := &worker{stage: s, id: id, out: &window.Output{Results: batch.Get()}}
	op, err := s.cfg.NewOperator(id, w.out)
	if err != nil {
		return nil, err
	}
	w.op = op
	if w.spiller, _ = op.(window.Spiller); w.spiller != nil {
		w.out.Overflow = w.overflow
	}
	w.in, w.replies, w.free = make(chan *Message, runAhead), make(chan *reply, runAhead), make(chan *reply, 2*runAhead)
	for range cap(w.free) {
		w.free <- &reply{}
	}
	w.nextDue.Store(math.MaxInt64)
	return w, nil
}

// run owns the operator until ctx is done.
func (w *worker) run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.counts.Panicked.Store(true)
			err = fmt.Errorf("shard %d of %s: panic: %v\n%s", w.id, w.stage.cfg.Name, p, debug.Stack())
		}
	}()
	w.ctx = ctx
	w.publish(true)
	for {
		var m *Message
		select {
		case m = <-w.in:
		case <-ctx.Done():
			return nil
		}
		var r *reply
		select {
		case r = <-w.free:
		case <-ctx.Done():
			return nil
		}
		if err := w.process(m, r); err != nil {
			return ignoreCancel(ctx, err)
		}
		w.publish(m.kind == clockMessage)
		if m.kind == barrierMessage {
			w.countLive()
		}
		select {
		case w.replies <- w.reply:
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *worker) process(m *Message, r *reply) error {
	w.begin(m, r)
	switch m.kind {
	case rowsMessage:
		w.rows(m)
	case clockMessage:
		w.advanceClock(m.now)
	case barrierMessage:
		if w.stage.cfg.Snapshot != nil {
			if err := w.stage.cfg.Snapshot(m.barrier, w.id, w.op); err != nil {
				return fmt.Errorf("snapshot of shard %d of %s: %w", w.id, w.stage.cfg.Name, err)
			}
		}
	}
	w.finish()
	w.counts.Silent.Store(int64(w.out.Silent))
	if w.spiller == nil {
		return nil
	}
	if held := w.spiller.Held(); held != w.held && w.stage.cfg.Held != nil {
		w.stage.cfg.Held(held - w.held)
		w.held = held
	}
	if err := w.spiller.Err(); err != nil {
		return fmt.Errorf("shard %d of %s: %w", w.id, w.stage.cfg.Name, err)
	}
	return nil
}

// begin gives the operator an empty reply to fill.
func (w *worker) begin(m *Message, r *reply) {
	r.message, r.segments, r.late, r.more = m, r.segments[:0], r.late[:0], false
	if r.results == nil {
		r.results = batch.Get()
	}
	w.reply = r
	w.out.Results, w.out.Late, w.out.Segments = r.results, r.late, w.out.Segments[:0]
}

// finish takes what the operator has filled in.
func (w *worker) finish() {
	r := w.reply
	r.late, r.results = w.out.Late, w.out.Results
	w.counts.Late.Add(int64(len(r.late)))
	w.counts.Results.Add(int64(r.results.N))
}

// overflow sends what the operator has emitted so far, in the middle of a call, and gives it another reply. It is window.Output's Overflow: a
// window that is larger than memory goes out piece by piece, as fast as it is taken.
func (w *worker) overflow() bool {
	w.take(w.step)
	w.finish()
	m := w.reply.message
	w.reply.more = true
	select {
	case w.replies <- w.reply:
	case <-w.ctx.Done():
		return false
	}
	select {
	case r := <-w.free:
		w.begin(m, r)
		return true
	case <-w.ctx.Done():
		return false
	}
}

func (w *worker) advanceClock(now int64) {
	w.out.Place, w.step = 0, 0
	w.op.AdvanceProcessingTime(now)
	w.take(0)
}

// rows walks through a batch: rows up to a mark, the mark, rows up to the next.
func (w *worker) rows(m *Message) {
	var index []uint32
	if m.index != nil {
		index = m.index[w.id]
	}
	w.counts.Rows.Add(int64(len(index)))
	if m.now != 0 {
		w.advanceClock(m.now)
	}
	w.step = 0
	for _, mark := range m.marks {
		n := len(index)
		if n > 0 && index[n-1] >= mark.After {
			n = sort.Search(n, func(i int) bool { return index[i] >= mark.After })
		}
		if n > 0 {
			w.op.Process(window.Rows{Batch: m.batch, Index: index[:n], Keys: &m.keys})
			w.take(w.step)
			index = index[n:]
		}
		w.out.Place = mark.After
		w.step++
		w.op.AdvanceWatermark(mark.Watermark)
		w.ended = mark.Watermark == batch.EndOfInput
		w.take(w.step)
		w.step++
	}
	if len(index) > 0 {
		w.op.Process(window.Rows{Batch: m.batch, Index: index, Keys: &m.keys})
		w.take(w.step)
	}
}

// take tags what the last call fired with its step.
func (w *worker) take(step uint32) {
	r := w.reply
	for _, s := range w.out.Segments {
		r.segments = append(r.segments, segment{step, s})
	}
	w.out.Segments = w.out.Segments[:0]
}

// liveCost bounds what counting may take: one part in so many of the time. Results that wait bring barriers in quick succession, and for
// windows that slide each count walks through all panes.
const liveCost = 100

// countLive counts what the operator holds, unless it has cost too much of late. After the end of input it always does.
func (w *worker) countLive() {
	begun := w.stage.cfg.Clock.Now()
	if begun.Before(w.nextLive) && !w.ended {
		return
	}
	w.counts.Live.Store(int64(w.op.Live()))
	took := w.stage.cfg.Clock.Since(begun)
	w.nextLive = begun.Add(liveCost * took)
}

// publish tells the world about the operator between two messages. wake asks for the timer to look again even when the next
// alarm is the same, which it is waiting for after a tick.
func (w *worker) publish(wake bool) {
	if !w.stage.cfg.ProcessingTime {
		return
	}
	if next := w.op.NextProcessingTime(); next != w.nextDue.Swap(next) || wake {
		select { // the timer reads nextDue of all shards
		case w.stage.dueChanged <- struct{}{}:
		default:
		}
	}
}
