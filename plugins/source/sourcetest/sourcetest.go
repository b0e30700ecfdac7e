// Package sourcetest runs a source plugin in a test, as the daemon would, and collects what it says.
package sourcetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Options are a component's options.
type Options map[string]any

// Run is a running source.
type Run struct {
	t      testing.TB
	source wire.Source
	done   chan struct{}
	log    *lockedBuffer

	mu     sync.Mutex
	names  map[uint32]string
	order  []string
	parts  map[string]*Partition
	all    []string
	ended  bool
	err    error
	change chan struct{} // closed and replaced at each event
}

// Partition is what came from one partition.
type Partition struct {
	Rows    []string // each row's text
	At      []int64  // each row's position number
	Rejects []string // "code length"
	// RejectedAt is each reject's position number, -1 where it has none.
	RejectedAt []int64
	Positions  []string // the position behind each batch that had one
	Ended      bool
	Idle       bool
}

// Position is the last position, nil if there was none.
func (p *Partition) Position() []byte {
	if len(p.Positions) == 0 {
		return nil
	}
	return []byte(p.Positions[len(p.Positions)-1])
}

// Start opens the plugin and collects until it ends, or until the test does. restored are the partitions of an earlier run, see
// [Run.Restore].
func Start(t testing.TB, p sdk.Plugin, o Options, restored ...wire.RestoredPartition) *Run {
	return StartFramed(t, p, o, wire.Framing{Format: "lines"}, restored...)
}

// StartFramed is Start with another framing.
func StartFramed(t testing.TB, p sdk.Plugin, o Options, f wire.Framing, restored ...wire.RestoredPartition) *Run {
	t.Helper()
	options, err := json.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, p.CheckOptions(options))
	log := &lockedBuffer{}
	source, err := p.OpenSource(wire.SourceOpen{Options: options, Framing: f, Restored: restored},
		wire.Runtime{Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug})})
	require.NoError(t, err)
	r := &Run{t: t, source: source, done: make(chan struct{}), log: log, names: map[uint32]string{}, parts: map[string]*Partition{},
		change: make(chan struct{})}
	go r.collect()
	t.Cleanup(r.Close)
	return r
}

func (r *Run) collect() {
	defer close(r.done)
	for {
		e, err := r.source.Recv()
		r.mu.Lock()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			r.signal()
			r.mu.Unlock()
			return
		}
		r.take(e)
		r.signal()
		r.mu.Unlock()
	}
}

func (r *Run) signal() {
	close(r.change)
	r.change = make(chan struct{})
}

func (r *Run) take(e wire.SourceEvent) {
	part := r.parts[r.names[e.Partition]]
	switch e.Kind {
	case wire.PartitionAdded:
		r.names[e.Partition] = e.Name
		if r.parts[e.Name] == nil {
			r.parts[e.Name] = &Partition{}
			r.order = append(r.order, e.Name)
		}
		r.parts[e.Name].Ended = false
	case wire.SourceBatch:
		b := e.Batch
		part.Idle = false
		for i := range b.N {
			part.Rows = append(part.Rows, string(b.Row(i)))
			part.At = append(part.At, b.RowPosition(i))
			r.all = append(r.all, string(b.Row(i)))
		}
		for _, j := range b.Rejects {
			part.Rejects = append(part.Rejects, fmt.Sprintf("%s %d", j.Code, j.Length))
			at := int64(-1)
			if j.HasPosition {
				at = j.Position
			}
			part.RejectedAt = append(part.RejectedAt, at)
		}
		if len(b.Position) > 0 {
			part.Positions = append(part.Positions, string(b.Position))
		}
		b.Release()
	case wire.PartitionEnded:
		part.Ended = true
		if len(e.Position) > 0 {
			part.Positions = append(part.Positions, string(e.Position))
		}
	case wire.PartitionIdle:
		part.Idle = true
	case wire.SourceEnded, wire.SourceStopped:
		r.ended = true
	}
}

// Wait waits for the end of the source and returns its error.
func (r *Run) Wait() error {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(30 * time.Second):
		require.FailNow(r.t, "the source does not end", "log:\n%s", r.Log())
	}
	return r.err
}

// Until waits until ok is true of what has come so far.
func (r *Run) Until(what string, ok func(r *Run) bool) {
	r.t.Helper()
	deadline := time.After(30 * time.Second)
	poll := time.NewTicker(10 * time.Millisecond) // conditions may look at more than events
	defer poll.Stop()
	for {
		r.mu.Lock()
		good, change := ok(r), r.change
		r.mu.Unlock()
		if good {
			return
		}
		select {
		case <-change:
		case <-poll.C:
		case <-deadline:
			require.FailNow(r.t, "waited in vain for "+what, "rows so far: %q\nlog:\n%s", r.Rows(), r.Log())
		}
	}
}

// UntilRows waits for that many rows, all partitions together.
func (r *Run) UntilRows(n int) {
	r.t.Helper()
	r.Until(fmt.Sprintf("%d rows", n), func(r *Run) bool { return len(r.all) >= n })
}

// Of is what came from a partition so far; call it in Until, or after Wait or Stop.
func (r *Run) Of(name string) *Partition {
	if p := r.parts[name]; p != nil {
		return p
	}
	return &Partition{}
}

// Names are the partitions in the order in which they were added.
func (r *Run) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.order...)
}

// Rows are all rows in the order in which they came.
func (r *Run) Rows() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.all...)
}

// Rejects are those of all partitions.
func (r *Run) Rejects() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, name := range r.order {
		out = append(out, r.parts[name].Rejects...)
	}
	return out
}

// Ended is whether the source said that its input has ended; call it in Until, or after Wait or Stop.
func (r *Run) Ended() bool { return r.ended }

// Stop asks the source to stop and waits for it.
func (r *Run) Stop() {
	r.t.Helper()
	require.NoError(r.t, r.source.Stop())
	require.NoError(r.t, r.Wait())
}

// Close ends the source at once.
func (r *Run) Close() {
	_ = r.source.Close()
	<-r.done
}

// Restore is what a checkpoint after everything so far would hold.
func (r *Run) Restore() []wire.RestoredPartition {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []wire.RestoredPartition
	for _, name := range r.order {
		p := r.parts[name]
		out = append(out, wire.RestoredPartition{Name: name, Position: p.Position(), Ended: p.Ended})
	}
	return out
}

// Hold tells the source to leave a partition alone, or to go on with it.
func (r *Run) Hold(name string, held bool) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, n := range r.names {
		if n == name {
			require.NoError(r.t, r.source.(wire.Holder).Hold(id, held))
		}
	}
}

// Refuse tells the source that the pipeline has refused records of a partition; it learns of it with the next Ack.
func (r *Run) Refuse(name string, refused ...wire.Refusal) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, n := range r.names {
		if n == name {
			require.NoError(r.t, r.source.(wire.Refuser).Refused(id, refused))
		}
	}
}

// Ack tells the source that everything so far has been committed.
func (r *Run) Ack() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, name := range r.names {
		if position := r.parts[name].Position(); position != nil {
			require.NoError(r.t, r.source.Ack(id, position))
		}
	}
}

// Log is what the source has logged.
func (r *Run) Log() string { return r.log.String() }

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
