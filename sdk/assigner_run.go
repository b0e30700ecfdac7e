package sdk

import (
	"fmt"
	"io"
	"sync"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// assignerRun is a running assigner: an instance for each partition. It works in the goroutine of its caller; answers wait in a channel.
type assignerRun struct {
	desc    Description
	open    wire.AssignerOpen
	make    func() (BatchAssigner, error)
	parts   map[uint32]*assignerPart
	whole   batch.Batch // what instances get of a batch without a selection: its own columns
	dense   batch.Batch // what they get of one with a selection: copies. NB: never the same value, or the copies of one would be written over another
	memory  wire.DenseMemory
	times   []int64
	answers chan wire.AssignerEvent

	closing sync.Once
	closed  chan struct{}
}

// assignerPart is one partition's instance.
type assignerPart struct {
	instance BatchAssigner
	a        Assignment
}

func newAssignerRun(d Description, o wire.AssignerOpen, make_ func() (BatchAssigner, error)) (*assignerRun, error) {
	if _, err := make_(); err != nil { // what the factory refuses shows now and not at the first partition
		return nil, asOptionErrors(err)
	}
	return &assignerRun{desc: d, open: o, make: make_, parts: map[uint32]*assignerPart{},
		answers: make(chan wire.AssignerEvent, wire.Credits), closed: make(chan struct{})}, nil
}

func (r *assignerRun) AddPartition(id uint32, name string, state []byte) error {
	instance, err := r.make()
	if err != nil {
		return fmt.Errorf("start assigner %s for partition %q: %w", r.desc.Name, name, err)
	}
	p := &assignerPart{instance: instance}
	p.a.EveryRecord = r.open.EveryRecord || r.desc.Style != Periodic
	p.a.marks = newMarker(r.open.Bucket, r.open.Offset)
	p.a.marks.muted = !p.a.EveryRecord
	if p.a.marks.muted {
		p.a.marks.next = batch.EndOfInput
	}
	if len(state) > 0 {
		s, ok := authorOf(instance).(Snapshotter)
		if !ok {
			return fmt.Errorf("partition %q has a snapshot, but assigner %s cannot restore one", name, r.desc.Name)
		}
		if err := s.Restore(state); err != nil {
			return fmt.Errorf("restore assigner %s for partition %q: %w", r.desc.Name, name, err)
		}
	}
	r.parts[id] = p
	return nil
}

func (r *assignerRun) RemovePartition(id uint32) error {
	delete(r.parts, id)
	return nil
}

func (r *assignerRun) Assign(b *batch.Batch) error {
	p := r.parts[b.Partition]
	if p == nil {
		return fmt.Errorf("assigner %s was not told of partition %d", r.desc.Name, b.Partition)
	}
	a := &p.a
	a.Batch, a.changed, a.markers, a.bad = r.view(b), false, a.markers[:0], a.bad[:0]
	if err := protect(func() error { p.instance.AssignBatch(a); return nil }); err != nil {
		return fmt.Errorf("assigner %s: %w", r.desc.Name, err)
	}
	var times []int64
	if a.changed {
		times = a.times
	}
	e := wire.AssignerEvent{Kind: wire.Assigned, Batch: b, Unchanged: !a.changed}
	e.Markers = wire.ApplyAssignment(b, times, a.marks.finish(), a.markers, a.bad, nil)
	return r.answer(e)
}

// view gives the selected rows of b. Without a selection nothing is copied.
func (r *assignerRun) view(b *batch.Batch) *batch.Batch {
	if b.Sel == nil {
		d := &r.whole
		d.N, d.Data, d.Offsets, d.Trailer, d.Extra = b.N, b.Data, b.Offsets, b.Trailer, b.Extra
		d.Columns, d.Partition = b.Columns, b.Partition
		if len(b.Times) == b.N {
			d.Times = b.Times
			return d
		}
		r.times = timesOf(b, r.times)
		d.Times = r.times
		return d
	}
	d := &r.dense
	wire.Dense(d, b, &r.memory, r.desc.Raw)
	r.times = append(r.times[:0], d.Times...)
	d.Times = r.times
	return d
}

func (r *assignerRun) Tick(partitions []uint32) error {
	e := wire.AssignerEvent{Kind: wire.Ticked}
	for _, id := range partitions {
		w := wire.PartitionWatermark{Partition: id, Watermark: batch.NoWatermark}
		if p := r.parts[id]; p != nil {
			if reader, ok := authorOf(p.instance).(WatermarkReader); ok {
				if err := protect(func() error { w.Watermark = int64(reader.CurrentWatermark()); return nil }); err != nil {
					return fmt.Errorf("assigner %s: %w", r.desc.Name, err)
				}
			}
		}
		e.Watermarks = append(e.Watermarks, w)
	}
	return r.answer(e)
}

func (r *assignerRun) Barrier(id uint64) error {
	e := wire.AssignerEvent{Kind: wire.Snapshot, Barrier: id}
	for n, p := range r.parts {
		s, ok := authorOf(p.instance).(Snapshotter)
		if !ok {
			continue
		}
		state, err := s.Snapshot()
		if err != nil {
			return fmt.Errorf("snapshot of assigner %s: %w", r.desc.Name, err)
		}
		e.States = append(e.States, wire.PartitionState{Partition: n, State: state})
	}
	return r.answer(e)
}

func (r *assignerRun) answer(e wire.AssignerEvent) error {
	select {
	case <-r.closed:
		return io.ErrClosedPipe
	default:
	}
	select {
	case r.answers <- e:
		return nil
	case <-r.closed:
		return io.ErrClosedPipe
	}
}

func (r *assignerRun) Recv() (wire.AssignerEvent, error) {
	select {
	case e := <-r.answers:
		return e, nil
	case <-r.closed:
		return wire.AssignerEvent{}, io.EOF
	}
}

func (r *assignerRun) Close() error {
	r.closing.Do(func() { close(r.closed) })
	return nil
}
