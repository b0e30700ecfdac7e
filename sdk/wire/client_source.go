package wire

import (
	"context"
	"io"
	"sync"

	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
)

// OpenSource starts a source on the other side. ctx bounds the start only.
func (c *Client) OpenSource(ctx context.Context, o SourceOpen) (Source, error) {
	op := openStream(ctx)
	s := &sourceClient{client: c, ctx: op.ctx, cancel: op.cancel}
	err := s.open(o)
	if err = op.opened(ctx, err); err != nil {
		return nil, err
	}
	return s, nil
}

// sourceClient is a source on the other side.
type sourceClient struct {
	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	stream pluginv1.Source_RunClient

	in    sourceResponse
	taken uint32 // batches for which no credit has been given yet
	over  bool   // the last event has been returned

	sending sync.Mutex
}

func (s *sourceClient) open(o SourceOpen) error {
	var err error
	if s.stream, err = pluginv1.NewSourceClient(s.client.conn).Run(s.ctx); err != nil {
		return s.client.explain(err)
	}
	shared := s.client.shared.take()
	w := &pluginv1.SourceOpen{Open: wireOpen(o.Plugin, o.Options, o.Place), Framing: o.Framing.Format, MaxRecord: o.Framing.MaxRecord,
		Delimiter: o.Framing.Delimiter, Quote: o.Framing.Quote, Records: o.Framing.Records,
		Credits: Credits, BatchRows: uint32(max(o.BatchRows, 0)), BatchBytes: uint32(max(o.BatchBytes, 0)), LingerMicros: uint32(max(o.Linger.Microseconds(), 0))}
	w.Open.Shared = shared.offer()
	for _, p := range o.Restored {
		w.Restored = append(w.Restored, &pluginv1.RestoredPartition{Name: p.Name, Position: p.Position, Ended: p.Ended})
	}
	if err := s.stream.Send(&pluginv1.SourceRequest{Request: &pluginv1.SourceRequest_Open{Open: w}}); err != nil && err != io.EOF {
		return s.client.explain(err)
	}
	if err := s.stream.RecvMsg(&s.in); err != nil {
		return s.client.explain(err)
	}
	switch r := s.in.control.GetResponse().(type) {
	case *pluginv1.SourceResponse_Opened:
		s.in.shared = shared.agreed(r.Opened)
		return nil
	case *pluginv1.SourceResponse_Failed:
		return failure(r.Failed)
	}
	return errUnexpected
}

func (s *sourceClient) Recv() (SourceEvent, error) {
	for !s.over {
		if err := s.stream.RecvMsg(&s.in); err != nil {
			s.over = true
			return SourceEvent{}, s.client.ended(s.ctx, err)
		}
		e, err := s.event()
		if err != nil {
			s.over = true
			s.cancel()
		}
		if err != nil || e.Kind != noEvent {
			return e, err
		}
	}
	return SourceEvent{}, io.EOF
}

// noEvent stands for a response that this version does not know.
const noEvent SourceEventKind = 255

func (s *sourceClient) event() (SourceEvent, error) {
	if b := s.in.batch; b != nil {
		if s.taken++; s.taken >= Credits/2 {
			n := s.taken
			s.taken = 0
			if err := s.send(&pluginv1.SourceRequest{Request: &pluginv1.SourceRequest_Credit{Credit: n}}); err != nil && err != io.EOF {
				return SourceEvent{}, s.client.ended(s.ctx, err) // an EOF comes with its reason at the next Recv
			}
		}
		return SourceEvent{Kind: SourceBatch, Partition: b.Partition, Batch: b}, nil
	}
	switch r := s.in.control.GetResponse().(type) {
	case *pluginv1.SourceResponse_Added:
		return SourceEvent{Kind: PartitionAdded, Partition: r.Added.GetPartition(), Name: r.Added.GetName()}, nil
	case *pluginv1.SourceResponse_Ended:
		return SourceEvent{Kind: PartitionEnded, Partition: r.Ended.GetPartition()}, nil
	case *pluginv1.SourceResponse_Idle:
		return SourceEvent{Kind: PartitionIdle, Partition: r.Idle.GetPartition()}, nil
	case *pluginv1.SourceResponse_Busy:
		return SourceEvent{Kind: PartitionBusy, Partition: r.Busy.GetPartition()}, nil
	case *pluginv1.SourceResponse_Done:
		s.over = true
		return SourceEvent{Kind: SourceEnded}, nil
	case *pluginv1.SourceResponse_Stopped:
		s.over = true
		return SourceEvent{Kind: SourceStopped}, nil
	case *pluginv1.SourceResponse_Failed:
		return SourceEvent{}, failure(r.Failed)
	}
	return SourceEvent{Kind: noEvent}, nil
}

func (s *sourceClient) send(r *pluginv1.SourceRequest) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.stream.Send(r)
}

func (s *sourceClient) Ack(partition uint32, position []byte) error {
	return s.tell(&pluginv1.SourceRequest{Request: &pluginv1.SourceRequest_Ack{Ack: &pluginv1.Ack{Partition: partition, Position: position}}})
}

// Hold implements Holder. Sources that do not know the request skip it.
func (s *sourceClient) Hold(partition uint32, held bool) error {
	return s.tell(&pluginv1.SourceRequest{Request: &pluginv1.SourceRequest_Hold{Hold: &pluginv1.Hold{Partition: partition, Held: held}}})
}

// Refused implements Refuser. Messages have a limit of size, so many refusals go in several.
func (s *sourceClient) Refused(partition uint32, refused []Refusal) error {
	for len(refused) > 0 {
		w := &pluginv1.Refused{Partition: partition}
		for bytes := 0; len(refused) > 0 && bytes < refusedBytes; refused = refused[1:] {
			r := refused[0]
			w.Records = append(w.Records, &pluginv1.Refusal{Record: r.Record, Code: r.Code, Message: r.Message})
			bytes += len(r.Code) + len(r.Message) + 16
		}
		if err := s.tell(&pluginv1.SourceRequest{Request: &pluginv1.SourceRequest_Refused{Refused: w}}); err != nil {
			return err
		}
	}
	return nil
}

// refusedBytes is about how large a message about refused records becomes.
const refusedBytes = 64 << 10

func (s *sourceClient) Stop() error {
	return s.tell(&pluginv1.SourceRequest{Request: &pluginv1.SourceRequest_Stop{Stop: &pluginv1.Stop{}}})
}

// tell sends something that matters only as long as the stream lives: why it does not live any more is told by Recv.
func (s *sourceClient) tell(r *pluginv1.SourceRequest) error {
	if err := s.send(r); err != nil && err != io.EOF {
		return s.client.ended(s.ctx, err)
	}
	return nil
}

func (s *sourceClient) Close() error {
	s.cancel()
	return nil
}
