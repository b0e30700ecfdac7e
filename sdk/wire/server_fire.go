package wire

import (
	"errors"
	"io"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
)

// windows serves an aggregate or a window function on a stream of the Transform service.
func (s *Server) windows(stream transformStream, open *pluginv1.Open) error {
	kind := Kind(open.GetKind())
	out := &transformResponse{frames: new(ring)}
	fail := func(err error) error {
		out.transformed, out.control = false, &pluginv1.TransformResponse{Response: &pluginv1.TransformResponse_Failed{Failed: failedBy(err)}}
		return stream.SendMsg(out)
	}
	p, err := s.find(kind, open.GetPlugin())
	if err != nil {
		return fail(err)
	}
	settings := WindowsOpen{Kind: kind, Plugin: open.GetPlugin(), Options: open.GetOptions(), Place: placeOf(open)}
	t, err := p.OpenWindows(settings, s.runtime(kind, settings.Plugin, settings.Place))
	if err != nil {
		return fail(err)
	}
	defer func() { _ = t.Close() }()
	out.control = &pluginv1.TransformResponse{Response: &pluginv1.TransformResponse_Opened{Opened: &pluginv1.Opened{}}}
	if err := stream.SendMsg(out); err != nil {
		return err
	}
	in := &windowsRequest{windows: batch.Get(), records: batch.Get()}
	defer in.windows.Release()
	defer in.records.Release()
	var sent []*batch.Batch // on the way, see Process
	for {
		if err := stream.RecvMsg(in); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if !in.known {
			continue
		}
		if err := t.Fire(in.windows, in.records, in.counts); err != nil {
			return fail(err)
		}
		e, err := t.Recv()
		if err != nil {
			return fail(err)
		}
		out.transformed, out.out, out.origin, out.bad = true, e.Out, e.Origin, e.In.Bad
		e.Out.Times, e.Out.Marks = e.Out.Times[:0], e.Out.Marks[:0] // the daemon has them
		sent = append(sent, e.Out)
		if len(sent) > Credits {
			sent[0].Release()
			sent = sent[:copy(sent, sent[1:])]
		}
		if err := stream.SendMsg(out); err != nil {
			return err
		}
	}
}
