package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
)

// event is a record of a told source.
type event struct {
	Key   string `tidemark:"k"`
	TS    int64  `tidemark:"ts"`
	Value int64  `tidemark:"v"`

	partition int
}

// told is a source that says what a test tells it, in that order over all its partitions. Before the events of each number in stops it waits
// until it may go on.
type told struct {
	partitions int
	events     []event
	stops      map[int]bool
	goOn       chan struct{}
}

func (s *told) plugin() sdk.Plugin {
	return sdk.NewSource("told", "says what a test tells it", func(struct{}) (sdk.Source[event], error) { return s, nil })
}

func (s *told) Run(ctx context.Context, out *sdk.SourceContext[event]) error {
	var partitions []*sdk.Partition[event]
	for p := range s.partitions { // all of them are there before the first record, or it would matter which one speaks first
		partitions = append(partitions, out.Partition(fmt.Sprint(p)))
	}
	for i, e := range s.events {
		if s.stops[i] {
			select {
			case <-s.goOn:
			case <-ctx.Done():
				return nil
			}
		}
		if err := partitions[e.partition].Collect(e); err != nil {
			return err
		}
	}
	return nil
}

// toldPipeline counts and sums a told source's events.
func toldPipeline(window string, bound time.Duration, batchRows int) string {
	return fmt.Sprintf(`
[pipeline]
batch_rows = %d
[restart]
max_attempts = 1
[sources.in]
plugin = "told"
[sources.in.time]
timestamp = "ts"
unit = "ms"
max_out_of_orderness = "%dms"
[transforms.w]
type = "window"
inputs = ["in"]
key_by = ["k"]
window = %s
[transforms.w.aggregate]
n = "count()"
s = "sum(v)"
least = "min(v)"
most = "max(v)"
mean = "avg(v / 7)"
[sinks.out]
plugin = "capture"
inputs = ["w"]
time_format = "epoch_ms"
[sinks.late]
plugin = "capture"
as = "late"
inputs = ["w.late"]
columns = ["k", "ts", "v"]
`, batchRows, bound.Milliseconds(), window)
}

// kindOfWindow is a window of a pipeline file, and where the slow model puts a record.
type kindOfWindow struct {
	text    string
	windows func(ts int64) [][2]int64
	session bool // windows of a key that touch become one
}

func floor(x, n int64) int64 { return x - ((x%n)+n)%n }

var kindsOfWindow = []kindOfWindow{
	{text: `{ type = "tumbling", size = "1s", offset = "300ms" }`, windows: func(ts int64) [][2]int64 {
		s := floor(ts-300, 1000) + 300
		return [][2]int64{{s, s + 1000}}
	}},
	{text: `{ type = "sliding", size = "1s", slide = "300ms" }`, windows: func(ts int64) (out [][2]int64) {
		for s := floor(ts, 300); s > ts-1000; s -= 300 {
			out = append(out, [2]int64{s, s + 1000})
		}
		return out
	}},
	{text: `{ type = "cumulative", size = "2s", step = "500ms" }`, windows: func(ts int64) (out [][2]int64) {
		s := floor(ts, 2000)
		for e := s + 500; e <= s+2000; e += 500 {
			if e > ts {
				out = append(out, [2]int64{s, e})
			}
		}
		return out
	}},
	{text: `{ type = "session", gap = "400ms" }`, session: true, windows: func(ts int64) [][2]int64 { return [][2]int64{{ts, ts + sessionGap}} }},
}

const sessionGap = 400

// result is what the model and the pipeline are compared by.
type result struct {
	Key         string `json:"k"`
	Start       int64  `json:"window_start"`
	End         int64  `json:"window_end"`
	N           int64  `json:"n"`
	S           int64  `json:"s"`
	Least, Most int64
}

