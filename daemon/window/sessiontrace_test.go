package window

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is said about open sessions is what the rule book has.
func TestTracedSessionsAreThoseOfTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{
			Type: Session, Gap: 10, GapColumn: "gap", MaxLength: rapid.SampledFrom([]int64{0, 25}).Draw(t, "longest"),
			Lateness: rapid.SampledFrom([]int64{0, 20}).Draw(t, "lateness"),
		}
		m, traced, watermark := newModel(spec), spec.Sessions(), int64(math.MinInt64)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				watermark = max(watermark, rapid.Int64Range(0, 200).Draw(t, "watermark"))
				m.advance(watermark, false)
				continue
			}
			row := testRow{key: "a", ts: rapid.Int64Range(0, 200).Draw(t, "ts"), gap: rapid.SampledFrom([]int64{-1, 3, 30}).Draw(t, "gap")}
			gap := row.gap
			if gap < 0 {
				gap = spec.Gap
			}
			late := len(m.late)
			m.row(row, 0)
			if len(m.late) == late {
				traced.Take(row.ts, gap, watermark)
			}
		}
		traced.Advance(watermark)
		var want []Span
		for _, w := range m.windows {
			if m.dropsAt(w) > watermark {
				want = append(want, w.span)
			}
		}
		slices.SortFunc(want, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
		require.Equal(t, want, append([]Span(nil), traced.Open()...))
	})
}
