package window

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// rigDisk makes a rig's store one that operators read from while they run. Like the daemon's it lags behind: what a snapshot has handed over can
// be read only when it has settled, which is when somebody waits for it, or when the next snapshot comes.
type rigDisk struct {
	share   int64       // of each operator; 1 = every snapshot leaves everything to the disk
	shrinks func() bool // whether a snapshot is told that memory is short
	pieces  bool        // operators hand over results in the middle of a call
	flight  []func()    // writes that have not settled
	broken  error       // the answer to every read
	reads   int
	seeks   int
	visited int // entries
	handed  int // results in the middle of calls
}

func (d *rigDisk) attach(r *rig) {
	d.flight = nil // who starts sees what was committed
	for i, op := range r.ops {
		first, last, _ := rowkey.Range(i, len(r.ops))
		require.NoError(r.t, op.(Spiller).Attach(rigShard{r, first, last}, d.share))
		if d.pieces {
			out := r.outs[i]
			out.Overflow = func() bool { return r.overflow(out) }
		}
	}
}

func (d *rigDisk) checkpoint(r *rig) {
	d.settle()
	for i, op := range r.ops {
		if d.shrinks() {
			op.(Spiller).Shrink()
		}
		first, last, _ := rowkey.Range(i, len(r.ops))
		op.Snapshot(inFlight{r, first, last})
		require.NoError(r.t, op.(Spiller).Err())
	}
}

func (d *rigDisk) settle() {
	for _, write := range d.flight {
		write()
	}
	d.flight = nil
}

// inFlight takes a snapshot that has not settled yet.
type inFlight struct {
	r           *rig
	first, last uint64 // of the shard's hashes: it speaks for no other
}

func (w inFlight) add(write func()) { w.r.disk.flight = append(w.r.disk.flight, write) }
func (w inFlight) Set(time int64, hash uint64, key, value []byte) {
	key, value = slices.Clone(key), slices.Clone(value)
	w.add(func() { w.r.Set(time, hash, key, value) })
}
func (w inFlight) Merge(time int64, hash uint64, key, value []byte) {
	key, value = slices.Clone(key), slices.Clone(value)
	w.add(func() { w.r.Merge(time, hash, key, value) })
}
func (w inFlight) Delete(time int64, hash uint64, key []byte) {
	key = slices.Clone(key)
	w.add(func() { w.r.Delete(time, hash, key) })
}
func (w inFlight) DropTime(time int64) {
	w.add(func() {
		for p := range w.r.store {
			if p.time == time && w.first <= p.hash && p.hash <= w.last {
				delete(w.r.store, p)
			}
		}
	})
}

// rigShard is what one operator sees of the rig's store.
type rigShard struct {
	r           *rig
	first, last uint64
}

func (s rigShard) Hashes() (first, last uint64) { return s.first, s.last }

func (s rigShard) Settle() error {
	s.r.disk.settle()
	return s.r.disk.broken
}

func (s rigShard) Times(visit func(int64)) error {
	seen := map[int64]bool{}
	for p := range s.r.store {
		if s.first <= p.hash && p.hash <= s.last {
			seen[p.time] = true
		}
	}
	var times []int64
	for t := range seen {
		times = append(times, t)
	}
	slices.Sort(times)
	for _, t := range times {
		visit(t)
	}
	return s.r.disk.broken
}

func (s rigShard) Next(from int64) (time int64, found bool, err error) {
	s.r.disk.seeks++
	err = s.Times(func(t int64) {
		if !found && t >= from {
			time, found = t, true
		}
	})
	return time, found, err
}

func (s rigShard) Scan(time int64, first, last uint64, visit func(uint64, []byte, []byte) bool) error {
	if time != stampTime { // which looks at what the others have written
		require.LessOrEqual(s.r.t, s.first, first)
		require.LessOrEqual(s.r.t, last, s.last)
	}
	s.r.disk.reads++
	var list []storedPlace
	for p := range s.r.store {
		if p.time == time && first <= p.hash && p.hash <= last {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b storedPlace) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), bytes.Compare([]byte(a.key), []byte(b.key)))
	})
	for _, p := range list {
		s.r.disk.visited++
		if !visit(p.hash, []byte(p.key), s.r.store[p]) {
			break
		}
	}
	return s.r.disk.broken
}

func (s rigShard) Get(time int64, hash uint64, key []byte) ([]byte, bool, error) {
	s.r.disk.reads++
	s.r.disk.visited++
	v, ok := s.r.store[storedPlace{time, hash, string(key)}]
	return slices.Clone(v), ok, s.r.disk.broken
}