// model takes records one at a time: each goes to its windows as far as those are open, then time moves, then windows fire. Each partition's
// watermark is its highest timestamp less the bound and a millisecond, and the lowest of them counts.
func model(kind kindOfWindow, bound int64, partitions int, events []event) (results []result, late []event) {
	const none = int64(-1) << 62
	high := make([]int64, partitions)
	for p := range high {
		high[p] = none
	}
	now := none
	open := map[string]result{}
	fire := func() {
		for name, w := range open {
			if w.End-1 <= now {
				results = append(results, w)
				delete(open, name)
			}
		}
	}
	for _, e := range events {
		taken := false
		for _, place := range kind.windows(e.TS) {
			w := result{Key: e.Key, Start: place[0], End: place[1], N: 1, S: e.Value, Least: e.Value, Most: e.Value}
			var joined []string
			for name, o := range open {
				if o.Key == w.Key && (o.Start == w.Start && o.End == w.End || kind.session && o.Start <= place[1] && place[0] <= o.End) {
					joined = append(joined, name)
					w = result{
						Key: w.Key, Start: min(w.Start, o.Start), End: max(w.End, o.End), N: w.N + o.N, S: w.S + o.S,
						Least: min(w.Least, o.Least), Most: max(w.Most, o.Most),
					}
				}
			}
			if w.End-1 <= now {
				continue
			}
			taken = true
			for _, name := range joined {
				delete(open, name)
			}
			open[fmt.Sprint(w.Key, w.Start, w.End)] = w
		}
		if !taken {
			late = append(late, event{Key: e.Key, TS: e.TS, Value: e.Value})
		}
		if e.TS > high[e.partition] {
			high[e.partition] = e.TS
			if lowest := slices.Min(high); lowest != none && lowest-bound-1 > now {
				now = lowest - bound - 1
				fire()
			}
		}
	}
	now = 1 << 62
	fire()
	return results, late
}

func parsed(t require.TestingT, rows []string) []result {
	var out []result
	for _, row := range rows {
		var r result
		require.NoError(t, json.Unmarshal([]byte(row), &r))
		out = append(out, r)
	}
	return out
}

// records draws what one partition says: times rise, with steps back of up to disorder. Most lie on the edges of windows and next to them.
func records(t *rapid.T, partition int, disorder int64) []event {
	n := rapid.IntRange(1, 60).Draw(t, "records")
	at := 100 * rapid.Int64Range(-30, 30).Draw(t, "first")
	backs := rapid.OneOf(rapid.SampledFrom([]int64{0, disorder / 2, disorder}), rapid.Int64Range(0, disorder))
	out := make([]event, n)
	for i := range out {
		at += rapid.SampledFrom([]int64{0, 1, 99, 100, 100, 200, 400, 401, 5000}).Draw(t, "step")
		out[i] = event{
			Key: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"), TS: at - backs.Draw(t, "back"),
			Value: rapid.Int64Range(-1000, 1000).Draw(t, "value"), partition: partition,
		}
	}
	return out
}

var bounds = rapid.SampledFrom([]int64{0, 1, 100, 400, 650})

// interleaved draws an order of all records that keeps that of each partition.
func interleaved(t *rapid.T, parts [][]event) (out []event) {
	parts = slices.Clone(parts)
	for len(parts) > 0 {
		p := rapid.IntRange(0, len(parts)-1).Draw(t, "next")
		n := rapid.IntRange(1, len(parts[p])).Draw(t, "how many")
		out = append(out, parts[p][:n]...)
		if parts[p] = parts[p][n:]; len(parts[p]) == 0 {
			parts = slices.Delete(parts, p, p+1)
		}
	}
	return out
}

// runTold runs events through a pipeline and returns the rows of both sinks.
func runTold(t *testing.T, rt *rapid.T, source *told, text string, size int) (rows, late []string) {
	r := newRig(t, source.plugin())
	r.size = size
	p := r.pipeline(text)
	require.NoError(rt, p.Run(context.Background()))
	s := p.Summary()
	require.NoError(rt, s.Check())
	require.EqualValues(rt, len(source.events), s.In)
	return r.got("out"), r.got("late")
}

// withoutTouching leaves out records that stand exactly one gap behind another of their key. Whether those two are one session depends on
// the order of the partitions by its definition: they join unless the first one's window has fired, and the watermark that fires it may come
// before the second record, which is not late then.
func withoutTouching(parts [][]event) [][]event {
	type place struct {
		key string
		ts  int64
	}
	taken := map[place]bool{}
	var out [][]event
	for _, part := range parts {
		part = slices.DeleteFunc(part, func(e event) bool {
			touches := taken[place{e.Key, e.TS - sessionGap}] || taken[place{e.Key, e.TS + sessionGap}]
			taken[place{e.Key, e.TS}] = taken[place{e.Key, e.TS}] || !touches
			return touches
		})
		if len(part) == 0 {
			continue
		}
		for i := range part {
			part[i].partition = len(out)
		}
		out = append(out, part)
	}
	return out
}

