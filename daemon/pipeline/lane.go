package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"golang.org/x/sync/errgroup"
)

// timeRule says where a source's timestamps and watermarks come from.
type timeRule uint8

const (
	pluginTime     timeRule = iota // an assigner plugin
	sourceTime                     // the source brings both
	ingestionTime                  // the clock, when a batch arrives; watermarks follow the clock
	processingTime                 // the clock; no watermarks
)

// laneConfig is what a lane is built from.
type laneConfig struct {
	name      string
	number    uint32 // of the source in its pipeline
	clock     clock.Clock
	pool      *pool
	places    *places
	rule      timeRule
	eventTime bool // rows need a time
	source    wire.Source
	headers   *decode.Headers // csv with a header row, else nil
	columns   []*columnizer   // one for each worker
	notice    func(decode.Notice)
	maxAhead  watermark.MaxAhead
	jumps     *watermark.JumpGuard // or nil
	assigner  wire.Assigner        // rule pluginTime
	periodic  bool                 // the assigner is asked for its watermark
	interval  time.Duration        // how often; 0: after every record
	keep      bool                 // markers are data, too
	settings  watermark.PartitionsSettings
	lateness  *watermark.Lateness
	out       []*port                         // the main port, one for each worker
	letters   *letterWriter                   // takes b.Rejects and b.Bad
	gate      func(ctx context.Context) error // waits until there is room for more input
	restored  map[string]partitionState
	// contribute hands in the lane's part of a checkpoint.
	contribute func(barrier uint64, s laneSnapshot) error
	finished   func() // called once, when the source has ended or stopped and everything is sent
}

// lane is the way of one source's batches up to the inputs of stages and sinks. Five steps work side by side, and items stay in
// order from one to the next:
//
//	intake   takes events from the source and gives batches to the workers, which decode them
//	calls    waits for the decoded batch, guards it, and gives it to the assigner
//	answers  takes it back with timestamps and marks, combines the partitions' watermarks, and gives it to the workers again,
//	         which apply transforms, compute keys, format rows
//	emit     waits for that, and sends to stages and sinks
//
// Barriers enter at calls, so that the assigner's snapshot and the position that emit has reached belong to the same place.
type lane struct {
	laneConfig
	decoded  chan *item
	assigned chan *item
	ready    chan *item
	requests chan uint64

	gated atomic.Bool                 // intake waits for room
	asks  chan chan<- watermarkStatus // questions for answers

	// Owned by answers.
	combine  *watermark.Partitions
	arrivals *watermark.Ingestion // rule ingestionTime
	marks    []batch.Mark
	events   []watermark.Event
	statuses []watermark.PartitionStatus
	held     bool // partitions are marked as held, because intake waits

	// Owned by emit.
	partitions map[uint32]*partition
	gone       map[string]partitionState // partitions of an earlier run that have not come back, and ended ones

	latenessMu sync.Mutex // the sketch is read by whoever asks for a summary

	counts    laneCounts
	watermark atomic.Int64 // the combined one
}

// watermarkStatus is what a lane knows about its watermark.
type watermarkStatus struct {
	Combined   int64
	Idle       bool
	Partitions []watermark.PartitionStatus
	Holding    watermark.Holding
	Held       bool // Holding is set
}

// laneCounts are the counters of one lane; each is added to by one goroutine.
type laneCounts struct {
	In       atomic.Int64 // records that came in, those a source rejected included
	Bytes    atomic.Int64
	Rejected atomic.Int64 // went to the errors port
	Markers  atomic.Int64 // carried time and not data
	Out      atomic.Int64 // went on to the main port
	Ended    atomic.Bool
}

type partition struct {
	id       uint32
	name     string
	position []byte
	header   []byte
}

// partitionState is what a checkpoint holds about a partition.
type partitionState struct {
	position  []byte
	assigner  []byte
	header    []byte // csv
	watermark int64
	ended     bool
}

