package shard

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tally counts the rows of each key in windows of 10 ms: a window operator small enough to be seen to be right.
type tally struct {
	out       *window.Output
	counts    map[int64]map[string]int64
	watermark int64
	now       int64
	restored  int64
}

func newTally(out *window.Output) *tally {
	return &tally{out: out, counts: map[int64]map[string]int64{}, watermark: math.MinInt64}
}

func (o *tally) Process(rows window.Rows) {
	for _, r := range rows.Index {
		ts := rows.Batch.Times[r]
		end := ts - ts%10 + 10
		if end-1 <= o.watermark {
			o.out.Late = append(o.out.Late, r)
			continue
		}
		if o.counts[end] == nil {
			o.counts[end] = map[string]int64{}
		}
		o.counts[end][string(rows.Keys.Bytes(int(r)))]++
	}
}

func (o *tally) AdvanceWatermark(w int64) {
	o.watermark = max(w, o.watermark)
	var ends []int64
	for end := range o.counts {
		if end-1 <= w {
			ends = append(ends, end)
		}
	}
	slices.Sort(ends)
	for _, end := range ends {
		var keys []string
		for k := range o.counts[end] {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b string) int {
			x, y := rowkey.Hash(uint8(batch.String), []byte(a)), rowkey.Hash(uint8(batch.String), []byte(b))
			if x < y {
				return -1
			}
			return 1
		})
		res := o.out.Results
		if len(res.Columns) == 0 {
			res.AddColumn("key")
			res.AddColumn("n")
		}
		from := res.N
		for _, k := range keys {
			row := res.Grow(1)
			res.SetText(&res.Columns[0], row, batch.String, k)
			res.Columns[1].SetInt(row, o.counts[end][k])
			res.Times[row] = end - 1
		}
		o.out.Segments = append(o.out.Segments, window.Segment{Place: o.out.Place, End: end, From: uint32(from), To: uint32(res.N)})
		delete(o.counts, end)
	}
}

func (o *tally) AdvanceProcessingTime(now int64) { o.now = now }
func (o *tally) NextProcessingTime() int64 {
	if o.now < 500 {
		return 500
	}
	return math.MaxInt64
}
func (o *tally) Snapshot(w window.StateWriter)               {}
func (o *tally) Restore(int64, uint64, []byte, []byte) error { return nil }
func (o *tally) RestoreWatermark(w int64)                    { o.watermark, o.restored = w, w }
func (o *tally) Live() int {
	n := 0
	for _, m := range o.counts {
		n += len(m)
	}
	return n
}

// transcript writes down what comes out of a stage.
type transcript struct {
	mu    sync.Mutex
	lines []string
	seen  chan struct{}
	last  int64 // watermark of the last mark; 0: none yet
}

func (d *transcript) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
	d.seen <- struct{}{}
}

func (d *transcript) Results(b *batch.Batch) error {
	defer b.Release()
	var s strings.Builder
	if d.last != 0 && b.Before != d.last {
		fmt.Fprintf(&s, " but it says that %d came before, not %d", b.Before, d.last)
	}
	if n := len(b.Marks); n > 0 {
		d.last = b.Marks[n-1].Watermark
	}
	k := 0
	for i := 0; i <= b.N; i++ {
		for k < len(b.Marks) && b.Marks[k].After == uint32(i) {
			fmt.Fprintf(&s, " |%d", b.Marks[k].Watermark)
			k++
		}
		if i < b.N {
			fmt.Fprintf(&s, " %s=%d@%d", b.Text(b.Columns[0].Bits[i]), int64(b.Columns[1].Bits[i]), b.Times[i])
		}
	}
	d.add("results%s", s.String())
	return nil
}

func (d *transcript) Late(b *batch.Batch, rows []uint32, w int64) error {
	for _, r := range rows {
		d.add("late %s at %d", b.Text(b.Column("key").Bits[r]), w)
	}
	return nil
}
func (d *transcript) Idle(idle bool) error    { d.add("idle %t", idle); return nil }
func (d *transcript) Barrier(id uint64) error { d.add("barrier %d", id); return nil }
func (d *transcript) Flush() error            { return nil }

