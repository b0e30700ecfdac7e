package wire

import (
	"errors"
	"io"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
	"google.golang.org/grpc"
)

type transformStream = grpc.BidiStreamingServer[pluginv1.TransformRequest, pluginv1.TransformResponse]

// Process implements the Transform service.
func (s *Server) Process(stream transformStream) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	open := request.GetOpen()
	if open == nil {
		return errNotOpen
	}
	if open.GetKind() != "" {
		return s.windows(stream, open)
	}
	out := &transformResponse{frames: new(ring)}
	fail := func(err error) error {
		out.transformed, out.control = false, &pluginv1.TransformResponse{Response: &pluginv1.TransformResponse_Failed{Failed: failedBy(err)}}
		return stream.SendMsg(out)
	}
	p, err := s.find(KindTransform, open.GetPlugin())
	if err != nil {
		return fail(err)
	}
	settings := TransformOpen{Plugin: open.GetPlugin(), Options: open.GetOptions(), Place: placeOf(open)}
	runtime := s.runtime(KindTransform, settings.Plugin, settings.Place)
	t, err := p.OpenTransform(settings, runtime)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = t.Close() }()
	out.shared = s.shared.accept(open.GetShared())
	out.control = &pluginv1.TransformResponse{Response: &pluginv1.TransformResponse_Opened{Opened: &pluginv1.Opened{Shared: out.shared != nil}}}
	if err := stream.SendMsg(out); err != nil {
		return err
	}
	in := &rowsRequest[*pluginv1.TransformRequest]{rows: batch.Get(), shared: out.shared, make: func() *pluginv1.TransformRequest { return &pluginv1.TransformRequest{} }}
	defer in.rows.Release()
	var sent []*batch.Batch // on the way; released when so many newer answers have gone out that they must have arrived
	for {
		if err := stream.RecvMsg(in); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		switch {
		case in.isRows:
			err = t.Process(in.rows)
		case in.control.GetBarrier() != nil:
			err = t.Barrier(in.control.GetBarrier().GetId())
		case in.control.GetRestore() != nil:
			if err = t.Restore(in.control.GetRestore().GetState()); err == nil {
				continue
			}
		default:
			continue
		}
		if err != nil {
			return fail(err)
		}
		e, err := t.Recv()
		if err != nil {
			return fail(err)
		}
		if out.transformed = in.isRows; in.isRows {
			out.out, out.origin, out.bad = e.Out, e.Origin, e.In.Bad
			e.Out.Times, e.Out.Marks = e.Out.Times[:0], e.Out.Marks[:0] // the daemon has them
			sent = append(sent, e.Out)
			if len(sent) > Credits {
				sent[0].Release()
				sent = sent[:copy(sent, sent[1:])]
			}
		} else {
			out.control = &pluginv1.TransformResponse{Response: &pluginv1.TransformResponse_Snapshot{Snapshot: &pluginv1.Snapshot{
				Id: e.Barrier, Partitions: []*pluginv1.PartitionState{{State: e.State}}}}}
		}
		if err := stream.SendMsg(out); err != nil {
			return err
		}
	}
}
