package sdktest

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Window is a window as a test describes it to [Fire].
type Window struct {
	Start, End int64          // event time in milliseconds
	Values     map[string]any // key fields and other aggregates, for window functions
	Records    []any          // structs with tidemark tags, or maps of fields
	Times      []int64        // their event times; nil: one millisecond after the other from Start
}

// Fire gives windows to an aggregate or a window function and returns its rows: for an aggregate one for each window, with its value under
// "result". A window that it refuses gives the row {"refused": what it says}. The windows are fired together.
func Fire(t testing.TB, p sdk.Plugin, o Options, windows ...Window) []map[string]any {
	t.Helper()
	d := p.Description()
	run, err := p.OpenWindows(wire.WindowsOpen{Kind: d.Kind, Plugin: d.Name, Options: o.json()}, wire.Runtime{})
	if err != nil {
		t.Fatalf("open %s: %v", d.Name, err)
	}
	defer run.Close()
	c, err := callOf(windows)
	if err != nil {
		t.Fatal(err)
	}
	defer c.release()
	e, err := c.fire(run)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Out.Release()
	var out []map[string]any
	refused := c.windows.Bad
	said := func(before uint32) {
		for len(refused) > 0 && refused[0].Row < before {
			out = append(out, map[string]any{"refused": refused[0].Message})
			refused = refused[1:]
		}
	}
	for i := range e.Out.N {
		said(e.Origin[i])
		row := map[string]any{}
		for k := range e.Out.Columns {
			c := &e.Out.Columns[k]
			if c.Kinds[i] != batch.Missing {
				text := ""
				if c.Kinds[i].IsText() {
					text = string(e.Out.Text(c.Bits[i]))
				}
				row[c.Name] = batch.Value(c.Kinds[i], c.Bits[i], text)
			}
		}
		out = append(out, row)
	}
	said(math.MaxUint32)
	return out
}

// windowsCall is what a plugin is given.
type windowsCall struct {
	windows, records *batch.Batch
	counts           []uint32
}

func callOf(windows []Window) (*windowsCall, error) {
	var rows, records []map[string]any
	var ends, times []int64
	c := &windowsCall{}
	for _, w := range windows {
		row := maps.Clone(w.Values)
		if row == nil {
			row = map[string]any{}
		}
		row["window_start"], row["window_end"] = time.UnixMilli(w.Start), time.UnixMilli(w.End)
		rows, ends = append(rows, row), append(ends, w.End-1)
		if w.Times != nil && len(w.Times) != len(w.Records) {
			return nil, fmt.Errorf("the window from %d has %d records and %d times", w.Start, len(w.Records), len(w.Times))
		}
		for i, r := range w.Records {
			fields, err := fieldsOf(r)
			if err != nil {
				return nil, err
			}
			at := w.Start + int64(i)
			if w.Times != nil {
				at = w.Times[i]
			}
			records, times = append(records, fields), append(times, at)
		}
		c.counts = append(c.counts, uint32(len(w.Records)))
	}
	c.windows, c.records = batchOf(rows, ends), batchOf(records, times)
	for _, b := range []*batch.Batch{c.windows, c.records} {
		b.Data, b.Offsets = nil, nil // windows have no bytes of records
	}
	return c, nil
}

func (c *windowsCall) release() {
	c.windows.Release()
	c.records.Release()
}

func (c *windowsCall) fire(run wire.Windows) (wire.TransformEvent, error) {
	if err := run.Fire(c.windows, c.records, c.counts); err != nil {
		return wire.TransformEvent{}, err
	}
	return run.Recv()
}
