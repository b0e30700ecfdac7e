package scenario

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// script is everything that one source has ever said in a case, partition by partition. It outlives the processes of the case: each life
// opens a feed, which begins behind the positions that the life before had committed.
type script struct {
	name       string
	columns    bool // batches come with columns instead of raw rows
	history    []event
	partitions []string
	rows       map[string]int // of each partition
	count      map[string]int // events of each partition
	ended      bool
}

// event is one thing that a partition says. Its position is its number in the partition, and counts as reached with the event.
type event struct {
	kind      wire.SourceEventKind
	partition string
	number    int // of the partition's events, from 1
	first     int // number of the first row in the partition
	rows      [][]byte
	cells     *batch.Batch // instead of rows, for sources with columns; shared by all lives
	times     []int64
	marks     []batch.Mark
}

func newScript(name string, columns bool) *script {
	return &script{name: name, columns: columns, rows: map[string]int{}, count: map[string]int{}}
}

// add appends to the history what a partition says; an unknown partition begins with it.
func (s *script) add(e event) []event {
	var out []event
	if _, known := s.count[e.partition]; !known {
		s.partitions = append(s.partitions, e.partition)
		s.count[e.partition] = 0
		out = append(out, event{kind: wire.PartitionAdded, partition: e.partition})
	}
	if e.kind != wire.PartitionAdded {
		s.count[e.partition]++
		e.number, e.first = s.count[e.partition], s.rows[e.partition]
		n := len(e.rows)
		if e.cells != nil {
			n = e.cells.N
		}
		s.rows[e.partition] += n
		out = append(out, e)
	}
	s.history = append(s.history, out...)
	return out
}

// defaultPartition is the partition of steps that name none.
func (s *script) defaultPartition() string {
	if len(s.partitions) > 0 {
		return s.partitions[0]
	}
	return "test"
}

// feed is a script as a running source. The driver hands it one event after the other: see give.
type feed struct {
	script  *script
	numbers map[string]uint32
	held    map[string]bool // partitions that the pipeline wants nothing of for now
	pending []event         // not yet given

	ready  chan struct{} // Recv is asking
	events chan wire.SourceEvent
	armed  bool // Recv has asked and not been answered; belongs to whoever gives
	silent bool // the last event has been said; belongs to Recv

	stop, closed         chan struct{}
	stopOnce, closedOnce sync.Once
}

// open begins a feed behind the positions of the last commit.
func (s *script) open(restored []wire.RestoredPartition) (*feed, error) {
	f := &feed{script: s, numbers: map[string]uint32{}, held: map[string]bool{}, ready: make(chan struct{}), events: make(chan wire.SourceEvent),
		stop: make(chan struct{}), closed: make(chan struct{})}
	reached, ended := map[string]int{}, map[string]bool{}
	for _, r := range restored {
		if len(r.Position) > 0 {
			n, size := binary.Uvarint(r.Position)
			if size <= 0 {
				return nil, fmt.Errorf("partition %s has a position that the script did not give", r.Name)
			}
			reached[r.Name] = int(n)
		}
		ended[r.Name] = r.Ended
	}
	for _, e := range s.history {
		switch {
		case ended[e.partition]:
		case e.kind == wire.PartitionAdded, e.number > reached[e.partition]:
			f.pending = append(f.pending, e)
		}
	}
	if s.ended {
		f.pending = append(f.pending, event{kind: wire.SourceEnded})
	}
	return f, nil
}

// next is the event that give would give, or nil: the first of a partition that is not held.
func (f *feed) next() *event {
	if i := f.first(); i >= 0 {
		return &f.pending[i]
	}
	return nil
}

func (f *feed) first() int {
	for i, e := range f.pending {
		if e.kind == wire.SourceEnded && i > 0 {
			return -1 // behind everything
		}
		if !f.held[e.partition] {
			return i
		}
	}
	return -1
}

// Hold implements wire.Holder. It is called by whoever calls next and give.
func (f *feed) Hold(partition uint32, held bool) error {
	for name, number := range f.numbers {
		if number == partition {
			f.held[name] = held
		}
	}
	return nil
}

// give hands the next event over and returns when the pipeline has taken it in. It returns false when the attempt has ended.
func (f *feed) give(done <-chan struct{}) bool {
	i := f.first()
	e := f.pending[i]
	f.pending = slices.Delete(f.pending, i, i+1)
	if !f.arm(done) {
		return false
	}
	select {
	case f.events <- f.event(e):
	case <-f.closed:
		return false
	case <-done:
		return false
	}
	f.armed = false
	return f.arm(done)
}

// arm waits until Recv asks: then what was given before is on its way.
func (f *feed) arm(done <-chan struct{}) bool {
	if f.armed {
		return true
	}
	select {
	case <-f.ready:
		f.armed = true
		return true
	case <-f.closed:
		return false
	case <-done:
		return false
	}
}

func (f *feed) event(e event) wire.SourceEvent {
	out := wire.SourceEvent{Kind: e.kind, Name: e.partition}
	switch e.kind {
	case wire.SourceEnded:
		return out
	case wire.PartitionAdded:
		f.numbers[e.partition] = uint32(len(f.numbers))
	case wire.SourceBatch:
		b := batch.Get()
		b.Partition = f.numbers[e.partition]
		b.Base, b.Unit = int64(e.first), batch.RecordNumber
		if e.cells != nil {
			b.AppendRows(e.cells, 0, e.cells.N)
		} else if len(e.rows) > 0 {
			b.Offsets = append(b.Offsets, 0)
			for _, row := range e.rows {
				b.Data = append(append(b.Data, row...), '\n')
				b.Offsets = append(b.Offsets, uint32(len(b.Data)))
			}
			b.N, b.Trailer = len(e.rows), 1
		}
		b.Times = append(b.Times[:0], e.times...)
		b.Marks = append(b.Marks, e.marks...)
		b.Position = binary.AppendUvarint(nil, uint64(e.number))
		out.Batch = b
	}
	out.Partition = f.numbers[e.partition]
	out.Position = binary.AppendUvarint(nil, uint64(e.number))
	return out
}

// Recv is the pipeline's side.
func (f *feed) Recv() (wire.SourceEvent, error) {
	select {
	case f.ready <- struct{}{}:
	case <-f.stop:
		return f.stopped()
	case <-f.closed:
		return wire.SourceEvent{}, io.EOF
	}
	if f.silent {
		return wire.SourceEvent{}, io.EOF
	}
	select {
	case e := <-f.events:
		f.silent = e.Kind == wire.SourceEnded
		return e, nil
	case <-f.stop:
		return f.stopped()
	case <-f.closed:
		return wire.SourceEvent{}, io.EOF
	}
}

// stopped answers a stop, once; a source that has ended has said its last.
func (f *feed) stopped() (wire.SourceEvent, error) {
	if f.silent {
		return wire.SourceEvent{}, io.EOF
	}
	f.silent = true
	return wire.SourceEvent{Kind: wire.SourceStopped}, nil
}

func (f *feed) Ack(uint32, []byte) error { return nil }

func (f *feed) Stop() error {
	f.stopOnce.Do(func() { close(f.stop) })
	return nil
}

func (f *feed) Close() error {
	f.closedOnce.Do(func() { close(f.closed) })
	return nil
}
