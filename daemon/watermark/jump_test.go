package watermark

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// rowsAt makes a batch of lines whose text is their time, the first with number base, with a text and a number column.
func rowsAt(partition uint32, base int, times ...int64) *batch.Batch {
	b := batch.Get()
	b.Partition, b.Trailer, b.Base = partition, 1, int64(base)
	b.Offsets = append(b.Offsets, 0)
	for _, ts := range times {
		b.Data = append(b.Data, fmt.Sprintf("%d\n", ts)...)
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
		b.Times = append(b.Times, ts)
	}
	b.N = len(times)
	b.AddColumn("text")
	b.AddColumn("extra")
	number := b.AddColumn("number")
	text, extra := &b.Columns[0], &b.Columns[1]
	for i, ts := range times {
		text.Set(i, batch.String, batch.Ref(int(b.Offsets[i]), len(b.Row(i))))
		b.SetText(extra, i, batch.String, fmt.Sprint("t", ts))
		number.SetInt(i, ts)
	}
	b.Position = append(b.Position, fmt.Sprint(base+len(times))...)
	return b
}

const none = int64(batch.NoTimestamp)

// story writes down what a guard lets out: "5" for a row, "!900" for a refused one, with its number behind an @.
func flow(t require.TestingT, batches []*batch.Batch) string {
	var out []string
	for _, b := range batches {
		refused := map[uint32]bool{}
		for _, bad := range b.Bad {
			require.Equal(t, CodeUnconfirmedJump, bad.Code)
			require.EqualValues(t, batch.NoTimestamp, b.Times[bad.Row])
			refused[bad.Row] = true
		}
		alive := map[uint32]bool{}
		if b.Sel == nil {
			for i := range b.N {
				alive[uint32(i)] = true
			}
		}
		for _, row := range b.Sel {
			alive[row] = true
		}
		for i := range b.N {
			row := string(b.Row(i))
			require.Equal(t, row, string(b.Text(b.Columns[0].Bits[i])))
			require.Equal(t, "t"+row, string(b.Text(b.Columns[1].Bits[i])))
			require.Equal(t, row, fmt.Sprint(int64(b.Columns[2].Bits[i])))
			switch {
			case alive[uint32(i)]:
				require.Equal(t, row, fmt.Sprint(b.Times[i]))
				out = append(out, fmt.Sprintf("%s@%d", row, b.RowPosition(i)))
			case refused[uint32(i)]:
				out = append(out, fmt.Sprintf("!%s@%d", row, b.RowPosition(i)))
			}
		}
	}
	return strings.Join(out, " ")
}

