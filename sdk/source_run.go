package sdk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// sourceRun is a running source: the author's Run in a goroutine of its own, the batches it fills, and the events that wait for Recv.
type sourceRun struct {
	open   wire.SourceOpen
	name   string
	events chan wire.SourceEvent

	stop     context.Context // done: Run is to return
	stopRun  context.CancelFunc
	stopping atomic.Bool
	closed   chan struct{} // closed: nobody reads events any more
	finished chan struct{} // closed: nobody sends any more
	closing  sync.Once
	wg       sync.WaitGroup

	mu    sync.Mutex
	parts map[string]*partition // by name, those that have not ended
	byID  map[uint32]*partition // beside these, ended ones whose last position has not been acknowledged
	left  map[string][]byte     // where ended partitions stood that can go on; connections come and go without one, in any number
	next  uint32                // the number of the next partition
	holds chan struct{}         // closed, and replaced, when a partition is held or goes on

	acks    chan ack   // nil: the source is no Acker
	refused []refusals // to be told before the next acknowledgement; under mu

	takesRefusals bool
	ackFailed     atomic.Pointer[error]

	failure error // why the run ended; set before finished is closed
}

type ack struct {
	partition string
	position  []byte
}

const (
	defaultBatchRows  = 4096
	defaultBatchBytes = 128 << 10
	defaultLinger     = time.Millisecond
	ackBacklog        = 64
)

func newSourceRun(name string, o wire.SourceOpen) *sourceRun {
	if o.BatchRows <= 0 {
		o.BatchRows = defaultBatchRows
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = defaultBatchBytes
	}
	if o.Linger <= 0 {
		o.Linger = defaultLinger
	}
	if o.Framing.MaxRecord <= 0 {
		o.Framing.MaxRecord = 1 << 20
	}
	r := &sourceRun{open: o, name: name, events: make(chan wire.SourceEvent, wire.Credits), closed: make(chan struct{}), finished: make(chan struct{}),
		parts: map[string]*partition{}, byID: map[uint32]*partition{}, left: map[string][]byte{}, holds: make(chan struct{})}
	r.stop, r.stopRun = context.WithCancel(context.Background())
	return r
}

// start runs the source until it ends.
func (r *sourceRun) start(run func(ctx context.Context) error, acker Acker) {
	_, r.takesRefusals = acker.(RefusalTaker)
	if acker != nil {
		r.acks = make(chan ack, ackBacklog)
		r.wg.Go(func() {
			for {
				select {
				case a := <-r.acks:
					err := protect(func() error {
						r.tellRefused(acker)
						acker.Ack(a.partition, a.position)
						return nil
					})
					if err != nil {
						r.ackFailed.CompareAndSwap(nil, &err)
						r.stopRun()
						return
					}
				case <-r.stop.Done():
					return
				}
			}
		})
	}
	r.wg.Go(func() {
		err := protect(func() error { return run(r.stop) })
		r.finish(err)
	})
}

// finish flushes what is left and says how the run ended.
func (r *sourceRun) finish(err error) {
	if failed := r.ackFailed.Load(); failed != nil {
		err = fmt.Errorf("acknowledge: %w", *failed)
	}
	stopped := r.stopping.Load()
	if stopped && (err == nil || errors.Is(err, context.Canceled) || errors.Is(err, errStopped)) {
		err = nil
	}
	r.mu.Lock()
	parts := slices.SortedFunc(maps.Values(r.parts), func(a, b *partition) int { return cmp.Compare(a.id, b.id) })
	r.mu.Unlock()
	for _, p := range parts {
		if err == nil {
			p.mu.Lock()
			p.flush()
			p.mu.Unlock()
		}
		p.timer.Stop()
	}
	switch {
	case err != nil:
		r.failure = fmt.Errorf("source %s: %w", r.name, err)
	case stopped:
		r.emit(wire.SourceEvent{Kind: wire.SourceStopped})
	default:
		r.emit(wire.SourceEvent{Kind: wire.SourceEnded})
	}
	r.stopRun()
	close(r.finished)
}

