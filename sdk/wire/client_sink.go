package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
)

// OpenSink starts a sink on the other side. text is what its description says; ctx bounds the start only.
func (c *Client) OpenSink(ctx context.Context, o SinkOpen, text bool) (Sink, error) {
	op := openStream(ctx)
	s := &sinkClient{client: c, ctx: op.ctx, cancel: op.cancel, out: sinkRequest{text: text, frames: new(ring)}}
	err := s.open(o)
	if err = op.opened(ctx, err); err != nil {
		return nil, err
	}
	return s, nil
}

// sinkClient is a sink on the other side. Each call waits for its answer; a call whose context ends ends the stream, as nobody knows then
// which answer is the next.
type sinkClient struct {
	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	stream pluginv1.Sink_DeliverClient

	out     sinkRequest
	mu      sync.Mutex // held during a call
	closing sync.Once
	closed  error
}

// closeTimeout bounds what a sink may take to make safe what it has.
const closeTimeout = 30 * time.Second

func (s *sinkClient) open(o SinkOpen) error {
	var err error
	if s.stream, err = pluginv1.NewSinkClient(s.client.conn).Deliver(s.ctx); err != nil {
		return s.client.explain(err)
	}
	request := &pluginv1.SinkRequest{Request: &pluginv1.SinkRequest_Open{Open: wireOpen(o.Plugin, o.Options, o.Place)}}
	if err := s.stream.Send(request); err != nil && err != io.EOF {
		return s.client.explain(err)
	}
	r, err := s.stream.Recv()
	if err != nil {
		return s.client.explain(err)
	}
	switch x := r.GetResponse().(type) {
	case *pluginv1.SinkResponse_Opened:
		return nil
	case *pluginv1.SinkResponse_Failed:
		return failure(x.Failed)
	}
	return errUnexpected
}

// call sends out and waits for the answer.
func (s *sinkClient) call(ctx context.Context) (*pluginv1.SinkResponse, error) {
	stop := context.AfterFunc(ctx, s.cancel)
	defer stop()
	err := s.stream.SendMsg(&s.out)
	if err == nil || errors.Is(err, io.EOF) {
		var r *pluginv1.SinkResponse
		if r, err = s.stream.Recv(); err == nil {
			if f := r.GetFailed(); f != nil {
				return nil, failure(f)
			}
			return r, nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, fmt.Errorf("the sink has not answered: %w", cause)
	}
	return nil, s.client.ended(s.ctx, err)
}

func (s *sinkClient) LastDelivered(ctx context.Context) (uint64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.send, s.out.control = nil, &pluginv1.SinkRequest{Request: &pluginv1.SinkRequest_Last{Last: &pluginv1.LastDelivered{}}}
	r, err := s.call(ctx)
	if err != nil {
		return 0, false, err
	}
	last := r.GetLast()
	if last == nil {
		return 0, false, fmt.Errorf("sink: %w", errUnexpected)
	}
	if last.GetError() != "" {
		return 0, false, errors.New(last.GetError())
	}
	return last.GetNumber(), last.GetKnown(), nil
}

func (s *sinkClient) Write(ctx context.Context, first uint64, b *batch.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.send, s.out.first = b, first
	r, err := s.call(ctx)
	s.out.send = nil
	if err != nil {
		return err
	}
	w := r.GetWritten()
	if w == nil {
		return fmt.Errorf("sink: %w", errUnexpected)
	}
	err = outcome(w)
	var verdict *SinkError
	if errors.As(err, &verdict) {
		if bad := checkRows("a refused row", rowsOf(verdict.Refused), b.Alive()); bad != nil {
			return fmt.Errorf("sink: %w", bad)
		}
	}
	return err
}

func (s *sinkClient) Close() error {
	s.closing.Do(func() {
		if s.ctx.Err() != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		stop := context.AfterFunc(ctx, s.cancel) // ends a call that hangs, so that mu becomes free
		defer stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.out.send, s.out.control = nil, &pluginv1.SinkRequest{Request: &pluginv1.SinkRequest_Close{Close: &pluginv1.Close{}}}
		r, err := s.call(ctx)
		if err == nil && r.GetClosed().GetError() != "" {
			err = errors.New(r.GetClosed().GetError())
		}
		s.closed = err
		s.cancel()
	})
	return s.closed
}