func TestJumpStories(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   JumpSettings
		times []int64
		want  string
	}{
		{"ordinary rows pass, the first ones together", JumpSettings{Span: 100},
			[]int64{10, 20, 15, 110, 200}, "10@0 20@1 15@2 110@3 200@4"},
		{"one row from the future stays alone and is refused at the end", JumpSettings{Span: 100},
			[]int64{10, 20, 30, 9000, 40, 50}, "10@0 20@1 30@2 40@4 50@5 !9000@3"},
		{"a real jump is confirmed by the third row of a run", JumpSettings{Span: 100},
			[]int64{10, 20, 30, 5000, 5001, 5002, 5003}, "10@0 20@1 30@2 5000@3 5001@4 5002@5 5003@6"},
		{"a straggler breaks the run, but the rows come out in their order", JumpSettings{Span: 100},
			[]int64{10, 20, 30, 5000, 31, 5001, 5002, 5003}, "10@0 20@1 30@2 31@4 5000@3 5001@5 5002@6 5003@7"},
		{"a device with a wrong clock among good ones never gets a run", JumpSettings{Span: 100},
			[]int64{10, 20, 30, 9000, 40, 9001, 50, 9002, 60, 9003, 70}, "10@0 20@1 30@2 40@4 50@6 60@8 70@10 !9000@3 !9001@5 !9002@7 !9003@9"},
		{"a wrong row inside a real jump stays behind", JumpSettings{Span: 100},
			[]int64{10, 20, 30, 5000, 90000, 5001, 5002}, "10@0 20@1 30@2 5000@3 5001@5 5002@6 !90000@4"},
		{"ordinary time catches up with a jumper", JumpSettings{Span: 100},
			[]int64{10, 20, 30, 160, 70, 80}, "10@0 20@1 30@2 160@3 70@4 80@5"},
		{"patience", JumpSettings{Span: 100, Patience: 2},
			[]int64{10, 20, 30, 9000, 40, 50, 60}, "10@0 20@1 30@2 40@4 50@5 60@6 !9000@3"},
		{"room for three: the oldest goes", JumpSettings{Span: 100, MaxHeld: 3},
			[]int64{10, 20, 30, 9000, 40, 8000, 50, 7000, 60, 6000, 70}, "10@0 20@1 30@2 40@4 50@6 60@8 70@10 !9000@3 !8000@5 !7000@7 !6000@9"},
		{"a file of one row", JumpSettings{Span: 100}, []int64{10}, "10@0"},
		{"a file of two rows, one of them wrong: the lower is believed", JumpSettings{Span: 100}, []int64{9000, 10}, "10@1 !9000@0"},
		{"a wrong first row", JumpSettings{Span: 100}, []int64{9000, 10, 20, 30}, "10@1 20@2 30@3 !9000@0"},
		{"wrong clocks in a row, each in its own way", JumpSettings{Span: 100}, []int64{1, 2, 3, 9000, 99000, 199000, 4, 5},
			"1@0 2@1 3@2 4@6 5@7 !9000@3 !99000@4 !199000@5"},
		{"a wrong clock in the middle of a real jump", JumpSettings{Span: 100}, []int64{1, 2, 3, 9000, 99000, 9010, 9020, 9030},
			"1@0 2@1 3@2 9000@3 9010@5 9020@6 9030@7 !99000@4"},
		{"one that agrees with itself, but never in a row", JumpSettings{Span: 100}, []int64{1, 2, 3, 9000, 4, 9001, 5, 9002, 6},
			"1@0 2@1 3@2 4@4 5@6 6@8 !9000@3 !9001@5 !9002@7"},
		{"rows without a time say nothing", JumpSettings{Span: 100}, []int64{none, 1, none, 2, none, 3, 9000, none, 9001, none, 9002, none},
			"none@0 none@2 none@4 1@1 2@3 3@5 none@7 none@9 9000@6 9001@8 9002@10 none@11"},
		{"before 1970 and at the ends of time", JumpSettings{Span: 100},
			[]int64{-20, -10, -5, math.MaxInt64, 0, math.MinInt64 + 1}, "-20@0 -10@1 -5@2 0@4 -9223372036854775807@5 !9223372036854775807@3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewJumpGuard(c.set)
			out := g.Apply(rowsAt(0, 0, c.times...), nil)
			for i, b := range out {
				last := i == len(out)-1 || out[i+1].Alive() == 0 && out[i+1].N > 0
				require.Equal(t, last && len(b.Bad) == 0, len(b.Position) > 0, "only the last part moves the source's position (%d of %d)", i, len(out))
			}
			out = g.EndAll(out)
			require.Equal(t, strings.ReplaceAll(c.want, "none", fmt.Sprint(none)), flow(t, out))
			require.Zero(t, g.Held())
			for _, b := range out {
				b.Release()
			}
		})
	}
}

func TestPartitionsVouchForEachOther(t *testing.T) {
	g := NewJumpGuard(JumpSettings{Span: 100, Records: 5, Partitions: 2})
	var out []*batch.Batch
	out = g.Apply(rowsAt(0, 0, 1, 2, 3, 4, 5), out)
	out = g.Apply(rowsAt(1, 0, 1, 2, 3, 4, 5), out)
	out = g.Apply(rowsAt(0, 5, 5000), out)
	require.Equal(t, "1@0 2@1 3@2 4@3 5@4 1@0 2@1 3@2 4@3 5@4", flow(t, out), "one partition alone")
	require.Equal(t, 1, g.Held())
	out = g.Apply(rowsAt(1, 5, 6000), out[:0])
	require.Equal(t, "", flow(t, out), "they do not agree")
	require.Equal(t, 2, g.Held())
	out = g.Apply(rowsAt(1, 6, 5090), out[:0])
	require.Equal(t, "5000@5 5090@6", flow(t, out))
	require.EqualValues(t, 0, out[0].Partition)
	require.EqualValues(t, 1, out[len(out)-1].Partition)
	require.Equal(t, 1, g.Held())
}