// laneSnapshot is a lane's part of a checkpoint.
type laneSnapshot struct {
	partitions map[string]partitionState
	watermark  int64
	guard      []byte
	acks       []ack // what to tell the source when the checkpoint is committed
}

type ack struct {
	partition uint32
	position  []byte
}

type itemKind uint8

const (
	batchItem itemKind = iota
	addedItem
	endedItem
	idleItem
	busyItem
	sourceEndItem
	sourceStopItem
	tickItem
	barrierItem
)

// item is one thing that travels through a lane.
type item struct {
	kind      itemKind
	partition uint32
	name      string
	position  []byte
	batch     *batch.Batch
	done      chan struct{} // one token from the worker that has it

	deferred []batch.BadRow // rows without a time that may turn out to be markers
	answered bool           // the assigner answers it
	barrier  uint64
	guard    []byte
	states   []wire.PartitionState
	marks    map[uint32]int64 // watermarks of the partitions at a barrier
	combined int64
	idle     []bool // status changes to be passed on before the batch
	out      []prepared
}

func newLane(c laneConfig) *lane {
	l := &lane{
		laneConfig: c,
		decoded:    make(chan *item, 2*c.pool.workers),
		assigned:   make(chan *item, wire.Credits),
		ready:      make(chan *item, 2*c.pool.workers),
		requests:   make(chan uint64, 1),
		asks:       make(chan chan<- watermarkStatus),
		combine:    watermark.NewPartitions(c.settings),
		arrivals:   watermark.NewIngestion(c.interval.Milliseconds()),
		partitions: map[uint32]*partition{},
		gone:       map[string]partitionState{},
	}
	for name, s := range c.restored {
		l.gone[name] = s
	}
	l.watermark.Store(batch.NoWatermark)
	return l
}

// run works until ctx is done (nil) or something fails. After the source's end it goes on to bring barriers.
func (l *lane) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.named("intake", l.intake(ctx)) })
	group.Go(func() error { return l.named("assigner", l.calls(ctx)) })
	group.Go(func() error { return l.named("assigner", l.answers(ctx)) })
	group.Go(func() error { return l.named("", l.emit(ctx)) })
	group.Go(func() error { // Recv and the assigner's calls know no context
		<-ctx.Done()
		err := l.source.Close()
		if l.assigner != nil {
			err = errors.Join(err, l.assigner.Close())
		}
		return err
	})
	return group.Wait()
}

func (l *lane) named(step string, err error) error {
	if err == nil {
		return nil
	}
	if step == "" {
		return fmt.Errorf("source %s: %w", l.name, err)
	}
	return fmt.Errorf("source %s: %s: %w", l.name, step, err)
}

