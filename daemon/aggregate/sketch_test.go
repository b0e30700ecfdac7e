package aggregate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

func randomBatch(n int, value func(i int) any) *batch.Batch {
	vs := make([]any, n)
	for i := range vs {
		vs[i] = value(i)
	}
	return values(vs...)
}

func TestCountDistinctIsExactUpToItsBoundAndCloseBeyond(t *testing.T) {
	for _, n := range []int{1, 999, 1000, 1001, 5000, 50_000, 300_000} {
		x := newTable(t, 2, one("count_distinct"))
		x.add(0, randomBatch(n, func(i int) any { return fmt.Sprint("user", i) }))
		got := x.result(0)[0]
		if n <= DefaultDistinct {
			require.Equal(t, fmt.Sprint(n), got)
			continue
		}
		var estimate int
		fmt.Sscan(got, &estimate)
		require.InEpsilon(t, n, estimate, 4*0.0082, "four standard errors")
		x.decode(t, 1, x.encode(0))
		require.Equal(t, got, x.result(1)[0])
	}
}

func TestQuantilesBeyondTheExactOnesKeepTheirError(t *testing.T) {
	for name, draw := range map[string]func(r *rand.Rand) float64{
		"uniform":     func(r *rand.Rand) float64 { return r.Float64() * 1000 },
		"lognormal":   func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64() * 5) },
		"both signs":  func(r *rand.Rand) float64 { return r.NormFloat64() * 100 },
		"integers":    func(r *rand.Rand) float64 { return float64(r.IntN(1_000_000)) },
		"whole range": func(r *rand.Rand) float64 { return math.Ldexp(1+r.Float64(), r.IntN(2000)-1000) },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			all := make([]float64, 20_001)
			for i := range all {
				all[i] = draw(r)
			}
			ps := []float64{0, 0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1}
			var specs []Spec
			for _, p := range ps {
				specs = append(specs, Spec{Name: fmt.Sprint(p), Func: "quantile", Arg: "v", P: p})
			}
			x := newTable(t, 1, specs...)
			x.add(0, randomBatch(len(all), func(i int) any { return all[i] }))
			slices.Sort(all)
			for i, s := range x.result(0) {
				var got float64
				fmt.Sscan(s, &got)
				want := all[int(ps[i]*float64(len(all)-1))]
				require.InDelta(t, want, got, math.Abs(want)/128, "p=%v", ps[i])
			}
		})
	}
}

// An integer of 64 bits is the quantile that it is, and a larger one the nearest float; none is left out.
func TestQuantilesTakeIntegersOfAnySize(t *testing.T) {
	huge := jsonText("123456789012345678901234567890")
	for _, c := range []struct {
		name string
		rows []any
		want []string // of p = 0, 0.5, 1
	}{
		{"beyond 64 bits", []any{huge, 1}, []string{"1.0", "6.172839450617284e+28", "1.2345678901234568e+29"}},
		{"below, too", []any{jsonText("-123456789012345678901234567890"), 0, huge}, []string{"-1.2345678901234568e+29", "0.0", "1.2345678901234568e+29"}},
		{"beyond 2^53", []any{int64(9007199254740993)}, []string{"9007199254740993", "9007199254740993", "9007199254740993"}},
		{"one apart", []any{int64(9007199254740993), int64(9007199254740992), int64(9007199254740994), int64(9007199254740995), int64(9007199254740994)},
			[]string{"9.007199254740992e+15", "9.007199254740994e+15", "9007199254740995"}},
		{"at the ends of 64 bits", []any{int64(math.MinInt64 + 1), int64(math.MaxInt64), uint64(math.MaxUint64)},
			[]string{"-9223372036854775807", "9223372036854775807", "18446744073709551615u"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var specs []Spec
			for _, p := range []float64{0, 0.5, 1} {
				specs = append(specs, Spec{Name: fmt.Sprint(p), Func: "quantile", Arg: "v", P: p})
			}
			x := newTable(t, 2, specs...)
			x.add(0, values(c.rows...))
			require.Equal(t, c.want, x.result(0))
			x.decode(t, 1, x.encode(0))
			require.Equal(t, c.want, x.result(1), "from a checkpoint")
			require.Equal(t, []uint64{0, 0, 0}, x.l.Skipped(), "none was left out")
			x.add(0, values(jsonText(`{"a": 1}`), "text"))
			require.Equal(t, c.want, x.result(0))
			require.EqualValues(t, 2, x.l.Skipped()[0], "what is no number is counted, once for all quantiles of the field")
		})
	}
}

