package wire

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
)

// OpenAssigner starts an assigner on the other side. want is what its description asks for; ctx bounds the start only.
func (c *Client) OpenAssigner(ctx context.Context, o AssignerOpen, want Wanted) (Assigner, error) {
	op := openStream(ctx)
	a := &assignerClient{client: c, ctx: op.ctx, cancel: op.cancel, asked: make(chan question, Credits),
		out: rowsRequest[*pluginv1.AssignerRequest]{want: &want, frames: new(ring)}}
	err := a.open(o)
	if err = op.opened(ctx, err); err != nil {
		return nil, err
	}
	return a, nil
}

// assignerClient is an assigner on the other side. What was asked waits in a channel for its answer, which also bounds how much is on
// the way.
type assignerClient struct {
	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	stream pluginv1.Assigner_AssignClient

	out   rowsRequest[*pluginv1.AssignerRequest]
	asked chan question

	in      assignerResponse
	markers []uint32
	failed  error // said by Recv again and again
}

// question is a call that has an answer.
type question struct {
	kind       AssignerEventKind
	batch      *batch.Batch
	partitions []uint32
	barrier    uint64
}

func (a *assignerClient) open(o AssignerOpen) error {
	var err error
	if a.stream, err = pluginv1.NewAssignerClient(a.client.conn).Assign(a.ctx); err != nil {
		return a.client.explain(err)
	}
	shared := a.client.shared.take()
	w := &pluginv1.AssignerOpen{Open: wireOpen(o.Plugin, o.Options, o.Place), EveryRecord: o.EveryRecord, Bucket: o.Bucket, Offset: o.Offset}
	w.Open.Shared = shared.offer()
	if err := a.stream.Send(&pluginv1.AssignerRequest{Request: &pluginv1.AssignerRequest_Open{Open: w}}); err != nil && err != io.EOF {
		return a.client.explain(err)
	}
	if err := a.stream.RecvMsg(&a.in); err != nil {
		return a.client.explain(err)
	}
	switch r := a.in.control.GetResponse().(type) {
	case *pluginv1.AssignerResponse_Opened:
		a.out.shared = shared.agreed(r.Opened)
		a.in.shared = a.out.shared
		return nil
	case *pluginv1.AssignerResponse_Failed:
		return failure(r.Failed)
	}
	return errUnexpected
}

func (a *assignerClient) AddPartition(id uint32, name string, state []byte) error {
	return a.control(&pluginv1.AssignerRequest{Request: &pluginv1.AssignerRequest_Add{Add: &pluginv1.AddPartition{Partition: id, Name: name, State: state}}})
}

func (a *assignerClient) RemovePartition(id uint32) error {
	return a.control(&pluginv1.AssignerRequest{Request: &pluginv1.AssignerRequest_Remove{Remove: &pluginv1.PartitionEvent{Partition: id}}})
}

func (a *assignerClient) Assign(b *batch.Batch) error {
	if err := a.ask(question{kind: Assigned, batch: b}); err != nil {
		return err
	}
	a.out.send = b
	return a.sent(a.stream.SendMsg(&a.out))
}

func (a *assignerClient) Tick(partitions []uint32) error {
	if err := a.ask(question{kind: Ticked, partitions: append([]uint32(nil), partitions...)}); err != nil {
		return err
	}
	list := make([]byte, 0, 4*len(partitions))
	for _, p := range partitions {
		list = binary.LittleEndian.AppendUint32(list, p)
	}
	return a.control(&pluginv1.AssignerRequest{Request: &pluginv1.AssignerRequest_Tick{Tick: &pluginv1.Tick{Partitions: list}}})
}

func (a *assignerClient) Barrier(id uint64) error {
	if err := a.ask(question{kind: Snapshot, barrier: id}); err != nil {
		return err
	}
	return a.control(&pluginv1.AssignerRequest{Request: &pluginv1.AssignerRequest_Barrier{Barrier: &pluginv1.Barrier{Id: id}}})
}

// ask waits for room. It is called before sending, so that Recv finds the question when the answer comes.
func (a *assignerClient) ask(q question) error {
	select {
	case a.asked <- q:
		return nil
	case <-a.ctx.Done():
		return io.ErrClosedPipe
	}
}

func (a *assignerClient) control(r *pluginv1.AssignerRequest) error {
	a.out.send, a.out.control = nil, r
	return a.sent(a.stream.SendMsg(&a.out))
}

// sent passes on an error of sending. An EOF says only that the other side has ended the stream: Recv tells why.
func (a *assignerClient) sent(err error) error {
	if err == nil || err == io.EOF {
		return nil
	}
	return a.client.ended(a.ctx, err)
}

func (a *assignerClient) Recv() (AssignerEvent, error) {
	if a.failed != nil {
		return AssignerEvent{}, a.failed
	}
	e, err := a.receive()
	if err != nil {
		a.failed = err
		a.cancel()
	}
	return e, err
}

func (a *assignerClient) receive() (AssignerEvent, error) {
	if err := a.stream.RecvMsg(&a.in); err != nil {
		return AssignerEvent{}, a.client.ended(a.ctx, err)
	}
	if f := a.in.control.GetFailed(); f != nil && !a.in.isAssigned {
		return AssignerEvent{}, failure(f)
	}
	var q question
	select {
	case q = <-a.asked:
	default:
		return AssignerEvent{}, a.client.nonsense("%v", errUnexpected)
	}
	e := AssignerEvent{Kind: q.kind, Batch: q.batch, Barrier: q.barrier}
	switch {
	case q.kind == Assigned && a.in.isAssigned:
		b := q.batch
		if err := a.in.check(b.Alive()); err != nil {
			return e, a.client.nonsense("%v", err)
		}
		var times []int64
		if len(a.in.times) > 0 {
			times = a.in.times
		}
		e.Unchanged = times == nil
		a.markers = ApplyAssignment(b, times, a.in.marks, a.in.markers, a.in.bad, a.markers)
		e.Markers = a.markers
		return e, nil
	case q.kind == Ticked && !a.in.isAssigned && a.in.control.GetTicked() != nil:
		values := a.in.control.GetTicked().GetWatermarks()
		if len(values) != 8*len(q.partitions) {
			return e, a.client.nonsense("it was asked for %d watermarks and returned %d bytes", len(q.partitions), len(values))
		}
		for i, p := range q.partitions {
			e.Watermarks = append(e.Watermarks, PartitionWatermark{Partition: p, Watermark: int64(binary.LittleEndian.Uint64(values[8*i:]))})
		}
		return e, nil
	case q.kind == Snapshot && !a.in.isAssigned && a.in.control.GetSnapshot() != nil:
		s := a.in.control.GetSnapshot()
		if s.GetId() != q.barrier {
			return e, a.client.nonsense("it answered barrier %d with the state of %d", q.barrier, s.GetId())
		}
		for _, p := range s.GetPartitions() {
			e.States = append(e.States, PartitionState{Partition: p.GetPartition(), State: p.GetState()})
		}
		return e, nil
	}
	return e, a.client.nonsense("%v", errUnexpected)
}

func (a *assignerClient) Close() error {
	a.cancel()
	return nil
}