func (d *transcript) wait(t require.TestingT, n int) []string {
	for range n {
		select {
		case <-d.seen:
		case <-time.After(10 * time.Second):
			require.Fail(t, "nothing came", "so far: %v", d.lines)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

type event struct {
	key string
	ts  int64
}

func rows(marks []batch.Mark, events ...event) *batch.Batch {
	b := batch.Get()
	b.N = len(events)
	c := b.AddColumn("key")
	for i, e := range events {
		b.SetText(c, i, batch.String, e.key)
		b.Times = append(b.Times, e.ts)
	}
	b.Marks = append(b.Marks, marks...)
	return b
}

// start runs a stage until the test ends.
func start(t require.TestingT, cleanup func(func()), cfg Config) (*Stage, *transcript) {
	d := &transcript{seen: make(chan struct{}, 10_000)}
	cfg.Name, cfg.KeyFields, cfg.Downstream = "test", []string{"key"}, d
	if cfg.NewOperator == nil {
		cfg.NewOperator = func(_ int, out *window.Output) (window.Operator, error) { return newTally(out), nil }
	}
	if cfg.Watermark == 0 {
		cfg.Watermark = batch.NoWatermark
	}
	s, err := New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return s, d
}

func TestResultsComeInOneOrderForAnyNumberOfShards(t *testing.T) {
	var want []string
	for shards := 1; shards <= 5; shards++ {
		s, d := start(t, t.Cleanup, Config{Inputs: 1, Shards: shards})
		in := s.Input(0)
		require.NoError(t, in.Send(in.Prepare(rows([]batch.Mark{{After: 3, Watermark: 9}, {After: 3, Watermark: 19}, {After: 5, Watermark: 25}},
			event{"a", 1}, event{"b", 2}, event{"a", 12}, event{"late", 3}, event{"c", 22}, event{"d", 29}))))
		require.NoError(t, in.Send(in.Prepare(rows([]batch.Mark{{After: 0, Watermark: batch.EndOfInput}}))))
		got := d.wait(t, 3)
		if want == nil {
			want = got
			require.Equal(t, "late late at 19", got[0])
			require.Contains(t, got[1], "a=1@9")
			require.Contains(t, got[1], "|9 a=1@19 |19 |25")
		}
		require.Equal(t, want, got)
	}
}

func TestCuttingIntoBatchesAndShardsChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var all []event
		var marks []batch.Mark
		w := int64(0)
		for i := range rapid.IntRange(1, 60).Draw(rt, "rows") {
			all = append(all, event{string(rune('a' + rapid.IntRange(0, 9).Draw(rt, "key"))), int64(rapid.IntRange(0, 100).Draw(rt, "ts"))})
			if rapid.Bool().Draw(rt, "mark") {
				w += int64(rapid.IntRange(1, 12).Draw(rt, "step"))
				marks = append(marks, batch.Mark{After: uint32(i + 1), Watermark: w})
			}
		}
		run := func(shards int, cuts []int, resultRows int) string {
			var end []func()
			s, d := start(rt, func(f func()) { end = append(end, f) }, Config{Inputs: 1, Shards: shards, resultRows: resultRows})
			in := s.Input(0)
			from, k := 0, 0
			for _, to := range append(cuts, len(all)) {
				var some []batch.Mark
				for k < len(marks) && int(marks[k].After) <= to {
					some = append(some, batch.Mark{After: marks[k].After - uint32(from), Watermark: marks[k].Watermark})
					k++
				}
				require.NoError(rt, in.Send(in.Prepare(rows(some, all[from:to]...))))
				from = to
			}
			require.NoError(rt, in.Barrier(1))
			for {
				lines := d.wait(rt, 1)
				if lines[len(lines)-1] == "barrier 1" {
					for _, f := range end {
						f()
					}
					late, rest := apart(lines)
					return late + rest
				}
			}
		}
		var cuts []int
		for i := 1; i < len(all); i++ {
			if rapid.Bool().Draw(rt, "cut") {
				cuts = append(cuts, i)
			}
		}
		require.Equal(rt, run(1, nil, 0), run(rapid.IntRange(1, 4).Draw(rt, "shards"), cuts, rapid.IntRange(1, 9).Draw(rt, "result rows")))
	})
}

// apart takes late rows and results apart, which come in another order when messages are cut otherwise: late rows of a message come before its
// results.
func apart(lines []string) (late, rest string) {
	for _, line := range lines {
		if strings.HasPrefix(line, "late") {
			late += line + "\n"
		} else {
			rest += strings.TrimPrefix(line, "results")
		}
	}
	return late, rest
}

