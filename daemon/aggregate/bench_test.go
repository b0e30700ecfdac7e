package aggregate

import (
	"math/rand/v2"
	"testing"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// benchAdd folds batches of 2,048 rows into 10,000 entries in random order, as a shard's table of 10,000 keys sees them.
func benchAdd(b *testing.B, value func(r *rand.Rand) any, specs ...Spec) {
	const entries, rows, run = 10_000, 2048, 256
	r := rand.New(rand.NewPCG(1, 1))
	x := newTable(b, entries, specs...)
	in := randomBatch(rows, func(int) any { return value(r) })
	at, index := make([]uint32, entries*4), make([]uint32, rows)
	for i := range at {
		at[i] = x.at(r.IntN(entries))
	}
	for i := range index {
		index[i] = uint32(i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += rows {
		x.l.Bind(in)
		for j := 0; j < rows; j += run {
			from := (i + j) % (len(at) - run)
			x.l.Add(x.mem, at[from:from+run], index[j:j+run], &x.heap)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/row")
}

func cents(r *rand.Rand) any { return float64(r.IntN(100_000)) / 100 }

func BenchmarkAdd(b *testing.B) {
	four := []Spec{{Name: "c", Func: "count"}, one("sum"), {Name: "lo", Func: "min", Arg: "v"}, {Name: "hi", Func: "max", Arg: "v"}}
	ints := func(r *rand.Rand) any { return r.IntN(100_000) }
	words := func(r *rand.Rand) any { return []any{"login", "logout", "view", "buy"}[r.IntN(4)] }
	mixed := func(r *rand.Rand) any {
		if r.IntN(2) == 0 {
			return r.IntN(100)
		}
		return cents(r)
	}
	b.Run("count+sum+min+max/floats", func(b *testing.B) { benchAdd(b, cents, four...) })
	b.Run("count+sum+min+max/ints", func(b *testing.B) { benchAdd(b, ints, four...) })
	b.Run("count+sum+min+max/mixed", func(b *testing.B) { benchAdd(b, mixed, four...) })
	b.Run("count", func(b *testing.B) { benchAdd(b, cents, four[:1]...) })
	b.Run("sum/floats", func(b *testing.B) { benchAdd(b, cents, four[1]) })
	for _, f := range []string{"stddev", "median", "first", "count_distinct"} {
		b.Run(f, func(b *testing.B) { benchAdd(b, cents, one(f)) })
	}
	b.Run("last/texts", func(b *testing.B) { benchAdd(b, words, one("last")) })
	b.Run("max/texts", func(b *testing.B) { benchAdd(b, words, one("max")) })
	b.Run("top/texts", func(b *testing.B) { benchAdd(b, words, Spec{Name: "r", Func: "top", Arg: "v", K: 3}) })
}

func BenchmarkResults(b *testing.B) {
	for _, f := range []string{"sum", "avg", "stddev", "median", "count_distinct"} {
		b.Run(f, func(b *testing.B) {
			const entries = 1000
			r := rand.New(rand.NewPCG(1, 1))
			x := newTable(b, entries, one(f))
			var at []uint32
			for e := range entries {
				x.add(e, randomBatch(100, func(int) any { return cents(r) }))
				at = append(at, x.at(e))
			}
			out := batch.Get()
			out.N = entries
			out.AddColumn("r")
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += entries {
				x.l.Results(out, 0, 0, x.mem, at, &x.heap)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/result")
		})
	}
}
