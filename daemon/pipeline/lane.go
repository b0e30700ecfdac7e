package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
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
	journal   *journaled      // source, when it has a journal
	before    *laneSnapshot   // dead letters are brought in again: how the source stood, and stands afterwards
	headers   *decode.Headers // csv with a header row, else nil
	columns   []*columnizer   // one for each worker
	notice    func(decode.Notice)
	maxAhead  watermark.MaxAhead
	jumps     *watermark.JumpGuard // or nil
	believed  *watermark.MarkGuard // or nil; used by answers
	markers   *watermark.MarkGuard // in its stead, for markers with a field; used by calls
	assigner  wire.Assigner        // rule pluginTime
	ward      *ward                // of the assigner
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
	over       bool                                // all windows were closed by the end of an earlier run
	finished   func()                              // called once, when the source has ended or stopped and everything is sent
	trace      func(source string, b *batch.Batch) // or nil: is shown each batch with its times and the source's marks
	manual     bool                                // no alarms of its own: ticks come as requests
	align      *alignMember
	guard      []byte // what the last commit says about jumps
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
	requests chan request

	gated       atomic.Bool // intake waits for room, or for slower sources
	implausible atomic.Bool // decode.NoticeImplausible has been given

	// Owned by calls.
	begun bool              // a row has been decoded, now or before a restart
	open  []uint32          // partitions that have an instance of the assigner
	names map[uint32]string // partitions with a state in the jump guard
	away  map[string]uint32 // those of an earlier run that have not come back, with their stand-in numbers

	// Owned by answers, which changes combine under statusMu.
	statusMu sync.Mutex
	combine  *watermark.Partitions
	arrivals *watermark.Ingestion // rule ingestionTime
	marks    []batch.Mark
	events   []watermark.Event
	statuses []watermark.PartitionStatus
	held     bool // partitions are marked as held, because intake waits
	apart    heldApart

	// Owned by emit.
	partitions map[uint32]*partition
	gone       map[string]partitionState // partitions of an earlier run that have not come back, and ended ones
	journalAt  uint64                    // the record of the journal that emit has come to
	ended      []uint32                  // partitions that have ended since the last barrier
	gathering  bool                      // the source wants to know what was refused
	refusals   []partRefusals            // since the last barrier

	draining atomic.Bool // a source that stops counts as one that has ended

	latenessMu sync.Mutex // the sketch is read by whoever asks for a summary

	counts    laneCounts
	emitted   atomic.Uint64 // items that were no barrier
	watermark atomic.Int64  // the combined one
}

// laneCounts are the counters of one lane; each is added to by one goroutine.
type laneCounts struct {
	In        atomic.Int64 // records that came in, those a source rejected included; counted by calls, so that no barrier overtakes them
	Bytes     atomic.Int64
	Rejected  atomic.Int64 // went to the errors port
	Markers   atomic.Int64 // carried time and not data
	Out       atomic.Int64 // went on to the main port
	Ignored   atomic.Int64 // watermarks that would have gone back
	Refrained atomic.Int64 // those that the assigner itself has kept back
	TooFar    atomic.Int64 // watermarks further ahead of the clock than max_ahead allows
	// Unconfirmed counts watermarks far ahead of the rows that nothing has confirmed.
	Unconfirmed atomic.Int64
	Suspect     atomic.Int64 // timestamps outside of 1990 to 2100, since some have looked like another unit than the declared one
	PastEnd     atomic.Int64 // records behind the end of all input
	Ended       atomic.Bool
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
	idle      bool
	marks     []byte // of the guard of watermarks
}

// partitionMark is where a partition's event time stands.
type partitionMark struct {
	watermark int64
	idle      bool
	guard     []byte
}

// laneSnapshot is a lane's part of a checkpoint.
type laneSnapshot struct {
	partitions map[string]partitionState
	watermark  int64
	guard      []byte
	acks       []ack          // what to tell the source when the checkpoint is committed
	journalAt  uint64         // the record of the journal that it holds, for sources that have one
	ended      []uint32       // partitions of which nothing is on its way any more once it is committed
	refusals   []partRefusals // to be told before acks, where the source wants to know
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
	alarmItem // a partition may have become idle; only in manual lanes, others have a timer
	barrierItem
)

