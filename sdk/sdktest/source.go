package sdktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Said is one thing that a source said, in the order in which it said it.
type Said struct {
	Partition string
	Row       string // a record: its bytes, or its fields as "name=value …"
	Timestamp int64  // of the record, or sdk.NoTimestamp
	Watermark int64  // a watermark, if Event is "watermark"
	Event     string // "row", "watermark", "partition", "partition_ended", "idle", "busy", "reject", "ended", "stopped"
	Position  []byte // of the last record of a batch: where the source goes on behind it
}

func (s Said) String() string {
	switch s.Event {
	case "row":
		if s.Timestamp == batch.NoTimestamp {
			return s.Partition + ": " + s.Row
		}
		return fmt.Sprintf("%s: %s @%d", s.Partition, s.Row, s.Timestamp)
	case "watermark":
		return fmt.Sprintf("%s: watermark %d", s.Partition, s.Watermark)
	case "reject":
		return fmt.Sprintf("%s: rejected %s", s.Partition, s.Row)
	case "ended", "stopped":
		return s.Event
	}
	return s.Partition + ": " + s.Event
}

// SourceRun is what a source said, from beginning to end.
type SourceRun struct {
	Said []Said
	Err  error // why it failed, or nil
}

// Lines is what it said as text, a line each.
func (r *SourceRun) Lines() []string {
	out := make([]string, len(r.Said))
	for i, s := range r.Said {
		out[i] = s.String()
	}
	return out
}

// Restored is what a checkpoint of everything that was said would hold: for [RunSource] to go on from.
func (r *SourceRun) Restored() []sdk.RestoredPartition {
	var names []string
	last := map[string]*sdk.RestoredPartition{}
	for _, s := range r.Said {
		if s.Event == "ended" || s.Event == "stopped" {
			continue
		}
		p := last[s.Partition]
		if p == nil {
			p = &sdk.RestoredPartition{Name: s.Partition}
			last[s.Partition] = p
			names = append(names, s.Partition)
		}
		if s.Position != nil {
			p.Position = s.Position
		}
		p.Ended = p.Ended || s.Event == "partition_ended"
	}
	var out []sdk.RestoredPartition
	for _, name := range names {
		out = append(out, *last[name])
	}
	return out
}

// Until ends a run of a source that does not end by itself.
type Until struct {
	Rows  int           // after so many records; 0 = does not count
	After time.Duration // after that time; 0 = 10 s
}

// RunSource runs a source until it ends or `until` is reached; then it is stopped. restored are the partitions of an earlier run.
func RunSource(t testing.TB, p sdk.Plugin, o Options, until Until, restored ...sdk.RestoredPartition) *SourceRun {
	t.Helper()
	run, err := runSource(p, wire.SourceOpen{Plugin: p.Description().Name, Options: o.json(), Restored: restored, Framing: sdk.Framing{Format: "lines"}}, wire.Runtime{}, until)
	if err != nil {
		t.Fatalf("start the source: %v", err)
	}
	return run
}

func runSource(p wire.Plugin, open wire.SourceOpen, r wire.Runtime, until Until) (*SourceRun, error) {
	s, err := p.OpenSource(open, r)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	after := until.After
	if after == 0 {
		after = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = s.Stop() })()
	run := &SourceRun{}
	names := map[uint32]string{}
	rows := 0
	for {
		e, err := s.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return run, nil
		case err != nil:
			run.Err = err
			return run, nil
		}
		name := names[e.Partition]
		switch e.Kind {
		case wire.SourceBatch:
			rows += e.Batch.N
			run.Said = append(run.Said, saidBy(name, e.Batch)...)
			if err := s.Ack(e.Partition, e.Batch.Position); err != nil {
				return run, err
			}
			e.Batch.Release()
			if until.Rows > 0 && rows >= until.Rows {
				_ = s.Stop()
			}
		case wire.PartitionAdded:
			names[e.Partition] = e.Name
			run.Said = append(run.Said, Said{Partition: e.Name, Event: "partition"})
		case wire.PartitionEnded:
			run.Said = append(run.Said, Said{Partition: name, Event: "partition_ended"})
		case wire.PartitionIdle:
			run.Said = append(run.Said, Said{Partition: name, Event: "idle"})
		case wire.PartitionBusy:
			run.Said = append(run.Said, Said{Partition: name, Event: "busy"})
		case wire.SourceEnded:
			run.Said = append(run.Said, Said{Event: "ended"})
		case wire.SourceStopped:
			run.Said = append(run.Said, Said{Event: "stopped"})
		}
	}
}

// saidBy takes a batch apart.
func saidBy(partition string, b *batch.Batch) []Said {
	var out []Said
	mark, reject := 0, 0
	between := func(i int) {
		for ; reject < len(b.Rejects) && int(b.Rejects[reject].After) <= i; reject++ {
			r := b.Rejects[reject]
			out = append(out, Said{Partition: partition, Event: "reject", Row: fmt.Sprintf("%s (%d bytes)", r.Code, r.Length), Timestamp: batch.NoTimestamp})
		}
		for ; mark < len(b.Marks) && int(b.Marks[mark].After) <= i; mark++ {
			out = append(out, Said{Partition: partition, Event: "watermark", Watermark: b.Marks[mark].Watermark})
		}
	}
	for i := range b.N {
		between(i)
		s := Said{Partition: partition, Event: "row", Row: rowText(b, i), Timestamp: batch.NoTimestamp}
		if len(b.Times) > 0 {
			s.Timestamp = b.Times[i]
		}
		out = append(out, s)
	}
	between(b.N)
	if n := len(out); n > 0 && len(b.Position) > 0 {
		out[n-1].Position = append([]byte{}, b.Position...)
	}
	return out
}

func rowText(b *batch.Batch, i int) string {
	if len(b.Columns) == 0 {
		return string(b.Row(i))
	}
	var parts []string
	for k := range b.Columns {
		c := &b.Columns[k]
		if c.Kinds[i] != batch.Missing {
			parts = append(parts, c.Name+"="+cellText(b, c, i))
		}
	}
	return strings.Join(parts, " ")
}
