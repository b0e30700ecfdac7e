package window

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
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