// request is something that enters a lane between two batches.
type request struct {
	kind    itemKind // barrierItem; in manual lanes also tickItem and alarmItem
	barrier uint64
}

// item is one thing that travels through a lane.
type item struct {
	kind      itemKind
	partition uint32
	name      string
	position  []byte
	batch     *batch.Batch
	done      chan struct{} // one token from the worker that has it
	rows      int           // records that came with the batch, those a source rejected included, header rows not
	bytes     int           // of the batch's data

	deferred []batch.BadRow // rows without a time that may turn out to be markers
	severe   string         // a severe notice of decoding
	answered bool           // the assigner answers it
	barrier  uint64
	guard    []byte
	doubts   map[uint32][]byte // what the guard of markers knows at a barrier
	states   []wire.PartitionState
	marks    map[uint32]partitionMark // where the partitions' event time stands at a barrier
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
		requests:   make(chan request, 1),
		names:      map[uint32]string{},
		away:       map[string]uint32{},
		combine:    watermark.NewPartitions(c.settings),
		arrivals:   watermark.NewIngestion(c.interval.Milliseconds()),
		partitions: map[uint32]*partition{},
		gone:       map[string]partitionState{},
	}
	for name, s := range c.restored {
		if name != journalPartition || c.journal == nil {
			l.gone[name] = s
		}
	}
	if c.journal != nil {
		l.journalAt = c.journal.number
	}
	l.watermark.Store(batch.NoWatermark)
	return l
}

// drainTimeout bounds how long a source may take to come to an end when its lane is ended; only then it is cut off.
const drainTimeout = 2 * time.Second

// run works until ctx is done (nil) or something fails. After the source's end it goes on to bring barriers.
func (l *lane) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	taken := make(chan struct{})
	group.Go(func() error {
		defer close(taken)
		err := l.named("intake", l.intake(ctx))
		if l.journal != nil {
			l.journal.drain()
		}
		return err
	})
	group.Go(func() error { return l.named("assigner", l.calls(ctx)) })
	group.Go(func() error { return l.named("assigner", l.answers(ctx)) })
	group.Go(func() error { return l.named("", l.emit(ctx)) })
	if l.apart.holder != nil && !l.manual {
		group.Go(func() error { return l.named("", l.holdApart(ctx)) })
	}
	group.Go(func() error { // Recv and the assigner's calls know no context
		<-ctx.Done()
		if l.journal != nil && l.source.Stop() == nil {
			select {
			case <-taken:
			case <-l.clock.NewTimer(drainTimeout).C():
			}
		}
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

// request asks for a barrier or a tick at the next place between two batches.
func (l *lane) request(ctx context.Context, r request) error {
	select {
	case l.requests <- r:
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
		if ev.Kind == wire.SourceBatch && l.align != nil {
			if err := l.align.wait(ctx, &l.gated); err != nil {
				return quiet(ctx, err)
			}
		}
		it := &item{partition: ev.Partition, name: ev.Name, position: ev.Position, batch: ev.Batch}
		switch ev.Kind {
		case wire.SourceBatch:
			b := ev.Batch
			b.Source, b.Partition = l.number, ev.Partition
			it.rows, it.bytes = b.N+len(b.Rejects), len(b.Data)
			if l.headers != nil {
				it.rows -= l.headers.Attach(b)
			}
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
			if l.draining.Load() {
				it.kind = sourceEndItem
			}
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
		if n.Code == decode.NoticeImplausible {
			l.implausible.Store(true)
		}
		if n.Severe {
			it.severe = n.Message
		}
		l.notice(n)
	}
}

func (l *lane) now() int64 { return l.clock.Now().UnixMilli() }

// quiet drops errors that only say that the lane is being ended.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
