package watermark

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// said is a row ("5") or a watermark ("w5") of a partition.
type said struct {
	mark bool
	time int64
}

func saidBy(words string) (out []said) {
	for _, w := range strings.Fields(words) {
		var s said
		number := strings.TrimPrefix(w, "w")
		s.mark = number != w
		switch number {
		case "end":
			s.time = math.MaxInt64
		case "none":
			s.time = none
		default:
			_, _ = fmt.Sscan(number, &s.time)
		}
		out = append(out, s)
	}
	return out
}

func batchOf(events []said) *batch.Batch {
	b := batch.Get()
	for _, e := range events {
		if e.mark {
			b.Marks = append(b.Marks, batch.Mark{After: uint32(b.N), Watermark: e.time})
			continue
		}
		b.Times = append(b.Times, e.time)
		b.N++
	}
	return b
}

// told writes a batch down as it goes on.
func toldBy(b *batch.Batch) (out []string) {
	word := func(t int64) string {
		switch t {
		case math.MaxInt64:
			return "end"
		case none:
			return "none"
		}
		return fmt.Sprint(t)
	}
	marks := b.Marks
	for i := 0; i <= b.N; i++ {
		for len(marks) > 0 && int(marks[0].After) <= i {
			out = append(out, "w"+word(marks[0].Watermark))
			marks = marks[1:]
		}
		if i < b.N {
			out = append(out, word(b.Times[i]))
		}
	}
	return out
}

func TestMarksThatRowsDoNotBearOut(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"watermarks of the rows":             {"1 w0 50 w40 90 w80", "1 w0 50 w40 90 w80"},
		"one from the future":                {"1 w0 2 w9000 3 w2 4 w3", "1 w0 2 3 w2 4 w3"},
		"it is not kept for later":           {"1 w9000 2 8950 w8900 9001", "1 2 8950 w8900 9001"},
		"three agree when no rows come":      {"1 w0 w9000 w9010 w9020 w9030", "1 w0 w9020 w9030"},
		"three that do not agree":            {"1 w9000 w99000 w199000 2 w1", "1 2 w1"},
		"with rows in between they never do": {"1 w9000 2 w9001 3 w9002 4", "1 2 3 4"},
		"a row without a time is none":       {"1 w9000 none w9001 none w9002", "1 none none w9002"},
		"before any row nothing is known":    {"w5 1 w1", "1 w1"},
		"three before any row":               {"w5 w6 w7 8", "w7 8"},
		"the end of input needs no witness":  {"1 wend", "1 wend"},
		"back again":                         {"1 w9000 w0 2 w1", "1 w0 2 w1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewMarkGuard(JumpSettings{Span: 100})
			b := batchOf(saidBy(c.in))
			defer b.Release()
			g.Apply(b)
			require.Equal(t, c.want, strings.Join(toldBy(b), " "))
		})
	}
}

func TestATickIsBelievedNearTheRows(t *testing.T) {
	g := NewMarkGuard(JumpSettings{Span: 100})
	require.False(t, g.Believes(0, 5))
	b := batchOf(saidBy("1 2"))
	defer b.Release()
	g.Apply(b)
	require.True(t, g.Believes(0, 102))
	require.False(t, g.Believes(0, 103))
	g.End(0)
	require.False(t, g.Believes(0, 5))
}

// What is believed depends on the partition's own rows and watermarks alone: not on how they are cut into batches, nor on restarts.
func TestMarkGuardDoesNotSeeBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := int64(0)
		var events []said
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			at += rapid.SampledFrom([]int64{0, 1, 60, 150}).Draw(t, "step")
			e := said{mark: rapid.Bool().Draw(t, "mark"), time: at}
			if rapid.IntRange(0, 3).Draw(t, "odd") == 0 {
				e.time = rapid.SampledFrom([]int64{at + 5000, at + 90000, none, at - 50}).Draw(t, "time")
				if e.mark && e.time == none {
					e.time = math.MaxInt64
				}
			}
			events = append(events, e)
		}
		settings := JumpSettings{Span: 100, Records: rapid.IntRange(2, 4).Draw(t, "records")}
		whole := batchOf(events)
		defer whole.Release()
		NewMarkGuard(settings).Apply(whole)

		var got []string
		g := NewMarkGuard(settings)
		for rest := events; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			b := batchOf(rest[:n])
			rest = rest[n:]
			g.Apply(b)
			got = append(got, toldBy(b)...)
			b.Release()
			if rapid.Bool().Draw(t, "restart") {
				s := g.Snapshot(0, nil)
				g = NewMarkGuard(settings)
				require.NoError(t, g.Restore(0, s))
				require.ErrorIs(t, g.Restore(0, s[:len(s)-1]), ErrSnapshot)
			}
		}
		require.Equal(t, toldBy(whole), got)
	})
}