// TestJumpGuardDoesNotSeeBatches cuts the same rows differently, with and without restarts: the same rows come out in the same
// order, none is lost, and none comes twice.
func TestJumpGuardDoesNotSeeBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := JumpSettings{
			Span: 50, Records: rapid.IntRange(2, 4).Draw(t, "records"),
			Patience: rapid.IntRange(1, 12).Draw(t, "patience"), MaxHeld: rapid.IntRange(1, 6).Draw(t, "max held"),
		}
		times := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 200), rapid.Int64Range(0, 2000)), 0, 60).Draw(t, "times")
		run := func(cut, restart bool) string {
			g := NewJumpGuard(set)
			var out []*batch.Batch
			for from := 0; from < len(times); {
				n := 1
				if cut {
					n = rapid.IntRange(1, len(times)-from).Draw(t, "rows")
				}
				out = g.Apply(rowsAt(0, from, times[from:from+n]...), out)
				from += n
				require.LessOrEqual(t, g.Held(), max(set.MaxHeld, set.Records))
				if restart && rapid.Bool().Draw(t, "restart") {
					fresh := NewJumpGuard(set)
					require.NoError(t, fresh.Restore(g.Snapshot(nil)))
					g = fresh
				}
			}
			out = g.EndAll(out)
			defer func() {
				for _, b := range out {
					b.Release()
				}
			}()
			return flow(t, out)
		}
		// Refused rows come at the end of their batch, so their place among the others depends on it; the others' order does not.
		split := func(s string) (passed, refused []string) {
			for _, x := range strings.Fields(s) {
				if x[0] == '!' {
					refused = append(refused, x)
				} else {
					passed = append(passed, x)
				}
			}
			return
		}
		passed, refused := split(run(false, false))
		require.Len(t, times, len(passed)+len(refused))
		for _, variant := range []bool{false, true} {
			p, r := split(run(true, variant))
			require.Equal(t, passed, p)
			require.Equal(t, refused, r)
		}
		if len(times) > 0 && slices.Max(times)-slices.Min(times) <= set.Span {
			require.Empty(t, refused, "rows that lie close together are never touched")
		}
	})
}

func TestJumpGuardLeavesOrdinaryBatchesAlone(t *testing.T) {
	g := NewJumpGuard(JumpSettings{Span: 1000})
	for _, b := range g.Apply(rowsAt(0, 0, 1, 2, 3), nil) {
		b.Release()
	}
	b := rowsAt(0, 3, 500, 400, 900)
	out := g.Apply(b, nil)
	require.Len(t, out, 1)
	require.Same(t, b, out[0])
	require.Nil(t, b.Sel)
}

func TestPartitionsHaveOtherNumbersAfterARestart(t *testing.T) {
	set := JumpSettings{Span: 100}
	g := NewJumpGuard(set)
	for p := range uint32(3) {
		for _, b := range g.Apply(rowsAt(p, 0, 1, 2, 3, 5000), nil) {
			b.Release()
		}
	}
	snapshot := g.Snapshot(nil)
	g = NewJumpGuard(set)
	require.NoError(t, g.Restore(snapshot))
	g.Renumber(func(stored uint32) (uint32, bool) { return 1 - stored, stored < 2 })
	out := g.Apply(rowsAt(1, 4, 5001, 5002), nil)
	require.Equal(t, "5000@3 5001@4 5002@5", flow(t, out))
	require.EqualValues(t, 1, out[0].Partition)
	require.Equal(t, 2, g.Held())
	require.Len(t, g.EndAll(nil), 2)
}
