package watermark

import (
	"math/rand/v2"
	"testing"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// A batch of 2,048 rows with a disorder of two seconds at 50,000 rows a second, as in a replay of page views.
func benchTimes() []int64 {
	r := rand.New(rand.NewPCG(1, 42))
	times := make([]int64, 2048)
	for i := range times {
		times[i] = 1_700_000_000_000 + int64(i)/50 - r.Int64N(2000)
	}
	return times
}

func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

// BenchmarkApply has a mark after every row: the worst case that assigners can produce.
func BenchmarkApply(b *testing.B) {
	for _, c := range []struct {
		name       string
		partitions uint32
	}{{"1_partition", 1}, {"8_partitions", 8}, {"1000_partitions", 1000}} {
		b.Run(c.name, func(b *testing.B) {
			p := NewPartitions(PartitionsSettings{Granularity: 5000})
			for i := range c.partitions {
				p.Add(i, 0)
			}
			marks := make([]batch.Mark, 2048)
			var out []batch.Mark
			w := int64(0)
			b.ReportAllocs()
			for i := range b.N {
				if uint32(i)%c.partitions == 0 {
					w += int64(len(marks))
				}
				for k := range marks {
					marks[k] = batch.Mark{After: uint32(k + 1), Watermark: w + int64(k)}
				}
				out, _ = p.Apply(uint32(i)%c.partitions, len(marks), marks, 0, out[:0])
			}
			perRow(b, len(marks))
		})
	}
}

func BenchmarkLateness(b *testing.B) {
	times, l := benchTimes(), NewLateness()
	b.ReportAllocs()
	for range b.N {
		l.Observe(0, times, nil)
	}
	perRow(b, len(times))
}

func BenchmarkGuards(b *testing.B) {
	x := &batch.Batch{N: 2048, Times: benchTimes()}
	ahead, jump := MaxAhead{Limit: 1e9}, NewJumpGuard(JumpSettings{Span: 3_600_000})
	jump.state(0).high = 1_700_000_000_000
	var out []*batch.Batch
	b.ReportAllocs()
	for range b.N {
		ahead.Apply(x, 1_700_000_100_000)
		out = jump.Apply(x, out[:0])
	}
	perRow(b, x.N)
}
