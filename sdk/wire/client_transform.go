package wire

import (
	"context"
	"errors"
	"io"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
)

// OpenTransform starts a transform on the other side. want is what its description asks for; ctx bounds the start only.
func (c *Client) OpenTransform(ctx context.Context, o TransformOpen, want Wanted) (Transform, error) {
	op := openStream(ctx)
	t := &transformClient{client: c, ctx: op.ctx, cancel: op.cancel, asked: make(chan question, Credits),
		out: rowsRequest[*pluginv1.TransformRequest]{want: &want, frames: new(ring)}}
	open, shared := wireOpen(o.Plugin, o.Options, o.Place), c.shared.take()
	open.Shared = shared.offer()
	opened, err := t.open(open)
	t.in.shared = shared.agreed(opened)
	t.out.shared = t.in.shared
	if err = op.opened(ctx, err); err != nil {
		return nil, err
	}
	return t, nil
}

// transformClient is a transform on the other side; see assignerClient.
type transformClient struct {
	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	stream pluginv1.Transform_ProcessClient

	out   rowsRequest[*pluginv1.TransformRequest]
	asked chan question

	in     transformResponse
	failed error
}

func (t *transformClient) open(o *pluginv1.Open) (*pluginv1.Opened, error) {
	var err error
	if t.stream, err = pluginv1.NewTransformClient(t.client.conn).Process(t.ctx); err != nil {
		return nil, t.client.explain(err)
	}
	request := &pluginv1.TransformRequest{Request: &pluginv1.TransformRequest_Open{Open: o}}
	if err := t.stream.Send(request); err != nil && err != io.EOF {
		return nil, t.client.explain(err)
	}
	if err := t.stream.RecvMsg(&t.in); err != nil {
		return nil, t.client.explain(err)
	}
	switch r := t.in.control.GetResponse().(type) {
	case *pluginv1.TransformResponse_Opened:
		return r.Opened, nil
	case *pluginv1.TransformResponse_Failed:
		return nil, failure(r.Failed)
	}
	return nil, errUnexpected
}

func (t *transformClient) Process(b *batch.Batch) error {
	if err := t.ask(question{kind: Assigned, batch: b}); err != nil {
		return err
	}
	t.out.send = b
	return t.sent(t.stream.SendMsg(&t.out))
}

func (t *transformClient) Barrier(id uint64) error {
	if err := t.ask(question{kind: Snapshot, barrier: id}); err != nil {
		return err
	}
	return t.control(&pluginv1.TransformRequest{Request: &pluginv1.TransformRequest_Barrier{Barrier: &pluginv1.Barrier{Id: id}}})
}

func (t *transformClient) Restore(state []byte) error {
	if len(state) == 0 {
		return nil
	}
	return t.control(&pluginv1.TransformRequest{Request: &pluginv1.TransformRequest_Restore{Restore: &pluginv1.Restore{State: state}}})
}

func (t *transformClient) ask(q question) error {
	select {
	case t.asked <- q:
		return nil
	case <-t.ctx.Done():
		return io.ErrClosedPipe
	}
}

func (t *transformClient) control(r *pluginv1.TransformRequest) error {
	t.out.send, t.out.control = nil, r
	return t.sent(t.stream.SendMsg(&t.out))
}

func (t *transformClient) sent(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return t.client.ended(t.ctx, err)
}

func (t *transformClient) Recv() (TransformEvent, error) {
	if t.failed != nil {
		return TransformEvent{}, t.failed
	}
	e, err := t.receive()
	if err != nil {
		t.failed = err
		t.cancel()
	}
	return e, err
}

func (t *transformClient) receive() (TransformEvent, error) {
	if err := t.stream.RecvMsg(&t.in); err != nil {
		return TransformEvent{}, t.client.ended(t.ctx, err)
	}
	if f := t.in.control.GetFailed(); f != nil && !t.in.transformed {
		return TransformEvent{}, failure(f)
	}
	var q question
	select {
	case q = <-t.asked:
	default:
		return TransformEvent{}, t.client.nonsense("%v", errUnexpected)
	}
	switch {
	case q.kind == Assigned && t.in.transformed:
		n := q.batch.Alive()
		out := t.in.out
		err := errors.Join(CheckTransformed(&t.in.origin, out.N, n), checkRows("a refused row", rowsOf(t.in.bad), n))
		if err != nil {
			out.Release()
			return TransformEvent{}, t.client.nonsense("%v", err)
		}
		return TransformEvent{In: q.batch, Out: out, Origin: ApplyTransformed(q.batch, out, t.in.origin, t.in.bad)}, nil
	case q.kind == Snapshot && !t.in.transformed && t.in.control.GetSnapshot() != nil:
		s := t.in.control.GetSnapshot()
		if s.GetId() != q.barrier {
			return TransformEvent{}, t.client.nonsense("it answered barrier %d with the state of %d", q.barrier, s.GetId())
		}
		e := TransformEvent{Barrier: q.barrier}
		for _, p := range s.GetPartitions() {
			e.State = p.GetState()
		}
		return e, nil
	}
	return TransformEvent{}, t.client.nonsense("%v", errUnexpected)
}

func (t *transformClient) Close() error {
	t.cancel()
	return nil
}
