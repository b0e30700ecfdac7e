package window

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

var paneEngine = engine{
	name: "panes",
	can:  func(s Spec, _ *aggregate.Layout) bool { return panesCanDo(s, Env{Meta: true}) },
	make: func(s Spec, l *aggregate.Layout, e Env, o *Output) Operator { return newPanes(s, l, e, o) },
}

// drawPaneSpec draws a Spec that panes can run without meta columns.
func drawPaneSpec(t *rapid.T) Spec {
	small := func(name string) int64 { return rapid.Int64Range(1, 12).Draw(t, name) }
	s := Spec{Type: rapid.SampledFrom([]Type{Tumbling, Sliding, Cumulative}).Draw(t, "type")}
	switch s.Type {
	case Tumbling:
		s.Size = small("size")
		s.Offset = rapid.Int64Range(-s.Size+1, s.Size-1).Draw(t, "offset")
	case Sliding:
		s.Size, s.Slide = small("size")*rapid.SampledFrom([]int64{1, 3}).Draw(t, "times"), small("slide")
		s.Offset = rapid.Int64Range(-s.Slide+1, s.Slide-1).Draw(t, "offset")
	case Cumulative:
		s.Slide = rapid.Int64Range(1, 5).Draw(t, "step")
		s.Size = s.Slide * rapid.Int64Range(1, 6).Draw(t, "steps")
		s.Offset = rapid.Int64Range(-s.Size+1, s.Size-1).Draw(t, "offset")
	}
	if rapid.Bool().Draw(t, "lateness") {
		s.Lateness = small("allowed")
		if s.Type == Tumbling && rapid.Bool().Draw(t, "collect late rows") {
			s.LateEvery = small("late every")
		}
	}
	return s
}

// TestPanesAreTheGeneralEngine plays random histories through both engines, in other batches and shards, with restarts at other
// moments: every row of every result must be the same, in the same order. The aggregates see order where there is any to see.
func TestPanesAreTheGeneralEngine(t *testing.T) {
	aggs := []aggregate.Spec{
		{Name: "n", Func: "count"}, {Name: "sum", Func: "sum", Arg: "value"}, {Name: "max", Func: "max", Arg: "value"},
		{Name: "first", Func: "first", Arg: "value"}, {Name: "list", Func: "collect", Arg: "value", Limit: 4},
	}
	keys := []string{"a", "b", "c", "d", "e", "f", "", "12345678", "1234567", "1234567812345678", "a key of more than sixteen bytes", "a key of more than sixteen bytes too"}
	rapid.Check(t, func(t *rapid.T) {
		spec := drawPaneSpec(t)
		// Near the ends of time windows are cut.
		base := rapid.SampledFrom([]int64{0, 0, -1000, math.MaxInt64 - 60, math.MinInt64 + 30}).Draw(t, "base")
		require.True(t, panesCanDo(spec, Env{}))
		a := newRig(t, generalEngine, spec, false, rapid.IntRange(1, 3).Draw(t, "shards"), aggs...)
		b := newRig(t, paneEngine, spec, false, rapid.IntRange(1, 3).Draw(t, "shards"), aggs...)
		watermark := addSaturating(base, -20)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1, 2:
				var rows []testRow
				for range rapid.IntRange(1, 10).Draw(t, "rows") {
					from := max(addSaturating(base, -20), addSaturating(watermark, -15))
					rows = append(rows, testRow{
						key:   rapid.SampledFrom(keys).Draw(t, "key"),
						value: rapid.Int64Range(0, 9).Draw(t, "value"),
						ts:    rapid.Int64Range(max(from, math.MinInt64+1), addSaturating(max(from, watermark), 40)).Draw(t, "ts"),
					})
				}
				require.Equal(t, lines(a.process(rows...)), lines(b.process(rows...)), "rows %v", rows)
				require.Equal(t, a.late, b.late)
				require.Equal(t, a.silent, b.silent)
			case 3, 4:
				watermark = addSaturating(watermark, rapid.Int64Range(1, 20).Draw(t, "further"))
				require.Equal(t, lines(a.advance(watermark)), lines(b.advance(watermark)), "watermark %d", watermark)
			case 5:
				b.restart(rapid.IntRange(1, 3).Draw(t, "shards"))
			case 6:
				b.checkpoint()
			}
			if watermark < math.MaxInt64-100 {
				require.Equal(t, a.live(), b.live(), "live windows")
			}
		}
		require.Equal(t, lines(a.advance(math.MaxInt64)), lines(b.advance(math.MaxInt64)), "end of input")
	})
}