// spillAggregates see in which order rows came, and one of them in which way they were put together.
var spillAggregates = []aggregate.Spec{
	{Name: "n", Func: "count"}, {Name: "sum", Func: "sum", Arg: "value"}, {Name: "min", Func: "min", Arg: "value"},
	{Name: "first", Func: "first", Arg: "value"}, {Name: "last", Func: "last", Arg: "value"},
	{Name: "list", Func: "collect", Arg: "value", Limit: 4}, {Name: "different", Func: "count_distinct", Arg: "value", Limit: 3},
	{Name: "middle", Func: "median", Arg: "value"}, {Name: "spread", Func: "stddev", Arg: "value"},
	{Name: "top", Func: "top", Arg: "value", K: 2},
}

var spillKeys = []string{"a", "b", "c", "d", "e", "f", "", "12345678", "1234567812345678", "a key of more than sixteen bytes", "a key of more than sixteen bytes too"}

// step is one thing that happens to both sides of a comparison, and what came of it.
type step struct {
	rows      []testRow
	watermark int64 // where rows is nil
	want      []string
	late      []testRow
}

// TestMemoryDoesNotShow plays random histories with and without a bound on memory. With it, panes go to the disk at any snapshot, are read
// again or not, fire from there, get late rows there; the process dies at any moment, with the last commit made or not, and goes on
// from what there is, in any number of shards. Every row of every result is the same, in the same order (I1, I2).
func TestMemoryDoesNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawPaneSpec(t)
		base := rapid.SampledFrom([]int64{0, 0, 0, -1000, math.MaxInt64 - 60, math.MinInt64 + 30}).Draw(t, "base")
		env := Env{KeyFields: []string{"key"}, Meta: rapid.Bool().Draw(t, "meta")}
		if !panesCanDo(spec, env) {
			env.Meta = false
		}
		playShortOfMemory(t, paneEngine, paneEngine, spec, env.Meta, base, drawAggregates(t))
	})
}

func drawAggregates(t *rapid.T) (aggs []aggregate.Spec) {
	for _, a := range spillAggregates {
		if rapid.IntRange(0, 2).Draw(t, a.Name) > 0 {
			aggs = append(aggs, a)
		}
	}
	if len(aggs) == 0 {
		aggs = spillAggregates[:1]
	}
	return aggs
}

// playShortOfMemory compares an engine that holds everything with one that does not.
func playShortOfMemory(t *rapid.T, whole, short engine, spec Spec, meta bool, base int64, aggs []aggregate.Spec) {
	a := newRig(t, whole, spec, meta, 1, aggs...)
	b := newRig(t, short, spec, meta, 1, aggs...)
	b.disk = &rigDisk{
		share:   rapid.SampledFrom([]int64{1, 1, 20_000, 1 << 30}).Draw(t, "share"),
		shrinks: func() bool { return rapid.IntRange(0, 3).Draw(t, "memory is short") > 0 },
	}
	b.start(rapid.IntRange(1, 3).Draw(t, "shards"))
	watermark := addSaturating(base, -20)
	var since []step // the last snapshot
	snapshotAt := int64(math.MinInt64)
	var before []step // the snapshot that has not settled
	beforeAt := int64(math.MinInt64)
	play := func(s step) {
		if s.rows != nil {
			require.Equal(t, s.want, lines(b.process(s.rows...)), "rows %v", s.rows)
			require.Equal(t, s.late, append([]testRow(nil), b.late...))
		} else {
			require.Equal(t, s.want, lines(b.advance(s.watermark)), "watermark %d", s.watermark)
		}
		for _, op := range b.ops {
			require.NoError(t, op.(Spiller).Err())
		}
		require.Equal(t, a.silent, max(a.silent, b.silent))
	}
	do := func(s step) {
		if s.rows != nil {
			s.want = lines(a.process(s.rows...))
			s.late = append([]testRow(nil), a.late...)
		} else {
			s.want = lines(a.advance(s.watermark))
		}
		since = append(since, s)
		play(s)
	}
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		switch rapid.IntRange(0, 8).Draw(t, "step") {
		case 0, 1, 2:
			rows := []testRow{}
			for range rapid.IntRange(1, 12).Draw(t, "rows") {
				from := max(addSaturating(base, -20), addSaturating(watermark, -15))
				rows = append(rows, testRow{
					key:   rapid.SampledFrom(spillKeys).Draw(t, "key"),
					value: rapid.Int64Range(0, 9).Draw(t, "value"),
					gap:   rapid.Int64Range(-1, 8).Draw(t, "gap"),
					ts:    rapid.Int64Range(max(from, math.MinInt64+1), addSaturating(max(from, watermark), 40)).Draw(t, "ts"),
				})
			}
			do(step{rows: rows})
		case 3, 4:
			watermark = addSaturating(watermark, rapid.Int64Range(1, 20).Draw(t, "further"))
			do(step{watermark: watermark})
		case 5, 6, 7:
			b.checkpoint()
			before, beforeAt = since, snapshotAt
			since, snapshotAt = nil, b.watermark
		case 8:
			again, at := since, snapshotAt
			if len(b.disk.flight) > 0 && rapid.Bool().Draw(t, "the commit was made") {
				b.disk.settle()
			} else if len(b.disk.flight) > 0 {
				again, at = append(slices.Clone(before), since...), beforeAt
			}
			b.silent = 0
			b.start(rapid.IntRange(1, 3).Draw(t, "shards"))
			b.watermark = at
			for _, op := range b.ops {
				if at != math.MinInt64 {
					op.RestoreWatermark(at)
				}
				op.Snapshot(unchanged{t})
			}
			since, snapshotAt = nil, at
			before = nil
			for _, s := range again {
				since = append(since, s)
				play(s)
			}
		}
	}
	do(step{watermark: math.MaxInt64})
	if base < math.MaxInt64-100 && spec.Type != Global { // windows that the end of time has cut are never dropped
		require.Zero(t, b.live())
		b.checkpoint()
		b.disk.settle()
		b.DropTime(stampTime)
		require.Empty(t, b.store, "what has been dropped stays in the store")
	}
}

