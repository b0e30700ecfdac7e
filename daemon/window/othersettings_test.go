package window

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
)

// chosenEngine is the one that New chooses.
var chosenEngine = engine{make: func(s Spec, l *aggregate.Layout, e Env, o *Output) Operator {
	op, err := New(s, l, e, o)
	if err != nil {
		panic(err)
	}
	return op
}}

// restartWith goes on from what is stored with other settings.
func (r *rig) restartWith(s Spec) {
	r.t.Helper()
	require.Equal(r.t, StateFormat(r.spec, r.env), StateFormat(s, r.env))
	r.checkpoint()
	r.spec = s
	r.start(len(r.ops))
	for place, value := range r.store {
		require.NoError(r.t, r.ops[rowkey.Shard(place.hash, len(r.ops))].Restore(place.time, place.hash, []byte(place.key), value))
	}
	for _, op := range r.ops {
		op.RestoreWatermark(r.watermark)
	}
}

// TestLatenessMayChange: whoever changes how long windows wait for late rows, and when those fire, keeps the state wherever StateFormat says
// so. Windows that have not ended give what they would have given.
func TestLatenessMayChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lateness := func(s Spec) Spec {
			s.Lateness = rapid.SampledFrom([]int64{0, 3, 7, 20}).Draw(t, "lateness")
			if s.LateEvery = 0; s.Lateness > 0 {
				s.LateEvery = rapid.SampledFrom([]int64{0, 0, 2, 5}).Draw(t, "late every")
			}
			return s
		}
		before := lateness(rapid.SampledFrom([]Spec{
			{Type: Tumbling, Size: 10}, {Type: Sliding, Size: 10, Slide: 4}, {Type: Cumulative, Size: 12, Slide: 3},
			{Type: Tumbling, Size: 10, EarlyCount: 3}, {Type: Tumbling, Size: 10, Mode: Retracting},
		}).Draw(t, "windows"))
		after := lateness(before)
		env := Env{KeyFields: []string{"key"}, Meta: rapid.Bool().Draw(t, "meta")}
		if StateFormat(before, env) != StateFormat(after, env) {
			t.Skip("another engine")
		}
		stays := newRig(t, chosenEngine, before, env.Meta, 1, countAndSum...)
		changes := newRig(t, chosenEngine, before, env.Meta, 2, countAndSum...)
		play := func(ts func() int64) {
			var rows []testRow
			for range rapid.IntRange(0, 6).Draw(t, "rows") {
				rows = append(rows, testRow{key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), ts: ts(), value: 1})
			}
			stays.process(rows...)
			changes.process(rows...)
		}
		watermark := int64(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			play(func() int64 { return watermark + rapid.Int64Range(-20, 20).Draw(t, "ts") })
			watermark += rapid.Int64Range(0, 12).Draw(t, "further")
			require.Equal(t, lines(stays.advance(watermark)), lines(changes.advance(watermark)))
		}
		changes.restartWith(after)
		open := func(results []testResult) (out []string) {
			for _, line := range results {
				if line.ts > watermark {
					line.place = 0
					out = append(out, lines([]testResult{line})...)
				}
			}
			return out
		}
		play(func() int64 { return watermark + rapid.Int64Range(1, 20).Draw(t, "ts") })
		require.Equal(t, open(stays.advance(math.MaxInt64)), open(changes.advance(math.MaxInt64)))
		require.Zero(t, changes.live())
	})
}

// TestCollectedLateRowsFireThoughNobodyCollectsAnyMore is about those that wait in the state while late_firing is taken away.
func TestCollectedLateRowsFireThoughNobodyCollectsAnyMore(t *testing.T) {
	for name, after := range map[string]Spec{
		"and each late row fires from now on": {Type: Tumbling, Size: 10, Lateness: 50},
		"and there are no late rows any more": {Type: Tumbling, Size: 10},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, chosenEngine, Spec{Type: Tumbling, Size: 10, Lateness: 100, LateEvery: 20}, true, 1, countAndSum...)
			r.process(testRow{key: "a", ts: 1, value: 1}, testRow{key: "b", ts: 1, value: 1})
			r.advance(10)
			require.Empty(t, r.process(testRow{key: "a", ts: 2, value: 1}))
			r.restartWith(after)
			got := r.advance(11)
			require.Len(t, got, 1)
			require.Equal(t, "a", got[0].key)
			require.Equal(t, []string{"2", "2"}, got[0].values)
		})
	}
}
