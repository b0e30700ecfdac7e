package wire

import (
	"errors"
	"io"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
	"google.golang.org/grpc"
)

type sourceStream = grpc.BidiStreamingServer[pluginv1.SourceRequest, pluginv1.SourceResponse]

// Run implements the Source service.
func (s *Server) Run(stream sourceStream) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	o := request.GetOpen()
	if o == nil {
		return errNotOpen
	}
	source, err := s.openSource(o)
	if err != nil {
		return stream.SendMsg(&sourceResponse{control: &pluginv1.SourceResponse{Response: &pluginv1.SourceResponse_Failed{Failed: failedBy(err)}}})
	}
	shared := s.shared.accept(o.GetOpen().GetShared())
	opened := &pluginv1.Opened{Shared: shared != nil}
	if err := stream.SendMsg(&sourceResponse{control: &pluginv1.SourceResponse{Response: &pluginv1.SourceResponse_Opened{Opened: opened}}}); err != nil {
		_ = source.Close()
		return err
	}
	credit := make(chan uint32, 64)
	received := make(chan error, 1)
	go func() { received <- receiveSource(stream, source, credit) }()
	out := &sourceResponse{frames: new(ring), shared: shared}
	err = sendSource(stream, source, out, credit, int(max(o.GetCredits(), 1)))
	if closeErr := source.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (s *Server) openSource(o *pluginv1.SourceOpen) (Source, error) {
	open := o.GetOpen()
	p, err := s.find(KindSource, open.GetPlugin())
	if err != nil {
		return nil, err
	}
	settings := SourceOpen{Plugin: open.GetPlugin(), Options: open.GetOptions(), Place: placeOf(open),
		Framing: Framing{Format: o.GetFraming(), MaxRecord: o.GetMaxRecord(), Delimiter: o.GetDelimiter(), Quote: o.GetQuote(), Records: o.GetRecords()}, BatchRows: int(o.GetBatchRows()),
		BatchBytes: int(o.GetBatchBytes()), Linger: time.Duration(o.GetLingerMicros()) * time.Microsecond}
	for _, p := range o.GetRestored() {
		settings.Restored = append(settings.Restored, RestoredPartition{Name: p.GetName(), Position: p.GetPosition(), Ended: p.GetEnded()})
	}
	return p.OpenSource(settings, s.runtime(KindSource, settings.Plugin, settings.Place))
}

// receiveSource takes the daemon's requests until the stream ends; then the source ends too.
func receiveSource(stream sourceStream, source Source, credit chan<- uint32) error {
	defer close(credit)
	for {
		request, err := stream.Recv()
		if err != nil {
			_ = source.Stop()
			return err
		}
		switch {
		case request.GetCredit() > 0:
			credit <- request.GetCredit()
		case request.GetAck() != nil:
			err = source.Ack(request.GetAck().GetPartition(), request.GetAck().GetPosition())
		case request.GetHold() != nil:
			if h, ok := source.(Holder); ok {
				err = h.Hold(request.GetHold().GetPartition(), request.GetHold().GetHeld())
			}
		case request.GetRefused() != nil:
			if r, ok := source.(Refuser); ok {
				var refused []Refusal
				for _, x := range request.GetRefused().GetRecords() {
					refused = append(refused, Refusal{x.GetRecord(), x.GetCode(), x.GetMessage()})
				}
				err = r.Refused(request.GetRefused().GetPartition(), refused)
			}
		case request.GetStop() != nil:
			err = source.Stop()
		}
		if err != nil {
			return err
		}
	}
}

// sendSource sends what the source says, as fast as there is credit. Batches are released when the daemon has taken them over: until then
// their memory may be on its way to the socket. Those in shared memory are released at once, and are nil in sent.
func sendSource(stream sourceStream, source Source, out *sourceResponse, credit <-chan uint32, left int) error {
	var sent []*batch.Batch
	for {
		e, err := source.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			out.batch = nil
			out.control = &pluginv1.SourceResponse{Response: &pluginv1.SourceResponse_Failed{Failed: failedBy(err)}}
			return stream.SendMsg(out)
		}
		if e.Kind == SourceBatch {
			for left == 0 {
				n, ok := <-credit
				if !ok {
					return stream.Context().Err()
				}
				left, sent = took(int(n), left, sent)
			}
			select {
			case n, ok := <-credit:
				if !ok {
					return stream.Context().Err()
				}
				left, sent = took(int(n), left, sent)
			default:
			}
			left--
			out.batch = e.Batch
			if err := stream.SendMsg(out); err != nil {
				return err
			}
			if out.copied {
				e.Batch.Release()
				e.Batch = nil
			}
			sent = append(sent, e.Batch)
			continue
		}
		out.batch, out.control = nil, sourceControl(e)
		if err := stream.SendMsg(out); err != nil {
			return err
		}
	}
}

func took(n, left int, sent []*batch.Batch) (int, []*batch.Batch) {
	n = min(n, len(sent))
	for _, b := range sent[:n] {
		if b != nil {
			b.Release()
		}
	}
	return left + n, sent[:copy(sent, sent[n:])]
}

func sourceControl(e SourceEvent) *pluginv1.SourceResponse {
	p := &pluginv1.PartitionEvent{Partition: e.Partition}
	switch e.Kind {
	case PartitionAdded:
		return &pluginv1.SourceResponse{Response: &pluginv1.SourceResponse_Added{Added: &pluginv1.PartitionAdded{Partition: e.Partition, Name: e.Name}}}
	case PartitionEnded:
		return &pluginv1.SourceResponse{Response: &pluginv1.SourceResponse_Ended{Ended: p}}
	case PartitionIdle:
		return &pluginv1.SourceResponse{Response: &pluginv1.SourceResponse_Idle{Idle: p}}
	case PartitionBusy:
		return &pluginv1.SourceResponse{Response: &pluginv1.SourceResponse_Busy{Busy: p}}
	case SourceStopped:
		return &pluginv1.SourceResponse{Response: &pluginv1.SourceResponse_Stopped{Stopped: &pluginv1.SourceDone{}}}
	default:
		return &pluginv1.SourceResponse{Response: &pluginv1.SourceResponse_Done{Done: &pluginv1.SourceDone{}}}
	}
}