// overflow takes out the results of an operator in the middle of a call.
func (r *rig) overflow(out *Output) bool {
	p := r.pieces[out]
	if p == nil {
		p = &Output{Results: batch.Get()}
		r.pieces[out] = p
	}
	r.disk.handed += out.Results.N
	from := uint32(p.Results.N)
	p.Results.AppendRows(out.Results, 0, out.Results.N)
	for _, s := range out.Segments {
		s.From, s.To = s.From+from, s.To+from
		if k := len(p.Segments); k > 0 && p.Segments[k-1].Place == s.Place && p.Segments[k-1].At == s.At && p.Segments[k-1].End == s.End {
			p.Segments[k-1].To = s.To
		} else {
			p.Segments = append(p.Segments, s)
		}
	}
	require.EqualValues(r.t, p.Results.N, p.Segments[len(p.Segments)-1].To, "every result is in a segment")
	require.Less(r.t, out.Results.N, 8*OverflowRows, "a piece of the window")
	out.Results.Reset()
	out.Segments = out.Segments[:0]
	return true
}

// TestLargeWindowsFireInPieces: more keys than a piece has, in the store and in memory or in memory alone, in one pane or several of which the first is the
// smallest.
func TestLargeWindowsFireInPieces(t *testing.T) {
	tumbling, sliding := Spec{Type: Tumbling, Size: 10}, Spec{Type: Sliding, Size: 10, Slide: 5}
	for _, c := range []struct {
		name  string
		spec  Spec
		short bool // of memory
	}{{"tumbling", tumbling, true}, {"sliding", sliding, true}, {"tumbling, in memory", tumbling, false}, {"sliding, in memory", sliding, false}} {
		t.Run(c.name, func(t *testing.T) {
			spec := c.spec
			aggs := []aggregate.Spec{{Name: "n", Func: "count"}, {Name: "list", Func: "collect", Arg: "value", Limit: 3}}
			a := newRig(t, paneEngine, spec, false, 1, aggs...)
			b := newRig(t, paneEngine, spec, false, 1, aggs...)
			b.disk = &rigDisk{share: 1, shrinks: func() bool { return c.short }, pieces: true}
			b.pieces = map[*Output]*Output{}
			b.start(2)
			feed := func(from, to int, ts int64) {
				for from < to {
					var rows []testRow
					for ; from < to && len(rows) < 5000; from++ {
						rows = append(rows, testRow{key: fmt.Sprint("user", from), value: int64(from % 7), ts: ts})
					}
					a.process(rows...)
					b.process(rows...)
				}
			}
			feed(0, 10, 1)
			b.checkpoint()
			feed(0, 50_000, 6)
			b.checkpoint()
			feed(40_000, 60_000, 7)
			feed(0, 100, 3)
			want := a.advance(9)
			require.GreaterOrEqual(t, len(want), 60_000)
			require.Equal(t, lines(want), lines(b.advance(9)))
			require.Greater(t, b.disk.handed, 40_000, "most results were handed over in the middle of the call")
			if c.short {
				require.Positive(t, b.disk.reads)
				require.Less(t, b.disk.reads, 20_000/10, "reads")
			} else {
				require.Zero(t, b.disk.reads)
			}
			require.Equal(t, lines(a.advance(100)), lines(b.advance(100)))
		})
	}
}

