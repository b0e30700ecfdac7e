package pipeline

import (
	"github.com/tidemark-stream/tidemark/daemon/shard"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// stageInput is an input of a window stage as an end of a port.
type stageInput struct{ in *shard.Input }

func (s stageInput) prepare(b *batch.Batch, out []prepared) []prepared {
	if b.Alive() == 0 && len(b.Marks) == 0 {
		b.Release()
		return out
	}
	return append(out, stageMessage{s.in, s.in.Prepare(b)})
}

func (s stageInput) idle(idle bool) error    { return s.in.Idle(idle) }
func (s stageInput) barrier(id uint64) error { return s.in.Barrier(id) }

type stageMessage struct {
	in *shard.Input
	m  *shard.Message
}

func (s stageMessage) send() error { return s.in.Send(s.m) }

// stageOutput is what follows a stage: its results go to the main port, its late rows to the late port.
type stageOutput struct {
	main *port
	late func(b *batch.Batch, rows []uint32, watermark int64) error
	// latePort is what reads the late port; lateStages says that there are stages among it, which want watermarks.
	latePort   *port
	lateStages bool
	seen       func(b *batch.Batch) // shown the results; or nil
	out        []prepared
}

func (s *stageOutput) Results(b *batch.Batch) error {
	if s.lateStages && len(b.Marks) > 0 { // late rows have the time of the stage they were late for, as in Flink
		m := batch.Get()
		for _, mark := range b.Marks {
			m.Marks = append(m.Marks, batch.Mark{Watermark: mark.Watermark})
		}
		s.out = s.latePort.prepare(m, s.out[:0])
		if err := sendAll(s.out); err != nil {
			b.Release()
			return err
		}
	}
	if s.seen != nil {
		s.seen(b)
	}
	s.out = s.main.prepare(b, s.out[:0])
	return sendAll(s.out)
}

func sendAll(out []prepared) error {
	for i, p := range out {
		out[i] = nil
		if err := p.send(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stageOutput) Late(b *batch.Batch, rows []uint32, watermark int64) error {
	return s.late(b, rows, watermark)
}

func (s *stageOutput) Idle(idle bool) error {
	if err := s.main.idle(idle); err != nil {
		return err
	}
	return s.latePort.idle(idle)
}

func (s *stageOutput) Barrier(id uint64) error {
	if err := s.main.barrier(id); err != nil {
		return err
	}
	return s.latePort.barrier(id)
}