// emit hands an event to Recv; false when nobody listens any more. A partition's timer, or a goroutine that the source has left behind, may still call
// it when the run has finished.
func (r *sourceRun) emit(e wire.SourceEvent) bool {
	select {
	case <-r.finished:
	default:
		select {
		case r.events <- e:
			return true
		case <-r.closed:
		case <-r.finished:
		}
	}
	if e.Batch != nil {
		e.Batch.Release()
	}
	return false
}

func (r *sourceRun) Recv() (wire.SourceEvent, error) {
	select {
	case e := <-r.events:
		return e, nil
	case <-r.closed:
		return wire.SourceEvent{}, io.EOF
	case <-r.finished:
	}
	select {
	case e := <-r.events: // the last ones
		return e, nil
	default:
	}
	if err := r.failure; err != nil {
		r.failure = io.EOF
		return wire.SourceEvent{}, err
	}
	return wire.SourceEvent{}, io.EOF
}

func (r *sourceRun) Ack(id uint32, position []byte) error {
	if r.acks == nil || len(position) == 0 {
		return nil
	}
	r.mu.Lock()
	p, next := r.byID[id], r.next
	if p != nil && p.ended.Load() && bytes.Equal(position, p.sent) {
		delete(r.byID, id)
	}
	r.mu.Unlock()
	switch {
	case id >= next:
		return fmt.Errorf("source %s has no partition %d", r.name, id)
	case p == nil: // it has ended, and its last position has been acknowledged
		return nil
	}
	a := ack{p.name, bytes.Clone(position)}
	for {
		select {
		case r.acks <- a:
			return nil
		case <-r.stop.Done():
			return nil
		default:
		}
		select { // the source is slow: a later acknowledgement says more than an earlier one
		case <-r.acks:
		default:
		}
	}
}

func (r *sourceRun) Stop() error {
	r.stopping.Store(true)
	r.stopRun()
	return nil
}

func (r *sourceRun) Close() error {
	r.stopping.Store(true)
	r.closing.Do(func() { close(r.closed) })
	r.stopRun()
	r.wg.Wait()
	for {
		select {
		case e := <-r.events:
			if e.Batch != nil {
				e.Batch.Release()
			}
		default:
			return nil
		}
	}
}

// partition is the part of a Partition that does not depend on the type of its events.
type partition struct {
	run      *sourceRun
	id       uint32
	name     string
	restored []byte
	writer   any

	mu      sync.Mutex
	b       *batch.Batch // being filled, or nil
	timer   *time.Timer  // flushes b when it has waited
	count   int64
	counted bool // positions are counts
	high    int64
	sent    []byte // the position behind the last batch that had one
	ended   atomic.Bool
	held    atomic.Bool
}

var errStopped = errors.New("the source is to stop")

func (r *sourceRun) partition(name string) *partition {
	r.mu.Lock()
	if old := r.parts[name]; old != nil {
		r.mu.Unlock()
		return old
	}
	p := &partition{run: r, id: r.next, name: name, high: batch.NoWatermark}
	r.next++
	for _, known := range r.open.Restored {
		if known.Name == name {
			p.restored = known.Position
		}
	}
	if sent, ok := r.left[name]; ok { // it has ended in this run, and goes on
		p.restored = sent
		delete(r.left, name)
	}
	p.sent = p.restored
	p.count, p.counted = countOf(p.restored)
	p.timer = time.AfterFunc(time.Hour, p.lingered)
	p.timer.Stop()
	r.parts[name], r.byID[p.id] = p, p
	p.mu.Lock() // whoever finds it now waits until it has been told of
	defer p.mu.Unlock()
	r.mu.Unlock()
	r.emit(wire.SourceEvent{Kind: wire.PartitionAdded, Partition: p.id, Name: name, Position: p.restored})
	return p
}

// A counted position is "#" and a number.
func countOf(position []byte) (int64, bool) {
	if len(position) < 2 || position[0] != '#' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(position[1:]), 10, 64)
	return n, err == nil
}

// begin returns the batch to write to.
func (p *partition) begin() (*batch.Batch, error) {
	if p.run.stopping.Load() {
		return nil, errStopped
	}
	if p.b == nil {
		if p.ended.Load() {
			return nil, fmt.Errorf("partition %q has ended", p.name)
		}
		p.b = batch.Get()
		p.b.Partition, p.b.Base = p.id, p.count
		p.timer.Reset(p.run.open.Linger)
	}
	return p.b, nil
}

