package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// tooMany is the code of windows with more records than are kept for a plugin.
const tooMany = "too_many_records"

// foldBytes is about how much of windows' records goes to a plugin in one message. A batch of results can hold thousands of windows with
// thousands of records each; as columns they take some three times what they take in the window.
const foldBytes = 2 << 20

// fold makes a transform of an aggregate or a window function: it takes the records of windows out of the column that they came in, gives
// them to the plugin as columns, and puts its answer in their place. It keeps nothing between two batches.
//
// As with every [wire.Transform], one goroutine calls and one receives.
type fold struct {
	plugin wire.Windows
	spec   *plan.Fold

	mu    sync.Mutex
	spare []*batch.Batch // memory for records
	given chan *batch.Batch
}

func newFold(plugin wire.Windows, spec *plan.Fold) *fold {
	return &fold{plugin: plugin, spec: spec, given: make(chan *batch.Batch, wire.Credits+1)}
}

// size is about how many bytes of records a row brings.
func (f *fold) size(b *batch.Batch) func(row uint32) int {
	c := b.Column(f.spec.Column)
	return func(row uint32) int {
		if c == nil || c.Kinds[row] != batch.String {
			return 0
		}
		return int(c.Bits[row] & 0xffffffff)
	}
}

// Process gives the windows of b to the plugin. Those with too many records are refused in b.
func (f *fold) Process(b *batch.Batch) error {
	c := b.Column(f.spec.Column)
	if c == nil {
		return fmt.Errorf("rows for %s have no column with the window's records", f.spec.Of)
	}
	records := f.memory()
	for _, name := range f.spec.Fields {
		records.AddColumn(name)
	}
	var counts []uint32
	from := len(b.Bad)
	for _, row := range b.Select() {
		cell := b.Text(c.Bits[row])
		n, left, err := aggregate.CountRows(cell)
		if err == nil && left > 0 {
			b.Refuse(int(row), tooMany, fmt.Sprintf("the window has %d records, and %d are kept for %s; raise max_records, or make the windows or the keys smaller",
				uint64(n)+left, f.spec.Limit, f.what()))
			continue
		}
		if err == nil {
			err = aggregate.UnpackRows(cell, records)
		}
		if err != nil {
			return err
		}
		counts = append(counts, uint32(n))
	}
	b.Narrow(from)
	f.given <- records // there is room: no more than wire.Credits are unanswered
	return f.plugin.Fire(b, records, counts)
}

func (f *fold) what() string {
	if f.spec.Result != "" {
		return fmt.Sprintf("the aggregate %q", f.spec.Result)
	}
	return "the window function"
}

func (f *fold) memory() *batch.Batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.spare); n > 0 {
		b := f.spare[n-1]
		f.spare = f.spare[:n-1]
		return b
	}
	return batch.Get()
}

// Recv gives the rows that go on: the columns of the windows, and what the plugin has made of their records.
func (f *fold) Recv() (wire.TransformEvent, error) {
	e, err := f.plugin.Recv()
	if err != nil {
		return e, err
	}
	records := <-f.given
	records.Reset()
	f.mu.Lock()
	f.spare = append(f.spare, records)
	f.mu.Unlock()
	answer := e.Out
	e.Out = f.join(e.In, answer, e.Origin)
	answer.Release()
	// What is refused is shown without its records.
	e.In.Columns = slices.DeleteFunc(e.In.Columns, func(c batch.Column) bool { return c.Name == f.spec.Column })
	return e, nil
}

// join makes the rows that go on: for each row of the answer the columns of its window, in their order, and the answer's own.
func (f *fold) join(windows, answer *batch.Batch, origin []uint32) *batch.Batch {
	out := batch.Get()
	out.N = answer.N
	out.Times = append(out.Times, answer.Times...)
	out.Marks = append(out.Marks, answer.Marks...)
	for i := range windows.Columns {
		from := &windows.Columns[i]
		switch {
		case from.Name != f.spec.Column && (f.spec.Result != "" || answer.Column(from.Name) == nil):
			gather(out, out.AddColumn(from.Name), windows, from, origin)
		case from.Name == f.spec.Column && f.spec.Result != "":
			if c := answer.Column(wire.ResultColumn); c != nil {
				gather(out, out.AddColumn(f.spec.Result), answer, c, nil)
			} else { // an answer without rows
				out.AddColumn(f.spec.Result)
			}
		}
	}
	if f.spec.Result != "" {
		return out
	}
	for i := range answer.Columns {
		if c := &answer.Columns[i]; !batch.IsAside(c.Name) {
			gather(out, out.AddColumn(c.Name), answer, c, nil)
		}
	}
	return out
}

// gather copies cells with their texts: those of rows, or all of them.
func gather(out *batch.Batch, to *batch.Column, b *batch.Batch, from *batch.Column, rows []uint32) {
	for i := range out.N {
		row := i
		if rows != nil {
			row = int(rows[i])
		}
		kind, bits := from.Kinds[row], from.Bits[row]
		if kind == batch.String || kind == batch.JSON {
			text := b.Text(bits)
			bits = batch.ExtraRef(len(out.Extra), len(text))
			out.Extra = append(out.Extra, text...)
		}
		to.Set(i, kind, bits)
	}
}

// Barrier and Restore are not called: there is no state.
func (f *fold) Barrier(uint64) error { return nil }
func (f *fold) Restore([]byte) error { return nil }
func (f *fold) Close() error         { return f.plugin.Close() }

// openFold starts a step's aggregate or window function.
func (a *attempt) openFold(ctx context.Context, s *plan.Step) (*fold, error) {
	plugin, err := a.p.set.Plugins.OpenWindows(ctx, wire.WindowsOpen{
		Kind: s.Plugin.Kind, Plugin: s.Plugin.Name, Options: s.Plugin.Options, Columns: s.Fold.Columns,
		Place: wire.Place{Pipeline: a.plan.Name, Component: s.Fold.Of},
	}, host.Isolation(s.Plugin.Isolation))
	if err != nil {
		return nil, err
	}
	return newFold(plugin, s.Fold), nil
}

// inPieces cuts a batch, which it takes over, so that no piece has much more than bytes, by the size of its rows.
func inPieces(b *batch.Batch, size func(row uint32) int, bytes int) []*batch.Batch {
	sum := 0
	cuts := map[uint32]bool{}
	for i, row := range b.Select() {
		n := size(row)
		if i > 0 && sum+n > bytes {
			cuts[row] = true
			sum = 0
		}
		sum += n
	}
	if len(cuts) == 0 {
		return []*batch.Batch{b}
	}
	return inParts(b, func(_, row uint32) bool { return cuts[row] })
}
