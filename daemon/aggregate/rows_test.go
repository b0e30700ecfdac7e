package aggregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// kept is a row as the slow model of RowsFunc has it.
type kept struct {
	time int64
	a, v any
}

func rowsSpec(limit int) Spec {
	return Spec{Name: "r", Func: RowsFunc, Args: []string{"a", "nowhere", "v"}, Limit: limit}
}

func keptBatch(rows []kept) *batch.Batch {
	b := batch.Get()
	b.N = len(rows)
	b.AddColumn("a")
	b.AddColumn("v")
	for i, r := range rows {
		setCell(b, &b.Columns[0], i, r.a)
		setCell(b, &b.Columns[1], i, r.v)
		b.Times = append(b.Times, r.time)
	}
	return b
}

// unpacked shows what a result holds.
func unpacked(t require.TestingT, x *table, entry int) (lines []string, left uint64) {
	b := batch.Get()
	defer b.Release()
	b.N = 1
	b.AddColumn("r")
	x.l.Results(b, 0, 0, x.mem, []uint32{x.at(entry)}, &x.heap)
	cell := b.Text(b.Columns[0].Bits[0])
	n, left, err := CountRows(cell)
	require.NoError(t, err)
	out := batch.Get()
	defer out.Release()
	for _, name := range []string{"a", "nowhere", "v"} {
		out.AddColumn(name)
	}
	require.NoError(t, UnpackRows(cell, out))
	require.Equal(t, n, out.N)
	for i := range out.N {
		lines = append(lines, fmt.Sprintf("%d %s %s %s", out.Times[i], show(out, &out.Columns[0], i), show(out, &out.Columns[1], i), show(out, &out.Columns[2], i)))
	}
	return lines, left
}

// Rows come back as they were, by event time and then by arrival, whatever parts they were added in, merged from, and stored between.
func TestRowsAreKeptAsTheyCame(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{1, 2, 5, 1000}).Draw(t, "limit")
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) kept {
			return kept{rapid.SampledFrom([]int64{-1 << 63, -5, 0, 1, 2, 1<<63 - 1}).Draw(t, "time"), anyValue.Draw(t, "a"), anyValue.Draw(t, "v")}
		}), 0, 40).Draw(t, "rows")
		x := newTable(outer, 2, rowsSpec(limit))
		for from := 0; from < len(rows); {
			to := rapid.IntRange(from+1, len(rows)).Draw(t, "to")
			part := newTable(outer, 1, rowsSpec(limit))
			part.add(0, keptBatch(rows[from:to]))
			if rapid.Bool().Draw(t, "stored") {
				again := newTable(outer, 1, rowsSpec(limit))
				again.decode(t, 0, part.encode(0))
				part = again
			}
			x.merge(0, part, 0)
			from = to
		}
		x.decode(t, 1, x.encode(0))

		model := slices.Clone(rows)
		slices.SortStableFunc(model, func(a, b kept) int { return cmp.Compare(a.time, b.time) })
		var want []string
		b := keptBatch(model)
		for i := range min(limit, len(model)) {
			want = append(want, fmt.Sprintf("%d %s missing %s", model[i].time, show(b, &b.Columns[0], i), show(b, &b.Columns[1], i)))
		}
		for entry := range 2 {
			got, left := unpacked(t, x, entry)
			require.Equal(t, want, got)
			require.Equal(t, uint64(len(model)-len(want)), left)
		}
		require.Equal(t, x.encode(0), x.encode(1))
		for entry := range 2 {
			x.l.Clear(x.mem, x.at(entry), &x.heap)
		}
		require.Zero(t, x.heap.inUse, "blocks are given back")
	})
}

func TestDamagedRowsAreToldAndTakeNoMemory(t *testing.T) {
	for _, cell := range [][]byte{nil, {1}, {0xff, 0xff, 0xff, 0xff, 0x7f, 0}, {1, 0, 2}, {1, 0, 2, 99}, {0, 0, 1}, {1, 0, 2, byte(batch.String), 200, 'a'}} {
		b := batch.Get()
		b.AddColumn("a")
		require.ErrorContains(t, UnpackRows(cell, b), "rows of a window: aggregate: damaged state", fmt.Sprint(cell))
		require.LessOrEqual(t, b.N, 1)
	}
}

func TestManyColumnsOfText(t *testing.T) {
	spec := Spec{Name: "r", Func: RowsFunc}
	b := batch.Get()
	b.N = 3
	for i := range 20 {
		spec.Args = append(spec.Args, fmt.Sprint("c", i))
		c := b.AddColumn(spec.Args[i])
		for row := range 3 {
			b.SetText(c, row, batch.String, strings.Repeat(fmt.Sprint(row), i))
		}
	}
	b.Times = []int64{3, 1, 2}
	x := newTable(t, 1, spec)
	x.add(0, b)
	out := batch.Get()
	for _, name := range spec.Args {
		out.AddColumn(name)
	}
	require.NoError(t, UnpackRows(x.encode(0)[1:], out)) // behind the version
	require.Equal(t, []int64{1, 2, 3}, out.Times)
	require.Equal(t, strings.Repeat("1", 19), string(out.Text(out.Columns[19].Bits[0])))
}