// TestSnapshotsOfPanesOnDiskAreDeltas: what goes to the disk is forgotten, and what comes after it is handed over to be merged, without a read.
func TestSnapshotsOfPanesOnDiskAreDeltas(t *testing.T) {
	r := newRig(t, paneEngine, Spec{Type: Tumbling, Size: 10}, false, 1, aggregate.Spec{Name: "n", Func: "count"})
	short := true
	r.disk = &rigDisk{share: 1, shrinks: func() bool { return short }}
	r.start(1)
	log := func() []string {
		if short {
			r.ops[0].(Spiller).Shrink()
		}
		var w storeLog
		r.ops[0].Snapshot(&w)
		return w
	}
	r.process(testRow{key: "a", ts: 1}, testRow{key: "b", ts: 2})
	require.ElementsMatch(t, []string{"set 0 a", "set 0 b"}, log())
	require.Zero(t, r.ops[0].(Spiller).Held())
	short = false
	r.process(testRow{key: "a", ts: 1}, testRow{key: "c", ts: 2}, testRow{key: "a", ts: 11})
	require.ElementsMatch(t, []string{"merge 0 a", "merge 0 c", "set 10 a"}, log())
	require.Empty(t, log(), "nothing has changed")
	r.process(testRow{key: "c", ts: 2})
	require.ElementsMatch(t, []string{"merge 0 c"}, log())
	require.Zero(t, r.disk.reads)
}

// TestAStoreThatFailsEndsTheOperator: nothing is emitted that half of the window is missing in.
func TestAStoreThatFailsEndsTheOperator(t *testing.T) {
	r := newRig(t, paneEngine, Spec{Type: Tumbling, Size: 10, Lateness: 5}, false, 1, aggregate.Spec{Name: "n", Func: "count"})
	r.disk = &rigDisk{share: 1, shrinks: func() bool { return true }}
	r.start(1)
	r.process(testRow{key: "a", ts: 1})
	r.checkpoint()
	r.disk.broken = fmt.Errorf("the disk is gone")
	require.Empty(t, r.advance(20))
	require.ErrorContains(t, r.ops[0].(Spiller).Err(), "the disk is gone")
	require.Empty(t, r.process(testRow{key: "a", ts: 21}))
	require.Empty(t, r.advance(100))
}

// TestRecoveryReadsNothingLarge: an operator that starts knows what there is without reading it, and adds rows without it.
func TestRecoveryReadsNothingLarge(t *testing.T) {
	r := newRig(t, paneEngine, Spec{Type: Tumbling, Size: 10}, false, 1, aggregate.Spec{Name: "n", Func: "count"})
	r.disk = &rigDisk{share: 1, shrinks: func() bool { return false }}
	r.start(1)
	for i := range 100 {
		r.process(testRow{key: fmt.Sprint(i), ts: 1})
	}
	r.checkpoint()
	r.disk.settle()
	r.disk.reads = 0
	r.start(1)
	r.ops[0].RestoreWatermark(0)
	require.Zero(t, r.disk.reads)
	r.process(testRow{key: "7", ts: 2}, testRow{key: "7", ts: 12})
	r.checkpoint()
	require.LessOrEqual(t, r.disk.reads, 1, "one look at whether it is small")
	results := r.advance(9)
	require.Len(t, results, 100)
	for _, res := range results {
		want := "1"
		if res.key == "7" {
			want = "2"
		}
		require.Equal(t, []string{want}, res.values, res.key)
	}
}

// overflowRest puts what an operator has handed over in pieces before the rest.
func (r *rig) overflowRest(out, p *Output) {
	if out.Results.N > 0 {
		r.overflow(out)
	}
	out.Results, p.Results = p.Results, out.Results
	out.Segments, p.Segments = p.Segments, out.Segments[:0]
}