// request asks for a barrier at the next place between two batches.
func (l *lane) request(ctx context.Context, barrier uint64) error {
	select {
	case l.requests <- barrier:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func send(ctx context.Context, to chan<- *item, it *item) error {
	select {
	case to <- it:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// intake takes events from the source.
func (l *lane) intake(ctx context.Context) error {
	for {
		l.gated.Store(true)
		err := l.gate(ctx)
		l.gated.Store(false)
		if err != nil {
			return quiet(ctx, err)
		}
		ev, err := l.source.Recv()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		it := &item{partition: ev.Partition, name: ev.Name, position: ev.Position, batch: ev.Batch}
		switch ev.Kind {
		case wire.SourceBatch:
			b := ev.Batch
			b.Source, b.Partition = l.number, ev.Partition
			rows := b.N + len(b.Rejects)
			if l.headers != nil {
				rows -= l.headers.Attach(b)
			}
			l.counts.In.Add(int64(rows))
			l.counts.Bytes.Add(int64(len(b.Data)))
			it.done = make(chan struct{}, 1)
			now := l.now()
			if err := l.pool.submit(ctx, func(worker int) { l.columnize(worker, it, now) }, it.done); err != nil {
				return quiet(ctx, err)
			}
		case wire.PartitionAdded:
			it.kind = addedItem
			if h := l.restored[ev.Name].header; l.headers != nil && len(h) > 0 {
				l.headers.Know(ev.Partition, h)
			}
			l.places.add(l.number, ev.Partition, ev.Name)
		case wire.PartitionEnded:
			it.kind = endedItem
			if l.headers != nil {
				l.headers.Forget(ev.Partition)
			}
		case wire.PartitionIdle:
			it.kind = idleItem
		case wire.PartitionBusy:
			it.kind = busyItem
		case wire.SourceEnded:
			it.kind = sourceEndItem
		case wire.SourceStopped:
			it.kind = sourceStopItem
		default:
			return fmt.Errorf("event of unknown kind %d", ev.Kind)
		}
		if err := send(ctx, l.decoded, it); err != nil {
			return quiet(ctx, err)
		}
	}
}

func (l *lane) columnize(worker int, it *item, now int64) {
	c := l.columns[worker]
	it.deferred = c.Columns(it.batch, now)
	for _, n := range c.notices() {
		l.notice(n)
	}
}

// calls guards batches and calls the assigner.
func (l *lane) calls(ctx context.Context) error {
	var tick <-chan time.Time
	if l.rule == ingestionTime || l.rule == pluginTime && l.periodic && l.interval > 0 {
		t := l.clock.NewTicker(max(l.interval, time.Millisecond))
		defer t.Stop()
		tick = t.C()
	}
	var open []uint32 // partitions that have an instance
	for {
		var it *item
		select {
		case it = <-l.decoded:
		case id := <-l.requests:
			it = &item{kind: barrierItem, barrier: id}
		case <-tick:
			it = &item{kind: tickItem}
		case <-ctx.Done():
			return nil
		}
		if err := l.call(ctx, it, &open); err != nil {
			return quiet(ctx, err)
		}
	}
}

func (l *lane) call(ctx context.Context, it *item, open *[]uint32) error {
	assign := l.rule == pluginTime
	switch it.kind {
	case batchItem:
		if err := l.wait(ctx, it); err != nil {
			return err
		}
		if l.maxAhead.Limit > 0 {
			now := l.now()
			l.maxAhead.Apply(it.batch, now)
			it.batch.Marks, _ = l.maxAhead.Marks(it.batch.Marks, now)
		}
		if l.jumps != nil {
			return l.callAll(ctx, it.partition, l.jumps.Apply(it.batch, nil))
		}
		return l.callBatch(ctx, it)
	case addedItem:
		if assign {
			if err := l.assigner.AddPartition(it.partition, it.name, l.restored[it.name].assigner); err != nil {
				return err
			}
			*open = append(*open, it.partition)
		}
	case endedItem:
		if l.jumps != nil {
			if err := l.callAll(ctx, it.partition, l.jumps.End(it.partition, nil)); err != nil {
				return err
			}
		}
		if assign {
			if l.periodic && l.interval > 0 { // its last word
				if err := l.callTick(ctx, []uint32{it.partition}); err != nil {
					return err
				}
			}
			if err := l.assigner.RemovePartition(it.partition); err != nil {
				return err
			}
			kept := (*open)[:0]
			for _, p := range *open {
				if p != it.partition {
					kept = append(kept, p)
				}
			}
			*open = kept
		}
	case tickItem:
		if assign {
			if len(*open) == 0 {
				return nil
			}
			return l.callTick(ctx, *open)
		}
	case barrierItem:
		if l.jumps != nil {
			it.guard = l.jumps.Snapshot(nil)
		}
		if assign {
			if err := l.assigner.Barrier(it.barrier); err != nil {
				return err
			}
			it.answered = true
		}
	}
	return send(ctx, l.assigned, it)
}

func (l *lane) callBatch(ctx context.Context, it *item) error {
	if l.rule == pluginTime && it.batch.Alive() > 0 {
		if err := l.assigner.Assign(it.batch); err != nil {
			return err
		}
		it.answered = true
	}
	return send(ctx, l.assigned, it)
}

func (l *lane) callAll(ctx context.Context, partition uint32, batches []*batch.Batch) error {
	for _, b := range batches {
		if err := l.callBatch(ctx, &item{partition: partition, batch: b}); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) callTick(ctx context.Context, partitions []uint32) error {
	if err := l.assigner.Tick(partitions); err != nil {
		return err
	}
	return send(ctx, l.assigned, &item{kind: tickItem, answered: true})
}

// wait takes the token of the worker that has the item.
func (l *lane) wait(ctx context.Context, it *item) error {
	if it.done == nil {
		return nil
	}
	select {
	case <-it.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answers takes batches back from the assigner and combines watermarks.
func (l *lane) answers(ctx context.Context) error {
	alarm := l.clock.NewTimer(math.MaxInt64)
	defer alarm.Stop()
	armed := int64(watermark.Never)
	for {
		// Activity only moves the moment of idleness away, so the alarm is set when none is, and looks again when it rings.
		if next := l.combine.NextTick(); next < armed {
			alarm.Reset(max(0, time.UnixMilli(next).Sub(l.clock.Now())))
			armed = next
		}
		select {
		case it := <-l.assigned:
			if err := l.answer(ctx, it); err != nil {
				return quiet(ctx, err)
			}
		case <-alarm.C():
			armed = watermark.Never
			now := l.now()
			l.hold(now)
			if len(l.assigned) > 0 || len(l.decoded) > 0 {
				continue // not silence: we are behind
			}
			l.events = l.combine.Tick(now, l.events[:0])
			if err := l.pass(ctx, &item{kind: tickItem}); err != nil {
				return quiet(ctx, err)
			}
		case reply := <-l.asks:
			reply <- l.status()
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *lane) answer(ctx context.Context, it *item) error {
	var got wire.AssignerEvent
	if it.answered {
		var err error
		if got, err = l.assigner.Recv(); err != nil {
			return err
		}
	}
	now := l.now()
	l.hold(now)
	l.events = l.events[:0]
	switch it.kind {
	case batchItem:
		return l.assignedBatch(ctx, it, got.Markers, now)
	case addedItem:
		l.combine.Add(it.partition, now)
		if s, ok := l.restored[it.name]; ok && s.watermark != batch.NoWatermark {
			l.events = l.combine.Update(it.partition, s.watermark, now, l.events)
		}
	case endedItem:
		l.combine.End(it.partition, now)
		l.events = l.combine.Combine(l.events)
	case idleItem:
		l.events = l.combine.MarkIdle(it.partition, now, l.events)
	case busyItem:
		l.events = l.combine.Row(it.partition, now, l.events)
	case tickItem:
		if l.rule == ingestionTime {
			if w, due := l.arrivals.Watermark(now); due {
				l.statuses = l.combine.Status(l.statuses[:0])
				for _, p := range l.statuses {
					l.combine.Defer(p.Partition, w, now)
				}
			}
		}
		for _, w := range got.Watermarks {
			if w.Watermark != batch.NoWatermark && !l.combine.Check(w.Partition, now) {
				l.combine.Defer(w.Partition, w.Watermark, now)
			}
		}
		l.events = l.combine.Combine(l.events)
	case sourceEndItem:
		l.events = l.combine.Finish(l.events)
	case barrierItem:
		it.states = append([]wire.PartitionState(nil), got.States...)
		for i := range it.states {
			it.states[i].State = append([]byte(nil), it.states[i].State...)
		}
		it.marks = map[uint32]int64{}
		l.statuses = l.combine.Status(l.statuses[:0])
		for _, p := range l.statuses {
			it.marks[p.Partition] = p.Watermark
		}
		it.combined = l.combine.Watermark()
	}
	return l.pass(ctx, it)
}

// hold stops the partitions' idleness clocks while intake waits for room: then it is us who are silent.
func (l *lane) hold(now int64) {
	gated := l.gated.Load()
	if gated == l.held {
		return
	}
	l.held = gated
	l.statuses = l.combine.Status(l.statuses[:0])
	for _, p := range l.statuses {
		if gated {
			l.combine.Hold(p.Partition, now)
		} else {
			l.combine.Resume(p.Partition, now)
		}
	}
}

func (l *lane) status() watermarkStatus {
	s := watermarkStatus{Combined: l.combine.Watermark(), Idle: l.combine.IsIdle(), Partitions: l.combine.Status(nil)}
	s.Holding, s.Held = l.combine.Holding()
	return s
}

// pass sends on an item that is no batch, with the changes of the combined watermark it has caused.
func (l *lane) pass(ctx context.Context, it *item) error {
	var marks []batch.Mark
	for _, e := range l.events {
		switch e.Kind {
		case watermark.Rise:
			marks = append(marks, batch.Mark{Watermark: e.Watermark})
		default:
			it.idle = append(it.idle, e.Kind == watermark.Idle)
		}
	}
	l.watermark.Store(l.combine.Watermark())
	if len(marks) > 0 {
		b := batch.Get()
		b.Marks = append(b.Marks, marks...)
		m := &item{batch: b, done: make(chan struct{}, 1)}
		// Active comes before the watermark it goes with, idle after: see the order of the events.
		if l.events[0].Kind == watermark.Active {
			m.idle, it.idle = it.idle[:1], it.idle[1:]
		}
		if err := l.submit(ctx, m); err != nil {
			return err
		}
	}
	return send(ctx, l.ready, it)
}

func (l *lane) assignedBatch(ctx context.Context, it *item, markers []uint32, now int64) error {
	b := it.batch
	if l.rule == ingestionTime || l.rule == processingTime {
		arrival := l.arrivals.Arrive(now)
		b.Times = b.Times[:0]
		for range b.N {
			b.Times = append(b.Times, arrival)
		}
		b.Marks = b.Marks[:0]
		if w, due := l.arrivals.Watermark(now); due && l.rule == ingestionTime {
			b.Marks = append(b.Marks, batch.Mark{After: uint32(b.N), Watermark: w})
		}
	}
	if l.eventTime {
		refuseTimeless(b, it.deferred, markers)
	}
	l.latenessMu.Lock()
	l.lateness.Observe(it.partition, b.Times, b.Sel)
	l.latenessMu.Unlock()
	var activated bool
	l.marks, activated = l.combine.Apply(it.partition, b.N, b.Marks, now, l.marks[:0])
	b.Marks = append(b.Marks[:0], l.marks...)
	if activated {
		it.idle = append(it.idle, false)
	}
	if len(markers) > 0 {
		l.counts.Markers.Add(int64(len(markers)))
		if !l.keep {
			b.Sel = without(b.Select(), markers)
		}
	}
	l.watermark.Store(l.combine.Watermark())
	it.done = make(chan struct{}, 1)
	return l.submit(ctx, it)
}

// refuseTimeless refuses the alive rows that have no time and are no markers. Reasons that decoding has found are given again.
func refuseTimeless(b *batch.Batch, reasons []batch.BadRow, markers []uint32) {
	found := false
	for _, t := range b.Times {
		found = found || t == batch.NoTimestamp
	}
	if !found {
		return
	}
	from := len(b.Bad)
	for _, r := range b.Select() {
		for len(markers) > 0 && markers[0] < r {
			markers = markers[1:]
		}
		if b.Times[r] != batch.NoTimestamp || len(markers) > 0 && markers[0] == r {
			continue
		}
		for len(reasons) > 0 && reasons[0].Row < r {
			reasons = reasons[1:]
		}
		if len(reasons) > 0 && reasons[0].Row == r {
			b.Bad = append(b.Bad, reasons[0])
			continue
		}
		b.Refuse(int(r), decode.CodeNoTimestamp, "the record has no timestamp")
	}
	b.Narrow(from)
}

// submit gives a batch to the workers that prepare it for what reads the main port. Emit wants its refused rows and position, so it
// keeps a share.
func (l *lane) submit(ctx context.Context, it *item) error {
	b := it.batch
	b.Retain(1)
	if err := l.pool.submit(ctx, func(worker int) { it.out = l.out[worker].prepare(b, it.out[:0]) }, it.done); err != nil {
		return err
	}
	return send(ctx, l.ready, it)
}

// without removes from sel the rows of drop; both ascend.
func without(sel, drop []uint32) []uint32 {
	out := sel[:0]
	k := 0
	for _, r := range sel {
		for k < len(drop) && drop[k] < r {
			k++
		}
		if k < len(drop) && drop[k] == r {
			continue
		}
		out = append(out, r)
	}
	return out
}

// emit sends what is prepared, in order.
func (l *lane) emit(ctx context.Context) error {
	for {
		select {
		case it := <-l.ready:
			if err := l.emitItem(ctx, it); err != nil {
				return quiet(ctx, err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (l *lane) emitItem(ctx context.Context, it *item) error {
	if err := l.wait(ctx, it); err != nil {
		return err
	}
	main := l.out[0]
	if it.batch != nil {
		for _, idle := range it.idle {
			if err := main.idle(idle); err != nil {
				return err
			}
		}
		return l.emitBatch(it)
	}
	switch it.kind {
	case addedItem:
		l.partitions[it.partition] = &partition{id: it.partition, name: it.name, position: l.gone[it.name].position, header: l.gone[it.name].header}
		delete(l.gone, it.name)
	case endedItem:
		if p := l.partitions[it.partition]; p != nil {
			if it.position != nil {
				p.position = it.position
			}
			l.gone[p.name] = partitionState{position: p.position, watermark: batch.NoWatermark, ended: true}
			delete(l.partitions, it.partition)
		}
	case sourceEndItem, sourceStopItem:
		l.counts.Ended.Store(true)
		defer l.finished()
	case barrierItem:
		if err := l.contribute(it.barrier, l.snapshot(it)); err != nil {
			return err
		}
		if err := main.barrier(it.barrier); err != nil {
			return err
		}
		if err := l.letters.readers.barrier(it.barrier); err != nil {
			return err
		}
	}
	for _, idle := range it.idle {
		if err := main.idle(idle); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) emitBatch(it *item) error {
	b := it.batch
	if p := l.partitions[it.partition]; p != nil && len(b.Position) > 0 {
		p.position = append(p.position[:0:0], b.Position...)
		p.header = b.Header
	}
	if n := len(b.Rejects) + len(b.Bad); n > 0 {
		l.counts.Rejected.Add(int64(n))
		if err := l.letters.refused(b); err != nil {
			return err
		}
	}
	l.counts.Out.Add(int64(b.Alive()))
	for _, p := range it.out {
		if err := p.send(); err != nil {
			return err
		}
	}
	b.Release()
	return nil
}

// snapshot is the lane's state at the place of a barrier.
func (l *lane) snapshot(it *item) laneSnapshot {
	s := laneSnapshot{partitions: map[string]partitionState{}, watermark: it.combined, guard: it.guard}
	for name, p := range l.gone {
		s.partitions[name] = p
	}
	states := map[uint32][]byte{}
	for _, st := range it.states {
		states[st.Partition] = st.State
	}
	for id, p := range l.partitions {
		w, ok := it.marks[id]
		if !ok {
			w = batch.NoWatermark
		}
		s.partitions[p.name] = partitionState{position: p.position, header: p.header, assigner: states[id], watermark: w}
		s.acks = append(s.acks, ack{id, p.position})
	}
	return s
}

func (l *lane) now() int64 { return l.clock.Now().UnixMilli() }

// quiet drops errors that only say that the lane is being ended.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
