package window

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// engine makes one shard of an operator.
type engine struct {
	name string
	can  func(Spec, *aggregate.Layout) bool
	make func(Spec, *aggregate.Layout, Env, *Output) Operator
}

var generalEngine = engine{
	name: "general",
	can:  func(Spec, *aggregate.Layout) bool { return true },
	make: func(s Spec, l *aggregate.Layout, e Env, o *Output) Operator { return newGeneral(s, l, e, o) },
}

// testRow is one row of the tests' input.
type testRow struct {
	key   string
	value int64
	ts    int64
	gap   int64 // column "gap", where the spec asks for it; below 0 = missing
}

// testResult is one row of results, in a form that tests compare and print.
type testResult struct {
	place      uint32
	key        string
	values     []string // the aggregates, as text
	start, end any      // int64, or nil
	ts         int64
	watermark  any
	firing     int64
	timing     string
	retract    bool
}

// testingT is a *testing.T or a *rapid.T.
type testingT interface {
	require.TestingT
	Helper()
	Fatalf(format string, args ...any)
}

// rig drives the shards of one operator like the daemon does: rows are routed by key, results merged into one order, and a restart
// goes through what the snapshots have left in a store.
type rig struct {
	t      testingT
	spec   Spec
	layout *aggregate.Layout
	env    Env
	engine engine

	ops  []Operator
	outs []*Output
	keys rowkey.Keys

	store     map[storedPlace][]byte
	watermark int64
	now       int64

	disk *rigDisk // operators read from it what they need; nil: they are given everything back

	pieces map[*Output]*Output // what operators have handed over in the middle of the call

	rows   []testRow // since the last take, by place
	late   []testRow
	silent uint64
}

type storedPlace struct {
	time int64
	hash uint64
	key  string
}

func newRig(t testingT, e engine, spec Spec, meta bool, shards int, aggs ...aggregate.Spec) *rig {
	t.Helper()
	require.Empty(t, spec.Check())
	layout, err := aggregate.New(aggs)
	require.NoError(t, err)
	r := &rig{
		t: t, spec: spec, layout: layout, env: Env{KeyFields: []string{"key"}, Meta: meta}, engine: e,
		store: map[storedPlace][]byte{}, watermark: math.MinInt64, now: math.MinInt64,
	}
	r.start(shards)
	return r
}

func (r *rig) start(shards int) {
	r.ops, r.outs = nil, nil
	for range shards {
		out := &Output{Results: batch.Get()}
		r.outs = append(r.outs, out)
		r.ops = append(r.ops, r.engine.make(r.spec, r.layout, r.env, out))
	}
	if r.disk != nil {
		r.disk.attach(r)
	}
}

// Set, Delete and DropTime make rig the store of its operators.
func (r *rig) Set(time int64, hash uint64, key, value []byte) {
	r.store[storedPlace{time, hash, string(key)}] = slices.Clone(value)
}

// Merge folds like the database does.
func (r *rig) Merge(time int64, hash uint64, key, value []byte) {
	place := storedPlace{time, hash, string(key)}
	older, ok := r.store[place]
	if !ok {
		r.store[place] = slices.Clone(value)
		return
	}
	folded, err := NewFolder(r.spec, r.layout, r.env).Fold(nil, older, value)
	require.NoError(r.t, err)
	r.store[place] = folded
}

func (r *rig) Delete(time int64, hash uint64, key []byte) {
	place := storedPlace{time, hash, string(key)}
	if _, ok := r.store[place]; !ok {
		r.t.Fatalf("deletes %v, which is not stored", place)
	}
	delete(r.store, place)
}

func (r *rig) DropTime(time int64) {
	for p := range r.store {
		if p.time == time {
			delete(r.store, p)
		}
	}
}

func (r *rig) checkpoint() {
	if r.disk != nil {
		r.disk.checkpoint(r)
		return
	}
	for _, op := range r.ops {
		op.Snapshot(r)
	}
}

// restart throws everything away but the store, and goes on with any number of shards.
func (r *rig) restart(shards int) {
	r.t.Helper()
	r.checkpoint()
	live := r.live()
	r.start(shards)
	for place, value := range r.store {
		require.NoError(r.t, r.ops[rowkey.Shard(place.hash, shards)].Restore(place.time, place.hash, []byte(place.key), value))
	}
	for _, op := range r.ops {
		op.RestoreWatermark(r.watermark)
		op.Snapshot(unchanged{r.t})
		if r.now != math.MinInt64 {
			op.AdvanceProcessingTime(r.now)
		}
	}
	require.Equal(r.t, live, r.live(), "windows after a restart")
}

// unchanged is a store to which nothing may be written.
type unchanged struct{ t testingT }

func (u unchanged) Set(time int64, _ uint64, key, _ []byte) {
	u.t.Fatalf("nothing has changed, but %q at %d is stored again", key, time)
}
func (u unchanged) Merge(time int64, _ uint64, key, _ []byte) {
	u.t.Fatalf("nothing has changed, but %q at %d is merged", key, time)
}
func (u unchanged) Delete(time int64, _ uint64, key []byte) {
	u.t.Fatalf("nothing has changed, but %q at %d is deleted", key, time)
}
func (u unchanged) DropTime(time int64) { u.t.Fatalf("nothing has changed, but %d is dropped", time) }

func (r *rig) live() int {
	n := 0
	for _, op := range r.ops {
		n += op.Live()
	}
	return n
}

