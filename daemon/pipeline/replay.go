package pipeline

import (
	"fmt"
	"io"
	"sync"

	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state/deadletter"
)

// CannotReplay says why the record of a letter cannot be brought in again through p; it is empty where it can. A letter of a step or sink that takes
// parts of records, or rows that something else has made of them, has those and not the bytes that the source could read.
func CannotReplay(p *plan.Plan, l deadletter.Letter) string {
	s := p.Source(l.Source)
	switch {
	case l.Source == "" || s == nil:
		return fmt.Sprintf("its source %q is not in the pipeline", l.Source)
	case l.RawLength > int64(len(l.Raw)):
		return fmt.Sprintf("only the first %d of its %d bytes were kept", len(l.Raw), l.RawLength)
	case s.Decode == nil:
		return "records of the source " + l.Source + " have no bytes that could be read again"
	}
	for _, in := range p.InputsOf(l.Component) {
		switch {
		case in.Shape.Split:
			return "it is a part of a record, as " + in.From + " gives them, and not the record"
		case in.Port == plan.Main && !in.Shape.Record:
			return "it is a row that " + in.From + " has made, and not the record"
		}
	}
	return ""
}

// replay is a source that brings the records of dead letters in again, as they came, and then stops where it is: windows do not fire
// because of it.
type replay struct {
	events []wire.SourceEvent
	mu     sync.Mutex
	closed bool
}

// replayPartition is the name of its one partition. Nothing of it outlives the run.
const replayPartition = "$replay"

func newReplay(letters []deadletter.Letter) *replay {
	r := &replay{}
	if len(letters) > 0 {
		r.events = append(r.events, wire.SourceEvent{Kind: wire.PartitionAdded, Name: replayPartition})
		for len(letters) > 0 {
			b := batch.Get()
			b.Offsets = append(b.Offsets, 0)
			b.Trailer = 1
			n := 0
			for n < len(letters) && b.N < 1024 && len(b.Data) < 1<<20 {
				b.Data = append(append(b.Data, letters[n].Raw...), '\n')
				b.Offsets = append(b.Offsets, uint32(len(b.Data)))
				b.N++
				n++
			}
			b.Base = 1 // no record of a letter is the first of its partition, where a csv header would stand
			letters = letters[n:]
			r.events = append(r.events, wire.SourceEvent{Kind: wire.SourceBatch, Batch: b})
		}
	}
	r.events = append(r.events, wire.SourceEvent{Kind: wire.SourceStopped})
	return r
}

func (r *replay) Recv() (wire.SourceEvent, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) == 0 || r.closed {
		return wire.SourceEvent{}, io.EOF
	}
	ev := r.events[0]
	r.events = r.events[1:]
	return ev, nil
}

func (r *replay) Ack(uint32, []byte) error { return nil }
func (r *replay) Stop() error              { return nil }

func (r *replay) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}
