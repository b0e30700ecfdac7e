package wire

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
	"google.golang.org/grpc"
)

type assignerStream = grpc.BidiStreamingServer[pluginv1.AssignerRequest, pluginv1.AssignerResponse]

// Assign implements the Assigner service.
func (s *Server) Assign(stream assignerStream) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	o := request.GetOpen()
	if o == nil {
		return errNotOpen
	}
	out := &assignerResponse{frames: new(ring)}
	fail := func(err error) error {
		out.isAssigned, out.control = false, &pluginv1.AssignerResponse{Response: &pluginv1.AssignerResponse_Failed{Failed: failedBy(err)}}
		return stream.SendMsg(out)
	}
	open := o.GetOpen()
	p, err := s.find(KindAssigner, open.GetPlugin())
	if err != nil {
		return fail(err)
	}
	settings := AssignerOpen{Plugin: open.GetPlugin(), Options: open.GetOptions(), Place: placeOf(open),
		EveryRecord: o.GetEveryRecord(), Bucket: o.GetBucket(), Offset: o.GetOffset()}
	runtime := s.runtime(KindAssigner, settings.Plugin, settings.Place)
	a, err := p.OpenAssigner(settings, runtime)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = a.Close() }()
	out.shared = s.shared.accept(open.GetShared())
	out.control = &pluginv1.AssignerResponse{Response: &pluginv1.AssignerResponse_Opened{Opened: &pluginv1.Opened{Shared: out.shared != nil}}}
	if err := stream.SendMsg(out); err != nil {
		return err
	}
	in := &rowsRequest[*pluginv1.AssignerRequest]{rows: batch.Get(), shared: out.shared, make: func() *pluginv1.AssignerRequest { return &pluginv1.AssignerRequest{} }}
	defer in.rows.Release()
	for {
		if err := stream.RecvMsg(in); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		answered, err := callAssigner(a, in)
		if err != nil {
			return fail(err)
		}
		if !answered {
			continue
		}
		e, err := a.Recv()
		if err != nil {
			return fail(err)
		}
		out.fill(e)
		if err := stream.SendMsg(out); err != nil {
			return err
		}
	}
}

// callAssigner passes a request on; answered says that there is an answer to wait for.
func callAssigner(a Assigner, in *rowsRequest[*pluginv1.AssignerRequest]) (answered bool, err error) {
	if in.isRows {
		return true, a.Assign(in.rows)
	}
	switch r := in.control.GetRequest().(type) {
	case *pluginv1.AssignerRequest_Add:
		return false, a.AddPartition(r.Add.GetPartition(), r.Add.GetName(), r.Add.GetState())
	case *pluginv1.AssignerRequest_Remove:
		return false, a.RemovePartition(r.Remove.GetPartition())
	case *pluginv1.AssignerRequest_Tick:
		list := r.Tick.GetPartitions()
		partitions := make([]uint32, len(list)/4)
		for i := range partitions {
			partitions[i] = binary.LittleEndian.Uint32(list[4*i:])
		}
		return true, a.Tick(partitions)
	case *pluginv1.AssignerRequest_Barrier:
		return true, a.Barrier(r.Barrier.GetId())
	}
	return false, nil
}

// fill writes an answer about a batch without a selection.
func (m *assignerResponse) fill(e AssignerEvent) {
	m.isAssigned = e.Kind == Assigned
	switch e.Kind {
	case Assigned:
		b := e.Batch
		m.rows, m.times, m.marks, m.markers, m.bad = b.N, nil, b.Marks, e.Markers, b.Bad
		if !e.Unchanged {
			m.times = b.Times
		}
	case Ticked:
		values := make([]byte, 0, 8*len(e.Watermarks))
		for _, w := range e.Watermarks {
			values = binary.LittleEndian.AppendUint64(values, uint64(w.Watermark))
		}
		m.control = &pluginv1.AssignerResponse{Response: &pluginv1.AssignerResponse_Ticked{Ticked: &pluginv1.Ticked{Watermarks: values}}}
	case Snapshot:
		s := &pluginv1.Snapshot{Id: e.Barrier}
		for _, p := range e.States {
			s.Partitions = append(s.Partitions, &pluginv1.PartitionState{Partition: p.Partition, State: p.State})
		}
		m.control = &pluginv1.AssignerResponse{Response: &pluginv1.AssignerResponse_Snapshot{Snapshot: s}}
	}
}