// wrote finishes a row that has been appended to b.
func (p *partition) wrote(b *batch.Batch, timestamp int64, position []byte) error {
	if timestamp != batch.NoTimestamp || len(b.Times) > 0 {
		for len(b.Times) < b.N {
			b.Times = append(b.Times, batch.NoTimestamp)
		}
		b.Times = append(b.Times, timestamp)
	}
	b.N++
	p.count++
	if p.counted = position == nil; !p.counted {
		b.Position = append(b.Position[:0], position...)
	}
	if b.N >= p.run.open.BatchRows || len(b.Data)+len(b.Extra) >= p.run.open.BatchBytes {
		return p.flush()
	}
	return nil
}

// flush sends the batch, if there is one. mu is held.
func (p *partition) flush() error {
	b := p.b
	if b == nil {
		return nil
	}
	p.b = nil
	p.timer.Stop()
	if len(b.Times) > 0 {
		for len(b.Times) < b.N {
			b.Times = append(b.Times, batch.NoTimestamp)
		}
	}
	if b.N > 0 && p.counted {
		b.Position = strconv.AppendInt(append(b.Position[:0], '#'), p.count, 10)
	}
	return p.emitBatch(b)
}

// emitBatch hands a batch over.
func (p *partition) emitBatch(b *batch.Batch) error {
	if len(b.Position) > 0 {
		p.sent = append(p.sent[:0:0], b.Position...)
	}
	if !p.run.emit(wire.SourceEvent{Kind: wire.SourceBatch, Partition: p.id, Batch: b}) {
		return errStopped
	}
	return nil
}

// lingered runs when a batch has waited long enough.
func (p *partition) lingered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.flush() // the next call of the source meets the same error
}

func (p *partition) flushNow() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flush()
}

func (p *partition) send(b *batch.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run.stopping.Load() {
		b.Release()
		return errStopped
	}
	if err := p.flush(); err != nil {
		b.Release()
		return err
	}
	b.Partition = p.id
	p.count += int64(b.N)
	return p.emitBatch(b)
}

func (p *partition) emitWatermark(w int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w <= p.high {
		return nil
	}
	b, err := p.begin()
	if err != nil {
		return err
	}
	p.high = w
	b.Marks = append(b.Marks, batch.Mark{After: uint32(b.N), Watermark: w})
	return nil
}

func (p *partition) control(kind wire.SourceEventKind, _ bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.flush(); err != nil {
		return err
	}
	if !p.run.emit(wire.SourceEvent{Kind: kind, Partition: p.id}) {
		return errStopped
	}
	return nil
}

func (p *partition) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended.Load() {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.run.forget(p)
	if !p.run.emit(wire.SourceEvent{Kind: wire.PartitionEnded, Partition: p.id}) {
		return errStopped
	}
	return nil
}

// forget drops a partition that ends; p.mu is held.
func (r *sourceRun) forget(p *partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.ended.Store(true)
	p.timer.Stop()
	if r.parts[p.name] == p {
		delete(r.parts, p.name)
	}
	if len(p.sent) > 0 {
		r.left[p.name] = p.sent
	}
	if r.acks == nil || len(p.sent) == 0 {
		delete(r.byID, p.id)
	}
}

func newSourcePlugin[E, C any](name, summary string, about []About, newSource func(C) (Source[E], error)) Plugin {
	d := describe[C](KindSource, name, summary)
	s, err := shapeOf[E]()
	if err != nil {
		panic(fmt.Sprintf("sdk: source plugin %q: %v", name, err))
	}
	d.Output = s.columns()
	d = finish(d, about)
	p := Plugin{desc: d, check: checkOptions[C]}
	p.source = func(o wire.SourceOpen, r wire.Runtime) (wire.Source, error) {
		env := Env{log: r.Logger, metrics: r.Metrics, place: o.Place}
		config, err := decodeOptions[C](o.Options, env)
		if err != nil {
			return nil, err
		}
		source, err := newSource(config)
		if err != nil {
			return nil, asOptionErrors(err)
		}
		run := newSourceRun(name, o)
		acker, _ := source.(Acker)
		run.start(func(ctx context.Context) error {
			return source.Run(ctx, &SourceContext[E]{Env: env, run: run, shape: s})
		}, acker)
		return run, nil
	}
	return p
}
