package window

import (
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Names of the columns that results have beside the key fields and the aggregates.
const (
	StartColumn     = "window_start" // Time, null for global windows
	EndColumn       = "window_end"   // Time, null for global windows
	WatermarkColumn = "_watermark"   // Time: the watermark that the result was emitted at; null before the first one, and for windows over the clock
	FiringColumn    = "_firing"      // Int: 0 for a window's first result, 1 for the next; a session keeps counting when it grows, and when several become one it goes on from the highest
	TimingColumn    = "_timing"      // String: early, on_time or late
	RetractColumn   = "_retract"     // Bool: this row takes an earlier result back; all its other cells are those of that result
)

// Columns are the columns of an operator's results, in order. In retracting mode _retract is there without Meta too: nobody could
// tell a retraction from a result otherwise.
func Columns(s Spec, layout *aggregate.Layout, env Env) []string {
	names := append([]string(nil), env.KeyFields...)
	names = append(names, StartColumn, EndColumn)
	names = append(names, layout.Columns()...)
	if env.Meta {
		names = append(names, WatermarkColumn, FiringColumn, TimingColumn)
	}
	if s.Mode == Retracting {
		names = append(names, RetractColumn)
	}
	return names
}

// result is what a result row has beside its key and its accumulators.
type result struct {
	span      Span
	watermark int64
	firing    uint32
	timing    Timing
	retract   bool
}

// resultWriter appends rows to an Output's Results. [open] comes first in each call of an operator that emits.
type resultWriter struct {
	layout  *aggregate.Layout
	names   []string
	keys    int // number of key columns
	aggs    int // number of the first aggregate's column
	meta    int // number of the first meta column, 0 = none
	retract int // number of the column _retract, 0 = none

	out     *Output
	keyCols []*batch.Column
	timing  [3]uint64 // references to the words of _timing in this batch
	at      [1]uint32
}

func newResultWriter(s *Spec, layout *aggregate.Layout, env Env) resultWriter {
	w := resultWriter{layout: layout, names: Columns(*s, layout, env), keys: len(env.KeyFields)}
	w.aggs = w.keys + 2
	next := w.aggs + len(layout.Columns())
	if env.Meta {
		w.meta = next
		next += 3
	}
	if s.Mode == Retracting {
		w.retract = next
	}
	return w
}

// open looks at the Output afresh: the caller may have put another batch there since the last call.
func (w *resultWriter) open(out *Output) {
	w.out = out
	if out.Results == nil {
		out.Results = batch.Get()
	}
	b := out.Results
	if b.N == 0 {
		b.Columns = b.Columns[:0]
		for _, name := range w.names {
			b.AddColumn(name)
		}
		if w.meta > 0 {
			for t := range w.timing {
				text := Timing(t).String()
				w.timing[t] = batch.ExtraRef(len(b.Extra), len(text))
				b.Extra = append(b.Extra, text...)
			}
		}
	}
	w.keyCols = w.keyCols[:0]
	for i := range w.keys {
		w.keyCols = append(w.keyCols, &b.Columns[i])
	}
}

// add appends one result with the accumulators at mem[at:].
func (w *resultWriter) add(r result, tag uint8, key []byte, mem []uint64, at uint32, heap *aggregate.Heap) {
	b := w.out.Results
	row := b.Grow(1)
	b.Times[row] = r.span.MaxTimestamp()
	if err := rowkey.Decode(tag, key, b, w.keyCols, row); err != nil {
		panic("window: a key that rowkey made does not decode: " + err.Error())
	}
	if r.span == globalSpan {
		b.Columns[w.keys].SetNull(row)
		b.Columns[w.keys+1].SetNull(row)
	} else {
		b.Columns[w.keys].SetTime(row, r.span.Start)
		b.Columns[w.keys+1].SetTime(row, r.span.End)
	}
	w.at[0] = at
	w.layout.Results(b, w.aggs, row, mem, w.at[:], heap)
	if w.meta > 0 {
		if r.watermark == batch.NoWatermark {
			b.Columns[w.meta].SetNull(row)
		} else {
			b.Columns[w.meta].SetTime(row, r.watermark)
		}
		b.Columns[w.meta+1].SetInt(row, int64(r.firing))
		b.Columns[w.meta+2].Set(row, batch.String, w.timing[r.timing])
	}
	if w.retract > 0 {
		b.Columns[w.retract].SetBool(row, r.retract)
	}
}

// segment says that the last n rows fired together.
func (w *resultWriter) segment(place uint32, at, end int64, n int) {
	to := uint32(w.out.Results.N)
	from := to - uint32(n)
	if k := len(w.out.Segments); k > 0 {
		last := &w.out.Segments[k-1]
		if last.Place == place && last.At == at && last.End == end && last.To == from {
			last.To = to
			return
		}
	}
	w.out.Segments = append(w.out.Segments, Segment{Place: place, At: at, End: end, From: from, To: to})
}
