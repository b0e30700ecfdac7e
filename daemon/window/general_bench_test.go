package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"golang.org/x/sys/unix"
)

// load is rows as the daemon would hand them over: batches whose marks follow a bound on disorder, after every record.
type load struct {
	batches []*batch.Batch
	keys    []rowkey.Keys
	index   []uint32
}

const loadRows = 2048

// newLoad makes rows of keys "user-%08d", rate rows a second, up to 2 s out of order. zipf 0 is uniform.
func newLoad(b *testing.B, rows, keys int, zipf float64, rate int64) *load {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 42))
	var z *rand.Zipf
	if zipf > 0 {
		z = rand.NewZipf(rng, zipf, 1, uint64(keys-1))
	}
	l := &load{}
	for i := range uint32(loadRows) {
		l.index = append(l.index, i)
	}
	const bound = 2000
	row := int64(0)
	high := int64(batch.NoWatermark)
	for range rows / loadRows {
		bt := batch.Get()
		bt.N = loadRows
		k, v := bt.AddColumn("key"), bt.AddColumn("value")
		for i := range loadRows {
			id := uint64(0)
			if z != nil {
				id = z.Uint64()
			} else {
				id = rng.Uint64N(uint64(keys))
			}
			bt.SetText(k, i, batch.String, fmt.Sprintf("user-%08d", id))
			v.SetInt(i, rng.Int64N(1000))
			ts := row*1000/rate - rng.Int64N(bound+1)
			row++
			bt.Times = append(bt.Times, ts)
			if w := ts - bound - 1; w > high {
				high = w
				bt.Marks = append(bt.Marks, batch.Mark{After: uint32(i + 1), Watermark: w})
			}
		}
		l.batches = append(l.batches, bt)
		var keys rowkey.Keys
		keys.Compute(bt, []string{"key"})
		l.keys = append(l.keys, keys)
	}
	return l
}

// play runs b.N rows, the same ones again and again, each time later.
func (l *load) play(b *testing.B, op Operator, out *Output, shift int64) {
	b.ReportAllocs()
	b.ResetTimer()
	results := 0
	var cpu time.Duration
	played := 0
	for n := 0; n < b.N; {
		began := cpuTime()
		for i, bt := range l.batches {
			from := 0
			for _, m := range bt.Marks {
				if int(m.After) > from {
					op.Process(Rows{Batch: bt, Index: l.index[from:m.After], Keys: &l.keys[i]})
					from = int(m.After)
				}
				op.AdvanceWatermark(m.Watermark)
			}
			if from < bt.N {
				op.Process(Rows{Batch: bt, Index: l.index[from:bt.N], Keys: &l.keys[i]})
			}
			results += out.Results.N
			out.Results.Reset()
			out.Segments, out.Late = out.Segments[:0], out.Late[:0]
			n += bt.N
		}
		played = n
		b.StopTimer()
		cpu += cpuTime() - began
		for _, bt := range l.batches {
			for i := range bt.Times {
				bt.Times[i] += shift
			}
			for i := range bt.Marks {
				bt.Marks[i].Watermark += shift
			}
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/row")
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(played), "cpu-ns/row")
	b.ReportMetric(float64(results)/float64(b.N), "results/row")
	b.ReportMetric(float64(op.Live()), "live")
}

// cpuTime is the processor time of this process; on a machine that does other things too it says more than the clock.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmarkGeneral(b *testing.B, spec Spec, rows, keys int, zipf float64, rate int64, aggs ...aggregate.Spec) {
	layout, err := aggregate.New(aggs)
	if err != nil {
		b.Fatal(err)
	}
	l := newLoad(b, rows, keys, zipf, rate)
	out := &Output{Results: batch.Get()}
	op := newGeneral(spec, layout, Env{KeyFields: []string{"key"}}, out)
	l.play(b, op, out, int64(rows)*1000/rate)
}

var (
	countOnly = []aggregate.Spec{{Name: "n", Func: "count"}}
	fourAggs  = []aggregate.Spec{
		{Name: "n", Func: "count"}, {Name: "sum", Func: "sum", Arg: "value"}, {Name: "min", Func: "min", Arg: "value"}, {Name: "max", Func: "max", Arg: "value"},
	}
)

// BenchmarkSessions is the shape of workload W6: Zipf keys, a gap of 30 s; and uniform keys, where nearly every row is a cache miss.
func BenchmarkSessions(b *testing.B) {
	spec := Spec{Type: Session, Gap: 30_000}
	b.Run("zipf-1M", func(b *testing.B) { benchmarkGeneral(b, spec, 4<<20, 1<<20, 1.1, 100_000, countOnly...) })
	b.Run("uniform-1M", func(b *testing.B) { benchmarkGeneral(b, spec, 4<<20, 1<<20, 0, 100_000, countOnly...) })
	b.Run("uniform-10k", func(b *testing.B) { benchmarkGeneral(b, spec, 1<<20, 10_000, 0, 100_000, countOnly...) })
}

func BenchmarkGeneralTumbling(b *testing.B) {
	spec := Spec{Type: Tumbling, Size: 5000}
	b.Run("10k", func(b *testing.B) { benchmarkGeneral(b, spec, 4<<20, 10_000, 0, 1_000_000, fourAggs...) })
	b.Run("1M", func(b *testing.B) { benchmarkGeneral(b, spec, 8<<20, 1<<20, 0, 1_000_000, fourAggs...) })
}

func BenchmarkGeneralSliding(b *testing.B) {
	spec := Spec{Type: Sliding, Size: 60_000, Slide: 10_000, Trigger: OnCount, Count: 100}
	b.Run("10k", func(b *testing.B) { benchmarkGeneral(b, spec, 1<<20, 10_000, 0, 100_000, countOnly...) })
}

// discard is a store that keeps nothing.
type discard struct{ bytes int }

func (d *discard) Set(_ int64, _ uint64, key, value []byte) { d.bytes += len(key) + len(value) }
func (d *discard) Merge(t int64, h uint64, k, v []byte)     { d.Set(t, h, k, v) }
func (d *discard) Delete(int64, uint64, []byte)             {}
func (d *discard) DropTime(int64)                           {}

// BenchmarkSnapshot is a checkpoint of a second of rows: what it costs for each entry that has changed.
func BenchmarkSnapshot(b *testing.B) {
	layout, err := aggregate.New(countOnly)
	if err != nil {
		b.Fatal(err)
	}
	l := newLoad(b, 1<<20, 1<<20, 0, 100_000)
	out := &Output{Results: batch.Get()}
	op := newGeneral(Spec{Type: Session, Gap: 3600_000}, layout, Env{KeyFields: []string{"key"}}, out)
	var d discard
	entries := 0
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		b.StopTimer()
		n := i % len(l.batches)
		for k := range 48 {
			k = (n + k) % len(l.batches)
			op.Process(Rows{Batch: l.batches[k], Index: l.index, Keys: &l.keys[k]})
		}
		entries += len(op.changes)
		b.StartTimer()
		op.Snapshot(&d)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(entries), "ns/entry")
	b.ReportMetric(float64(d.bytes)/float64(entries), "bytes/entry")
}
