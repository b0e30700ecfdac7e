package aggregate

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// hardFloats are drawn to cancel, to span the whole range, and to be ordinary.
var hardFloats = rapid.OneOf(
	rapid.Float64Range(-1e3, 1e3),
	rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-99999, 99999).Draw(t, "cents")) / 100 }),
	rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64),
	rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 1e16, -1e16, 1e100, -1e100, 1e-300, 5e-324, -5e-324, math.MaxFloat64, -math.MaxFloat64, 0x1p-1022, 1 << 53, 1<<53 + 2}),
)

var hardInts = rapid.OneOf(rapid.Int64(), rapid.Int64Range(-9, 9), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, 1 << 53, 1<<53 + 1, -1<<53 - 1}))

var anyNumber = rapid.OneOf(
	rapid.Map(hardFloats, func(f float64) any { return f }),
	rapid.Map(hardInts, func(i int64) any { return i }),
	rapid.Map(rapid.Uint64(), func(u uint64) any { return u }),
	rapid.Just(any(true)), rapid.Just(any(nil)),
	rapid.SampledFrom([]any{jsonText("-123456789012345678901234567890"), jsonText("99999999999999999999"), jsonText("{}")}),
)

var anyValue = rapid.OneOf(
	anyNumber,
	rapid.SampledFrom([]any{"a", "b", "", "a longer text than the others, for blocks of several sizes", math.Inf(1), math.Inf(-1), math.NaN(), missing{}, millis(5), millis(-5), false}),
)

// The sum of finite numbers is the exact sum, rounded once, in whatever order and grouping it is taken.
func TestSumIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs := rapid.SliceOfN(rapid.OneOf(
			rapid.Map(hardFloats, func(f float64) any { return f }),
			rapid.Map(hardInts, func(i int64) any { return i })), 1, 40).Draw(t, "values")
		want, wantSquares, floats := new(big.Rat), new(big.Rat), false
		for _, v := range vs {
			r := new(big.Rat)
			switch v := v.(type) {
			case float64:
				r.SetFloat64(v)
				floats = true
			case int64:
				r.SetInt64(v)
			}
			want.Add(want, r)
			wantSquares.Add(wantSquares, r.Mul(r, r))
		}
		var sum, squares exact
		var h Heap
		for _, v := range vs {
			switch v := v.(type) {
			case float64:
				sum.addFloat(v, &h)
				squares.addSquare(v, &h)
			case int64:
				sum.addInt(uint64(v), uint64(v>>63), &h)
				squares.addSquareInt(uint64(max(v, -v)), &h)
			}
		}
		requireValue(t, want, sum, &h)
		requireValue(t, wantSquares, squares, &h)
		if floats {
			hi, lo := sum.terms(&h)
			f, _ := want.Float64()
			require.Equal(t, f, hi)
			if !math.IsInf(hi, 0) {
				rest, _ := new(big.Rat).Sub(want, new(big.Rat).SetFloat64(hi)).Float64()
				require.Equal(t, rest, lo)
			}
		}
	})
}

func requireValue(t *rapid.T, want *big.Rat, s exact, h *Heap) {
	m, e := s.value(h)
	got := new(big.Rat).SetInt(m)
	if e >= 0 {
		got.Mul(got, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(e))))
	} else {
		got.Quo(got, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(-e))))
	}
	if got.Cmp(want) != 0 {
		t.Fatalf("sum is %s, want %s", got.RatString(), want.RatString())
	}
}

var everything = []Spec{
	{Name: "count", Func: "count"}, {Name: "count_v", Func: "count", Arg: "v"},
	{Name: "sum", Func: "sum", Arg: "v"}, {Name: "avg", Func: "avg", Arg: "v"},
	{Name: "variance", Func: "variance", Arg: "v"}, {Name: "stddev", Func: "stddev", Arg: "v"},
	{Name: "min", Func: "min", Arg: "v"}, {Name: "max", Func: "max", Arg: "v"},
	{Name: "median", Func: "median", Arg: "v"}, {Name: "p90", Func: "quantile", Arg: "v", P: 0.9},
	{Name: "distinct", Func: "count_distinct", Arg: "v", Limit: 5},
	{Name: "top", Func: "top", Arg: "v", K: 3},
	{Name: "first", Func: "first", Arg: "v"}, {Name: "last", Func: "last", Arg: "v"},
	{Name: "collect", Func: "collect", Arg: "v", Limit: 4},
}