func TestABarrierWaitsForAllInputs(t *testing.T) {
	var mu sync.Mutex
	var snapshots []string
	s, d := start(t, t.Cleanup, Config{
		Inputs: 2, Shards: 2, Valve: watermark.NewValve(2, 0, 0),
		Snapshot: func(id uint64, shard int, op window.Operator) error {
			mu.Lock()
			defer mu.Unlock()
			snapshots = append(snapshots, fmt.Sprintf("%d: shard %d has %d", id, shard, op.Live()))
			return nil
		},
	})
	one, two := s.Input(0), s.Input(1)
	require.NoError(t, one.Send(one.Prepare(rows(nil, event{"a", 1}))))
	require.NoError(t, one.Barrier(7))
	behind := make(chan error, 1)
	go func() { behind <- one.Send(one.Prepare(rows([]batch.Mark{{After: 1, Watermark: 30}}, event{"b", 1}))) }()
	require.NoError(t, two.Send(two.Prepare(rows([]batch.Mark{{After: 1, Watermark: 5}}, event{"a", 2}))))
	require.NoError(t, two.Barrier(7))
	require.NoError(t, <-behind)
	require.NoError(t, two.Send(two.Prepare(rows([]batch.Mark{{After: 0, Watermark: batch.EndOfInput}}))))
	got := d.wait(t, 3)
	require.Equal(t, []string{"barrier 7", "results |5"}, got[:2])
	require.Contains(t, got[2], "a=2@9")
	require.Contains(t, got[2], "b=1@9")
	require.True(t, strings.HasSuffix(got[2], "|30"), got[2])
	slices.Sort(snapshots)
	owner := rowkey.Shard(rowkey.Hash(uint8(batch.String), []byte("a")), 2)
	require.Equal(t, []string{fmt.Sprintf("7: shard 0 has %d", 1-owner), fmt.Sprintf("7: shard 1 has %d", owner)}, snapshots)
}

func TestProcessingTimeComesWhenTheOperatorAsksForIt(t *testing.T) {
	virtual := clock.NewVirtual(time.UnixMilli(100))
	ops := make(chan *tally, 1)
	s, _ := start(t, t.Cleanup, Config{Inputs: 1, Shards: 1, ProcessingTime: true, Clock: virtual,
		NewOperator: func(_ int, out *window.Output) (window.Operator, error) {
			op := newTally(out)
			ops <- op
			return op, nil
		}})
	<-ops
	require.Eventually(t, func() bool { return virtual.Pending() == 1 && s.workers[0].nextDue.Load() == 500 }, 10*time.Second, time.Millisecond)
	virtual.Advance(400 * time.Millisecond)
	require.Eventually(t, func() bool { return s.workers[0].nextDue.Load() == math.MaxInt64 }, 10*time.Second, time.Millisecond)
}

func TestAPanicOfAnOperatorEndsTheStageWithItsPlace(t *testing.T) {
	s, err := New(Config{Name: "test", Inputs: 1, Shards: 2, KeyFields: []string{"key"}, Watermark: batch.NoWatermark, Downstream: &transcript{},
		NewOperator: func(_ int, out *window.Output) (window.Operator, error) { return broken{newTally(out)}, nil }})
	require.NoError(t, err)
	in := s.Input(0)
	sent := make(chan error, 1)
	go func() { sent <- in.Send(in.Prepare(rows(nil, event{"a", 1}))) }()
	err = s.Run(context.Background())
	require.ErrorContains(t, err, "of test: panic: bug")
	<-sent
	require.Eventually(t, func() bool { return in.Send(in.Prepare(rows(nil, event{"a", 1}))) != nil }, 10*time.Second, time.Millisecond)
}

type broken struct{ *tally }

func (broken) Process(window.Rows) { panic("bug") }

func BenchmarkRoute(b *testing.B) {
	for _, shards := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			s, err := New(Config{Name: "bench", Inputs: 1, Shards: shards, KeyFields: []string{"key"}, Watermark: batch.NoWatermark,
				NewOperator: func(_ int, out *window.Output) (window.Operator, error) { return newTally(out), nil }})
			require.NoError(b, err)
			var events []event
			for i := range 2048 {
				events = append(events, event{fmt.Sprintf("user-%08d", i*7919%10_000), int64(i)})
			}
			data := rows(nil, events...)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				data.Retain(1)
				m := s.Input(0).Prepare(data)
				m.batch = nil
				data.Release()
				s.free.Put(m)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2048, "ns/row")
		})
	}
}