// Stacks of panes give what merging all panes anew for each window gives, through long histories of many panes, with rows behind the
// watermark into every part of the stacks.
func TestStacksAreMergingAnew(t *testing.T) {
	anew := engine{name: "anew", make: func(s Spec, l *aggregate.Layout, e Env, o *Output) Operator {
		p := newPanes(s, l, e, o)
		p.slide.plain = true
		return p
	}}
	aggs := []aggregate.Spec{{Name: "n", Func: "count"}, {Name: "max", Func: "max", Arg: "value"}, {Name: "list", Func: "collect", Arg: "value", Limit: 5}}
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{Type: Sliding, Size: rapid.Int64Range(20, 80).Draw(t, "size"), Slide: rapid.Int64Range(1, 4).Draw(t, "slide")}
		if rapid.IntRange(0, 3).Draw(t, "cumulative") == 0 {
			spec = Spec{Type: Cumulative, Slide: 3, Size: 60}
		}
		a := newRig(t, anew, spec, true, 1, aggs...)
		b := newRig(t, paneEngine, spec, true, 2, aggs...)
		watermark := int64(0)
		for range rapid.IntRange(20, 150).Draw(t, "steps") {
			var rows []testRow
			for range rapid.IntRange(0, 3).Draw(t, "rows") {
				rows = append(rows, testRow{
					key:   rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
					value: rapid.Int64Range(0, 99).Draw(t, "value"),
					ts:    watermark + rapid.Int64Range(-spec.Size, 10).Draw(t, "ts"),
				})
			}
			require.Equal(t, lines(a.process(rows...)), lines(b.process(rows...)))
			require.Equal(t, a.late, b.late)
			watermark += rapid.SampledFrom([]int64{0, 1, 1, 2, 3, 5, 8, 40, 200}).Draw(t, "further")
			require.Equal(t, lines(a.advance(watermark)), lines(b.advance(watermark)), "watermark %d", watermark)
		}
		require.Equal(t, lines(a.advance(math.MaxInt64)), lines(b.advance(math.MaxInt64)))
	})
}

// A checkpoint has what changed since the one before, and a pane that came and went in between leaves no trace.
func TestSnapshotsHaveOnlyWhatChanged(t *testing.T) {
	r := newRig(t, paneEngine, Spec{Type: Tumbling, Size: 10}, false, 1, aggregate.Spec{Name: "n", Func: "count"})
	log := func() []string {
		var w storeLog
		r.ops[0].Snapshot(&w)
		return w
	}
	r.process(testRow{key: "a", ts: 1}, testRow{key: "b", ts: 2}, testRow{key: "a", ts: 25})
	require.ElementsMatch(t, []string{"set 0 a", "set 0 b", "set 20 a"}, log())
	require.Empty(t, log(), "nothing has changed")
	r.process(testRow{key: "b", ts: 3}, testRow{key: "c", ts: 12})
	require.ElementsMatch(t, []string{"set 0 b", "set 10 c"}, log())
	r.process(testRow{key: "d", ts: 31})
	r.advance(100)
	require.Equal(t, []string{"drop 0", "drop 10", "drop 20"}, log(), "30 was never stored")
	require.Empty(t, log())
}

type storeLog []string

func (l *storeLog) Set(time int64, _ uint64, key, _ []byte) {
	*l = append(*l, fmt.Sprintf("set %d %s", time, key[1:]))
}
func (l *storeLog) Merge(time int64, _ uint64, key, _ []byte) {
	*l = append(*l, fmt.Sprintf("merge %d %s", time, key[1:]))
}
func (l *storeLog) Delete(time int64, _ uint64, key []byte) {
	*l = append(*l, fmt.Sprintf("delete %d %s", time, key[1:]))
}
func (l *storeLog) DropTime(time int64) { *l = append(*l, fmt.Sprintf("drop %d", time)) }

// Between a row of the year 1 and one of the year 9999 lie more than 10^17 windows of this Spec, and nobody looks at them.
func TestEmptyTimeCostsNothing(t *testing.T) {
	for _, spec := range []Spec{{Type: Tumbling, Size: 1}, {Type: Sliding, Size: 10, Slide: 1}, {Type: Cumulative, Size: 10, Slide: 1}} {
		r := newRig(t, paneEngine, spec, false, 1, aggregate.Spec{Name: "n", Func: "count"})
		first, last := int64(-62135596800000), int64(253402300799999)
		r.process(testRow{key: "a", ts: first}, testRow{key: "a", ts: last}, testRow{key: "a", ts: 0})
		results := r.advance(math.MaxInt64)
		windows := map[Type]int{Tumbling: 1, Sliding: 10, Cumulative: 0}[spec.Type]
		if spec.Type == Cumulative {
			require.Len(t, results, 10+10+1, "years begin at a period's start, the last millisecond is in its last step")
			continue
		}
		require.Len(t, results, 3*windows)
		require.Equal(t, last, results[2*windows].ts)
	}
}

// In steady state rows, firings and the panes they need take no memory from the heap.
func TestPanesDoNotAllocate(t *testing.T) {
	for _, spec := range []Spec{{Type: Tumbling, Size: 10}, {Type: Sliding, Size: 60, Slide: 10}, {Type: Cumulative, Size: 60, Slide: 10}} {
		layout, err := aggregate.New([]aggregate.Spec{{Name: "n", Func: "count"}, {Name: "sum", Func: "sum", Arg: "value"}, {Name: "max", Func: "max", Arg: "value"}})
		require.NoError(t, err)
		out := &Output{Results: batch.Get()}
		op := newPanes(spec, layout, Env{KeyFields: []string{"key"}}, out)
		in := newBenchInput(100, 4)
		n := 0
		step := func() {
			rows, _ := in.rows(n)
			for i := range rows.Batch.Times {
				rows.Batch.Times[i] = int64(n) + int64(i%3)
			}
			watermark := int64(n)
			n++
			op.Process(rows)
			op.AdvanceWatermark(watermark)
			out.Results.Reset()
			out.Segments = out.Segments[:0]
		}
		for range 400 {
			step()
		}
		require.Less(t, testing.AllocsPerRun(200, step), 0.5, "%s: allocations for 2,048 rows", spec.Type)
	}
}