// Where no partition is behind itself by more than the bound nothing is late, and then it does not matter which partition is read how far
// before another, how records are cut into batches, or how many shards share the keys: the same rows come in the same order, and they are
// those of the model.
func TestAnyInterleavingOfPartitionsGivesTheSameRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(kindsOfWindow).Draw(rt, "window")
		bound := bounds.Draw(rt, "bound")
		var parts [][]event
		for p := range rapid.IntRange(1, 4).Draw(rt, "partitions") {
			parts = append(parts, records(rt, p, bound))
		}
		if kind.session {
			parts = withoutTouching(parts)
		}
		var want []string
		for range 3 {
			source := &told{partitions: len(parts), events: interleaved(rt, parts)}
			text := toldPipeline(kind.text, time.Duration(bound)*time.Millisecond, rapid.SampledFrom([]int{1, 2, 7, 4096}).Draw(rt, "batch"))
			rows, late := runTold(t, rt, source, text, rapid.IntRange(1, 5).Draw(rt, "shards"))
			require.Empty(rt, late)
			if want == nil {
				want = rows
				expected, _ := model(kind, bound, len(parts), source.events)
				require.ElementsMatch(rt, expected, parsed(rt, rows))
			}
			require.Equal(rt, want, rows)
		}
	})
}

// With one partition it is also said which records are late, however far they are behind.
func TestLateRecordsAreThoseOfTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(kindsOfWindow).Draw(rt, "window")
		bound := bounds.Draw(rt, "bound")
		source := &told{partitions: 1, events: records(rt, 0, 4*bound+1000)}
		results, lost := model(kind, bound, 1, source.events)
		var want, wantLate []string
		for i, batch := range []int{1, 3, 4096} {
			text := toldPipeline(kind.text, time.Duration(bound)*time.Millisecond, batch)
			rows, late := runTold(t, rt, source, text, rapid.IntRange(1, 5).Draw(rt, "shards"))
			if i == 0 {
				want, wantLate = rows, late
				require.ElementsMatch(rt, results, parsed(rt, rows))
				require.Len(rt, late, len(lost))
				for k, e := range lost {
					require.JSONEq(rt, fmt.Sprintf(`{"k":%q,"ts":%d,"v":%d}`, e.Key, e.TS, e.Value), late[k])
				}
			}
			require.Equal(rt, want, rows)
			require.Equal(rt, wantLate, late)
		}
	})
}

// After every few records, when all that came in has been worked through, each is accounted for.
func TestTheBalanceHoldsAtEveryStep(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(kindsOfWindow).Draw(rt, "window")
		source := &told{partitions: 1, events: records(rt, 0, 2000), stops: map[int]bool{}, goOn: make(chan struct{})}
		for i := range source.events {
			source.stops[i] = i == 0 || rapid.IntRange(0, 9).Draw(rt, "stop") == 0
		}
		text := toldPipeline(kind.text, 300*time.Millisecond, 4096) + `
[transforms.odd]
type = "filter"
inputs = ["in"]
where = "v % 2 == 1 and 5 % (v % 5 - 1) != 3"
[transforms.odds]
type = "window"
inputs = ["odd"]
window = { type = "tumbling", size = "1s" }
aggregate = { n = "count()" }
[sinks.filtered]
plugin = "capture"
as = "filtered"
inputs = ["odds", "odd.errors"]
`
		r := newRig(t, source.plugin())
		plan, view := r.plan(text)
		running := make(chan *pipeline.Driver, 1)
		p := pipeline.New(plan, pipeline.Settings{
			Clock: r.clock, Plugins: view, StateDir: r.state, Log: hclog.NewNullLogger(), Drive: func(d *pipeline.Driver) { running <- d },
		})
		ctx, end := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		ended := false
		defer func() { // where the test fails, the source would wait for ever
			if end(); !ended {
				<-done
			}
		}()
		driver := <-running
		stops := slices.Sorted(maps.Keys(source.stops))
		stops = slices.DeleteFunc(stops, func(i int) bool { return !source.stops[i] })
		for _, next := range append(stops[1:], len(source.events)) {
			source.goOn <- struct{}{}
			require.Eventually(rt, func() bool { return p.Summary().In == int64(next) }, time.Minute, 100*time.Microsecond)
			if next == len(source.events) {
				break // the source ends now, which is the last step
			}
			require.NoError(rt, driver.Settle())
			s := p.Summary()
			require.NoError(rt, s.Check())
		}
		err := <-done
		ended = true
		require.NoError(rt, err)
		s := p.Summary()
		require.NoError(rt, s.Check())
		require.EqualValues(rt, len(source.events), s.In)
	})
}