// However rows are ordered, split over accumulators, merged, and written to a checkpoint in between, the result and the
// encoded state are the same. Rows here have times of their own, so that no tie depends on arrival.
func TestOrderAndGroupingNeverShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs := rapid.SliceOfN(anyValue, 0, 30).Draw(t, "values")
		b := values(vs...)
		straight := newTable(&testing.T{}, 1, everything...)
		straight.add(0, b)

		order := rapid.Permutation(indices(len(vs))).Draw(t, "order")
		const parts = 4
		x := newTable(&testing.T{}, parts, everything...)
		x.l.Bind(b)
		for _, i := range order {
			part := rapid.IntRange(0, parts-1).Draw(t, "part")
			x.l.Add(x.mem, []uint32{x.at(part)}, []uint32{uint32(i)}, &x.heap)
			if rapid.IntRange(0, 5).Draw(t, "checkpoint") == 0 {
				p := x.encode(part)
				x.l.Clear(x.mem, x.at(part), &x.heap)
				x.decode(t, part, p)
				require.Equal(t, p, x.encode(part))
			}
		}
		for left := parts; left > 1; left-- {
			dst := rapid.IntRange(0, left-2).Draw(t, "into")
			x.merge(dst, x, left-1)
		}
		require.Equal(t, straight.result(0), x.result(0))
		require.Equal(t, straight.encode(0), x.encode(0))

		for e := range parts {
			x.l.Clear(x.mem, x.at(e), &x.heap)
			require.Equal(t, uint64(0xdeadbeef), x.mem[x.at(e)])
		}
		require.Zero(t, x.heap.inUse, "blocks are left over after all entries were cleared")
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Ties of first, last and collect go by arrival, and the destination of a merge arrived before its source.
func TestTiesGoByArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "rows")
		vs := make([]any, n)
		for i := range vs {
			vs[i] = i
		}
		b := values(vs...)
		for i := range b.Times {
			b.Times[i] = int64(rapid.IntRange(0, 3).Draw(t, "time"))
		}
		specs := []Spec{{Name: "f", Func: "first", Arg: "v"}, {Name: "l", Func: "last", Arg: "v"}, {Name: "c", Func: "collect", Arg: "v", Limit: 5}}
		straight := newTable(&testing.T{}, 1, specs...)
		straight.add(0, b)
		x := newTable(&testing.T{}, 3, specs...)
		x.l.Bind(b)
		cut1 := rapid.IntRange(0, n).Draw(t, "cut")
		cut2 := rapid.IntRange(cut1, n).Draw(t, "cut")
		for i := range n {
			part := 0
			if i >= cut2 {
				part = 2
			} else if i >= cut1 {
				part = 1
			}
			x.l.Add(x.mem, []uint32{x.at(part)}, []uint32{uint32(i)}, &x.heap)
		}
		if rapid.Bool().Draw(t, "left first") {
			x.merge(0, x, 1)
			x.merge(0, x, 2)
		} else {
			x.merge(1, x, 2)
			x.merge(0, x, 1)
		}
		require.Equal(t, straight.result(0), x.result(0))
		require.Equal(t, straight.encode(0), x.encode(0))
	})
}

// Whatever a checkpoint file holds, decoding ends with an error or a state that encodes again.
func FuzzDecode(f *testing.F) {
	x := newTable(f, 1, everything...)
	f.Add(x.encode(0))
	x.add(0, values(1, 2.5, "a", nil, true, millis(4), jsonText("[1]"), math.Inf(1)))
	f.Add(x.encode(0))
	y := newTable(f, 1, everything...)
	y.add(0, values(1e300, 1e-300, 1.0, jsonText("123456789012345678901234567890")))
	f.Add(y.encode(0))
	f.Fuzz(func(t *testing.T, p []byte) {
		x := newTable(t, 2, everything...)
		rest, err := x.l.Decode(p, x.mem, x.at(0), &x.heap)
		if err != nil {
			return
		}
		again := x.encode(0)
		x.decode(t, 1, again)
		require.Equal(t, again, x.encode(1))
		require.Equal(t, x.result(0), x.result(1))
		require.LessOrEqual(t, len(rest), len(p))
	})
}

// What the quick loops over columns of one kind do is what the careful way does, cell by cell, also where a held value is of another
// kind, or not finite, or about to leave the range.
func TestQuickLoopsAreTheCarefulWay(t *testing.T) {
	specs := []Spec{
		{Name: "rows", Func: "count"}, {Name: "n", Func: "count", Arg: "v"}, {Name: "sum", Func: "sum", Arg: "v"},
		{Name: "avg", Func: "avg", Arg: "v"}, {Name: "min", Func: "min", Arg: "v"}, {Name: "max", Func: "max", Arg: "v"},
	}
	odd := rapid.SampledFrom([]any{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 0.0, "text", nil, true})
	rapid.Check(t, func(t *rapid.T) {
		// Any part of the aggregates, so that the pass runs with all combinations.
		var some []Spec
		for _, s := range specs {
			if rapid.Bool().Draw(t, s.Name) {
				some = append(some, s)
			}
		}
		quick, careful := newTable(&testing.T{}, 2, some...), newTable(&testing.T{}, 2, some...)
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			kind := rapid.OneOf(rapid.Map(hardFloats, func(f float64) any { return f }), odd)
			if rapid.Bool().Draw(t, "ints") {
				kind = rapid.Map(hardInts, func(i int64) any { return i })
			} else if rapid.Bool().Draw(t, "mixed") {
				kind = anyNumber
			} else if rapid.Bool().Draw(t, "plain") {
				kind = rapid.Map(hardFloats, func(f float64) any { return f })
			}
			b := values(rapid.SliceOfN(kind, 1, 20).Draw(t, "values")...)
			quick.l.Bind(b)
			var at, rows []uint32
			for i := range b.N {
				e := rapid.IntRange(0, 1).Draw(t, "entry")
				at, rows = append(at, quick.at(e)), append(rows, uint32(i))
			}
			quick.l.Add(quick.mem, at, rows, &quick.heap)
			for i := range rows {
				one := batch.Get() // a batch of one row, with a null before it, is never of one kind
				one.N = 2
				c := one.AddColumn("v")
				c.SetNull(0)
				k, v := b.Columns[0].Kinds[i], b.Columns[0].Bits[i]
				if hasText(k) {
					one.SetText(c, 1, k, string(b.Text(v)))
				} else {
					c.Set(1, k, v)
				}
				one.Times = []int64{0, b.Times[i]}
				careful.l.Bind(one)
				careful.l.Add(careful.mem, at[i:i+1], []uint32{1}, &careful.heap)
			}
		}
		for e := range 2 {
			require.Equal(t, careful.result(e), quick.result(e))
			require.Equal(t, careful.encode(e), quick.encode(e))
		}
	})
}