// process hands rows over as one batch and returns what they fired.
func (r *rig) process(rows ...testRow) []testResult {
	b := r.batch(rows)
	r.keys.Compute(b, r.env.KeyFields)
	index := make([][]uint32, len(r.ops))
	for i := range rows {
		s := rowkey.Shard(r.keys.Hash[i], len(r.ops))
		index[s] = append(index[s], uint32(i))
	}
	for s, op := range r.ops {
		if len(index[s]) > 0 {
			op.Process(Rows{Batch: b, Index: index[s], Keys: &r.keys})
		}
	}
	r.rows = rows
	results := r.take()
	b.Release()
	return results
}

func (r *rig) batch(rows []testRow) *batch.Batch {
	b := batch.Get()
	b.N = len(rows)
	keys := b.AddColumn("key")
	for i, row := range rows {
		b.SetText(keys, i, batch.String, row.key)
		b.Times = append(b.Times, row.ts)
	}
	values := b.AddColumn("value")
	for i, row := range rows {
		values.SetInt(i, row.value)
	}
	if r.spec.GapColumn != "" {
		gaps := b.AddColumn(r.spec.GapColumn)
		for i, row := range rows {
			if row.gap < 0 {
				gaps.SetMissing(i)
			} else {
				gaps.SetInt(i, row.gap)
			}
		}
	}
	return b
}

func (r *rig) advance(watermark int64) []testResult {
	r.watermark = max(r.watermark, watermark)
	for _, op := range r.ops {
		op.AdvanceWatermark(watermark)
	}
	return r.take()
}

func (r *rig) clock(now int64) []testResult {
	r.now = max(r.now, now)
	for _, op := range r.ops {
		op.AdvanceProcessingTime(now)
	}
	return r.take()
}

// take merges what the shards have emitted into one order and empties their outputs.
func (r *rig) take() []testResult {
	for _, out := range r.outs {
		if p := r.pieces[out]; p != nil && p.Results.N > 0 { // put together again, to be compared with what comes in one piece
			r.overflowRest(out, p)
		}
	}
	next := make([]int, len(r.outs))
	var results []testResult
	for {
		best := -1
		for s, out := range r.outs {
			if next[s] == len(out.Segments) {
				continue
			}
			if best < 0 || segmentBefore(out.Segments[next[s]], r.outs[best].Segments[next[best]]) {
				best = s
			}
		}
		if best < 0 {
			break
		}
		out := r.outs[best]
		seg := out.Segments[next[best]]
		if next[best] > 0 {
			before := out.Segments[next[best]-1]
			require.False(r.t, segmentBefore(seg, before), "segments out of order: %v, %v", before, seg)
			require.Equal(r.t, before.To, seg.From)
		}
		next[best]++
		for i := seg.From; i < seg.To; i++ {
			results = append(results, r.result(out.Results, int(i), seg.Place))
		}
	}
	var late []uint32
	for s, out := range r.outs {
		if n := len(out.Segments); n > 0 {
			require.EqualValues(r.t, out.Results.N, out.Segments[n-1].To, "every result is in a segment")
		} else {
			require.Zero(r.t, out.Results.N)
		}
		late = append(late, out.Late...)
		r.silent += out.Silent
		out.Results.Reset()
		out.Segments, out.Late, out.Silent = out.Segments[:0], out.Late[:0], 0
		_ = s
	}
	slices.Sort(late)
	r.late = r.late[:0]
	for _, i := range late {
		r.late = append(r.late, r.rows[i])
	}
	return results
}

func segmentBefore(a, b Segment) bool {
	switch {
	case a.Place != b.Place:
		return a.Place < b.Place
	case a.At != b.At:
		return a.At < b.At
	}
	return a.End < b.End
}

func (r *rig) result(b *batch.Batch, i int, place uint32) testResult {
	res := testResult{place: place, ts: b.Times[i], firing: -1}
	res.key = cellText(b, b.Column("key"), i)
	if c := b.Column(StartColumn); c.Kinds[i] == batch.Time {
		res.start, res.end = int64(c.Bits[i]), int64(b.Column(EndColumn).Bits[i])
	}
	for _, name := range r.layout.Columns() {
		res.values = append(res.values, cellText(b, b.Column(name), i))
	}
	if r.env.Meta {
		if c := b.Column(WatermarkColumn); c.Kinds[i] == batch.Time {
			res.watermark = int64(c.Bits[i])
		}
		res.firing = int64(b.Column(FiringColumn).Bits[i])
		res.timing = cellText(b, b.Column(TimingColumn), i)
	}
	if c := b.Column(RetractColumn); c != nil {
		res.retract = c.Bits[i] != 0
	}
	return res
}

func cellText(b *batch.Batch, c *batch.Column, i int) string {
	switch c.Kinds[i] {
	case batch.Missing, batch.Null:
		return "null"
	case batch.Bool:
		return fmt.Sprint(c.Bits[i] != 0)
	case batch.Int, batch.Time:
		return fmt.Sprint(int64(c.Bits[i]))
	case batch.Uint:
		return fmt.Sprint(c.Bits[i])
	case batch.Float:
		return fmt.Sprint(math.Float64frombits(c.Bits[i]))
	}
	return string(b.Text(c.Bits[i]))
}

func (x testResult) String() string {
	s := fmt.Sprintf("%s [%v,%v) %s ts=%d", x.key, x.start, x.end, strings.Join(x.values, " "), x.ts)
	if x.firing >= 0 {
		s += fmt.Sprintf(" wm=%v firing=%d %s", x.watermark, x.firing, x.timing)
	}
	if x.retract {
		s += " retract"
	}
	return s
}
