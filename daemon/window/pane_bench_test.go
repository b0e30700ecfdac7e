package window

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// benchInput is batches as a shard gets them: keys "user-%08d" drawn evenly, amounts with two decimals, a million rows for each second of
// event time, up to two seconds of disorder. The same batches come again and again, moved on in time.
type benchInput struct {
	batches []*batch.Batch
	keys    []*rowkey.Keys
	index   []uint32
	jitter  [][]int64
}

const benchRows = 2048

func newBenchInput(keys, batches int) *benchInput {
	in := &benchInput{}
	r := rand.New(rand.NewPCG(1, 42))
	for range batches {
		b := batch.Get()
		b.N = benchRows
		b.AddColumn("key")
		v := b.AddColumn("value")
		k := b.Column("key")
		var late []int64
		for i := range benchRows {
			b.SetText(k, i, batch.String, fmt.Sprintf("user-%08d", r.IntN(keys)))
			v.SetFloat(i, float64(r.IntN(100_000))/100)
			late = append(late, r.Int64N(2001))
		}
		b.Times = make([]int64, benchRows)
		rk := &rowkey.Keys{}
		rk.Compute(b, []string{"key"})
		in.batches, in.keys, in.jitter = append(in.batches, b), append(in.keys, rk), append(in.jitter, late)
	}
	for i := range benchRows {
		in.index = append(in.index, uint32(i))
	}
	return in
}

// rows is the n-th batch and the watermark after it.
func (in *benchInput) rows(n int) (Rows, int64) {
	k := n % len(in.batches)
	b := in.batches[k]
	now := int64(n) * benchRows / 1000
	for i := range b.Times {
		b.Times[i] = now + int64(i)/1000 - in.jitter[k][i]
	}
	return Rows{Batch: b, Index: in.index, Keys: in.keys[k]}, now - 2001
}

func benchOperator(b *testing.B, spec Spec, keys int, make func(Spec, *aggregate.Layout, Env, *Output) Operator) {
	layout, err := aggregate.New([]aggregate.Spec{
		{Name: "n", Func: "count"}, {Name: "sum", Func: "sum", Arg: "value"}, {Name: "min", Func: "min", Arg: "value"}, {Name: "max", Func: "max", Arg: "value"},
	})
	require.NoError(b, err)
	out := &Output{Results: batch.Get()}
	op := make(spec, layout, Env{KeyFields: []string{"key"}}, out)
	in := newBenchInput(keys, max(16, keys/benchRows))
	results := 0
	step := func(n int) {
		rows, watermark := in.rows(n)
		op.Process(rows)
		op.AdvanceWatermark(watermark)
		results += out.Results.N
		out.Results.Reset()
		out.Segments = out.Segments[:0]
	}
	// Warm: a few windows, so that tables have the size they need.
	n := 0
	for ; int64(n)*benchRows/1000 < 3*spec.Size; n++ {
		step(n)
	}
	results = 0
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += benchRows {
		step(n)
		n++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/row")
	b.ReportMetric(float64(results)/float64(b.N), "results/row")
}

func BenchmarkPanes(b *testing.B) {
	make := func(s Spec, l *aggregate.Layout, e Env, o *Output) Operator { return newPanes(s, l, e, o) }
	tumbling := Spec{Type: Tumbling, Size: 5000}
	sliding := Spec{Type: Sliding, Size: 60_000, Slide: 1000}
	b.Run("tumbling/keys=10k", func(b *testing.B) { benchOperator(b, tumbling, 10_000, make) })
	b.Run("tumbling/keys=1M", func(b *testing.B) { benchOperator(b, tumbling, 1_000_000, make) })
	b.Run("sliding/keys=10k", func(b *testing.B) { benchOperator(b, sliding, 10_000, make) })
	b.Run("cumulative/keys=10k", func(b *testing.B) {
		benchOperator(b, Spec{Type: Cumulative, Size: 60_000, Slide: 1000}, 10_000, make)
	})
}

// BenchmarkPlainMaps is the same job as tumbling panes in the plainest Go: what the engine has to be compared with on the machine at
// hand. It neither hashes once nor keeps order, cannot be stored, and its sums are not exact.
func BenchmarkPlainMaps(b *testing.B) {
	type totals struct {
		n             int
		sum, min, max float64
	}
	for _, keys := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			in := newBenchInput(keys, max(16, keys/benchRows))
			windows := map[int64]map[string]*totals{}
			n := 0
			step := func() {
				rows, watermark := in.rows(n)
				n++
				k, v := rows.Batch.Column("key"), rows.Batch.Column("value")
				for _, row := range rows.Index {
					start := rows.Batch.Times[row] / 5000
					w := windows[start]
					if w == nil {
						w = map[string]*totals{}
						windows[start] = w
					}
					x := math.Float64frombits(v.Bits[row])
					t := w[string(rows.Batch.Text(k.Bits[row]))]
					if t == nil {
						t = &totals{min: x, max: x}
						w[string(rows.Batch.Text(k.Bits[row]))] = t
					}
					t.n++
					t.sum += x
					t.min, t.max = min(t.min, x), max(t.max, x)
				}
				for start := range windows {
					if (start+1)*5000 <= watermark {
						delete(windows, start)
					}
				}
			}
			for int64(n)*benchRows/1000 < 15_000 {
				step()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += benchRows {
				step()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/row")
		})
	}
}
