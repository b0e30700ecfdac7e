package wire

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
	"google.golang.org/grpc"
)

type sinkStream = grpc.BidiStreamingServer[pluginv1.SinkRequest, pluginv1.SinkResponse]

// Deliver implements the Sink service.
func (s *Server) Deliver(stream sinkStream) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	open := request.GetOpen()
	if open == nil {
		return errNotOpen
	}
	fail := func(err error) error {
		return stream.Send(&pluginv1.SinkResponse{Response: &pluginv1.SinkResponse_Failed{Failed: failedBy(err)}})
	}
	p, err := s.find(KindSink, open.GetPlugin())
	if err != nil {
		return fail(err)
	}
	settings := SinkOpen{Plugin: open.GetPlugin(), Options: open.GetOptions(), Place: placeOf(open)}
	runtime := s.runtime(KindSink, settings.Plugin, settings.Place)
	sink, err := p.OpenSink(settings, runtime)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = sink.Close() }()
	if err := stream.Send(&pluginv1.SinkResponse{Response: &pluginv1.SinkResponse_Opened{Opened: &pluginv1.Opened{}}}); err != nil {
		return err
	}
	in := &sinkRequest{rows: batch.Get()}
	defer in.rows.Release()
	for {
		if err := stream.RecvMsg(in); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		out := &pluginv1.SinkResponse{}
		switch {
		case in.isWrite:
			out.Response = &pluginv1.SinkResponse_Written{Written: writtenBy(sink.Write(stream.Context(), in.first, in.rows))}
		case in.control.GetLast() != nil:
			out.Response = &pluginv1.SinkResponse_Last{Last: last(stream.Context(), sink)}
		case in.control.GetClose() != nil:
			out.Response = &pluginv1.SinkResponse_Closed{Closed: &pluginv1.Closed{Error: text(sink.Close())}}
		default:
			continue
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func last(ctx context.Context, sink Sink) *pluginv1.LastResponse {
	n, known, err := sink.LastDelivered(ctx)
	return &pluginv1.LastResponse{Number: n, Known: known, Error: text(err)}
}

// writtenBy is the outcome of a write as it travels.
func writtenBy(err error) *pluginv1.Written {
	w := &pluginv1.Written{Error: text(err)}
	var verdict *SinkError
	if errors.As(err, &verdict) {
		w.Permanent, w.RetryAfterMillis = verdict.Permanent, verdict.After.Milliseconds()
		for _, x := range verdict.Refused {
			w.Refused = append(w.Refused, &pluginv1.BadRow{Row: x.Row, Code: x.Code, Message: x.Message})
		}
	}
	return w
}

// outcome is the way back.
func outcome(w *pluginv1.Written) error {
	if w.GetError() == "" {
		return nil
	}
	e := &SinkError{Message: w.GetError(), Permanent: w.GetPermanent(), After: time.Duration(w.GetRetryAfterMillis()) * time.Millisecond}
	for _, x := range w.GetRefused() {
		e.Refused = append(e.Refused, batch.BadRow{Row: x.GetRow(), Code: x.GetCode(), Message: x.GetMessage()})
	}
	return e
}