func TestTopBeyondItsBoundIsLowByNoMoreThanItSays(t *testing.T) {
	const bound, rows = 100, 50_000
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.2, 1, 1<<20)
	counts := map[string]int{}
	x := newTable(t, 2, Spec{Name: "r", Func: "top", Arg: "v", K: 10, Limit: bound})
	for half := range 2 {
		x.add(half, randomBatch(rows/2, func(int) any {
			v := fmt.Sprint(zipf.Uint64())
			counts[v]++
			return v
		}))
	}
	x.merge(0, x, 1)
	acc := x.l.accs[0].(*topAcc)
	list := acc.list(x.mem, x.at(0), &x.heap)
	require.LessOrEqual(t, len(list), bound)
	held := map[string]bool{}
	for _, c := range list {
		actual := counts[string(c.text)]
		held[string(c.text)] = true
		require.LessOrEqual(t, int(c.count), actual)
		require.GreaterOrEqual(t, int(c.count), actual-rows/(bound+1))
	}
	for v, n := range counts {
		if n > rows/(bound+1) {
			require.True(t, held[v], "%s came %d times and is lost", v, n)
		}
	}
}

func TestHeapReusesItsBlocks(t *testing.T) {
	x := newTable(t, 1, one("max"))
	size := 0
	for i := range 10_000 {
		x.add(0, values(fmt.Sprintf("%0*d", 10+i%50, i)))
		x.l.Clear(x.mem, x.at(0), &x.heap)
		if i == 100 {
			size = x.heap.Size()
		}
	}
	require.Equal(t, size, x.heap.Size())
	x.heap.Reset()
	x.add(0, values("after"))
	require.Equal(t, []string{`"after"`}, x.result(0))
}

func TestHeapBlocksNeverOverlap(t *testing.T) {
	var h Heap
	r := rand.New(rand.NewPCG(5, 6))
	live := map[handle]uint64{}
	for i := range 20_000 {
		if len(live) > 0 && r.IntN(3) == 0 {
			for b, v := range live {
				for _, w := range h.block(b) {
					require.Equal(t, v, w)
				}
				h.release(b)
				delete(live, b)
				break
			}
			continue
		}
		n := 1 + r.IntN(40)
		if r.IntN(200) == 0 {
			n = 1 + r.IntN(3*chunkWords)
		}
		b := h.alloc(n)
		w := h.block(b)
		require.GreaterOrEqual(t, len(w), n)
		for j := range w {
			require.Zero(t, w[j])
			w[j] = uint64(i)
		}
		live[b] = uint64(i)
	}
}

func TestCopiedHeapIsIndependent(t *testing.T) {
	x := newTable(t, 3, one("collect"))
	x.add(0, randomBatch(100, func(i int) any { return fmt.Sprint("text ", i) }))
	x.add(1, randomBatch(3, func(i int) any { return fmt.Sprint("other ", i) }))
	x.l.Clear(x.mem, x.at(1), &x.heap)
	want := x.result(0)
	y := newTable(t, 3, one("collect"))
	y.add(2, values("old contents"))
	copy(y.mem, x.mem)
	y.heap.Copy(&x.heap)
	require.Equal(t, want, y.result(0))
	x.add(0, values("more"))
	y.add(1, values("in the copy"))
	require.Equal(t, want, y.result(0))
	require.Equal(t, []string{"`[\"in the copy\"]`", "missing"}, y.result(1))
	x.l.Clear(x.mem, x.at(0), &x.heap)
	require.Equal(t, want, y.result(0))
}
