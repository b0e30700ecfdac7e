package transform

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// perRow measures the processor's time instead of the clock's, which says little on a machine with other work.
func perRow(b *testing.B, rows int, run func()) {
	cpu := func() int64 {
		var u syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
			return 0
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	b.ReportAllocs()
	b.ResetTimer()
	from := cpu()
	for range b.N {
		run()
	}
	b.ReportMetric(float64(cpu()-from)/float64(b.N)/float64(rows), "cpu-ns/row")
}

// benchBatch is 2,048 page views with the columns that the benchmarks use.
func benchBatch() *batch.Batch {
	r := rand.New(rand.NewPCG(1, 42))
	b := batch.Get()
	b.N = 2048
	for _, name := range []string{"value", "seq", "region", "key", "tags"} {
		b.AddColumn(name)
	}
	regions := []string{"eu-west-1", "us-east-1", "ap-east-1", "sa-east-1"}
	for i := range b.N {
		b.Columns[0].SetFloat(i, float64(r.IntN(100000))/100)
		b.Columns[1].SetInt(i, int64(10_000_000+i))
		b.SetText(&b.Columns[2], i, batch.String, regions[r.IntN(4)])
		b.SetText(&b.Columns[3], i, batch.String, fmt.Sprintf("user-%08d", r.IntN(10_000)))
		b.SetText(&b.Columns[4], i, batch.JSON, `[{"p": 1, "n": "a"}, {"p": 2, "n": "b"}]`)
		b.Times = append(b.Times, int64(i))
	}
	return b
}

func BenchmarkEval(b *testing.B) {
	for _, source := range []string{
		`value > 500`, `seq % 10 == 0`, `region == "eu-west-1"`, `value > 500 and region != "us-east-1"`, `value * 2 + seq`, `seq * 3 + 1`, `value > 100 ? value : 0.0`,
		`region in ["eu-west-1", "ap-east-1"]`, `upper(region)`, `key startsWith "user-0000"`, `key matches "7$"`, `any(tags, .p > 1)`, `int(value)`, `region + "/" + key`,
	} {
		b.Run(source, func(b *testing.B) {
			p, mistakes := Compile(source, Schema{}, TypeAny)
			if mistakes != nil {
				b.Fatal(mistakes)
			}
			x := benchBatch()
			out := x.AddColumn("out")
			e, extra := p.Evaluator(), len(x.Extra)
			perRow(b, x.N, func() {
				x.Extra = x.Extra[:extra]
				e.Eval(x, out)
			})
		})
	}
}

func BenchmarkFilter(b *testing.B) {
	p, _ := Compile("value > 500", Schema{}, TypeBool)
	x, f := benchBatch(), NewFilter(p)
	perRow(b, x.N, func() {
		sel := x.Select()
		x.Sel = sel[:x.N]
		for i := range x.Sel {
			x.Sel[i] = uint32(i)
		}
		f.Apply(x)
	})
}

func BenchmarkDedup(b *testing.B) {
	x := benchBatch()
	var keys rowkey.Keys
	keys.Compute(x, []string{"key"})
	d := NewDedup(10_000)
	index := make([]uint32, x.N)
	for i := range index {
		index[i] = uint32(i)
	}
	var out []uint32
	now := int64(0)
	perRow(b, x.N, func() {
		for k := range x.Times {
			x.Times[k] = now + int64(k)/100
		}
		out = d.Process(x, index, &keys, out[:0])
		d.AdvanceWatermark(now)
		now += 20
	})
}
