package window

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// joinRig drives the shards of a join; like rig, it is the store of its operators.
type joinRig struct {
	*rig
	spec  JoinSpec
	joins []*IntervalJoin
	late  int
}

func newJoinRig(t testingT, spec JoinSpec, shards int) *joinRig {
	spec.Left = []JoinColumn{{"ts", "left"}, {"text", "left_text"}}
	spec.Right = []JoinColumn{{"ts", "right"}, {"text", "right_text"}}
	r := &joinRig{rig: &rig{t: t, store: map[storedPlace][]byte{}, watermark: math.MinInt64}, spec: spec}
	r.start(shards)
	return r
}

func (r *joinRig) start(shards int) {
	r.joins, r.outs = nil, nil
	for range shards {
		out := &Output{}
		j, err := NewIntervalJoin(r.spec, Env{KeyFields: []string{"key"}}, out)
		require.NoError(r.t, err)
		r.joins, r.outs = append(r.joins, j), append(r.outs, out)
	}
}

func (r *joinRig) restart(shards int) {
	buffered := [2]int{r.buffered(LeftSide), r.buffered(RightSide)}
	for _, j := range r.joins {
		j.Snapshot(r)
	}
	r.start(shards)
	for place, value := range r.store {
		require.NoError(r.t, r.joins[rowkey.Shard(place.hash, shards)].Restore(place.time, place.hash, []byte(place.key), value))
	}
	for _, j := range r.joins {
		j.RestoreWatermark(r.watermark)
		j.Snapshot(unchanged{r.t})
	}
	require.Equal(r.t, buffered, [2]int{r.buffered(LeftSide), r.buffered(RightSide)})
}

func (r *joinRig) buffered(s Side) int {
	n := 0
	for _, j := range r.joins {
		n += j.Buffered(s)
	}
	return n
}

// process hands one row to its shard and returns the pairs, in order.
func (r *joinRig) process(side Side, key string, ts int64) (pairs []string) {
	b := batch.Get()
	defer b.Release()
	b.N, b.Times = 1, append(b.Times, ts)
	b.SetText(b.AddColumn("key"), 0, batch.String, key)
	b.AddColumn("ts").SetInt(0, ts)
	b.SetText(b.AddColumn("text"), 0, batch.String, fmt.Sprint("t", ts))
	r.keys.Compute(b, []string{"key"})
	shard := rowkey.Shard(r.keys.Hash[0], len(r.joins))
	out := r.outs[shard]
	r.joins[shard].Process(side, Rows{Batch: b, Index: []uint32{0}, Keys: &r.keys})
	res := out.Results
	for i := range res.N {
		left, right := res.Column("left").Bits[i], res.Column("right").Bits[i]
		require.Equal(r.t, fmt.Sprint("t", int64(left)), cellText(res, res.Column("left_text"), i))
		require.Equal(r.t, fmt.Sprint("t", int64(right)), cellText(res, res.Column("right_text"), i))
		pairs = append(pairs, fmt.Sprintf("%s %d %d ts=%d", cellText(res, res.Column("key"), i), int64(left), int64(right), res.Times[i]))
	}
	r.late += len(out.Late)
	res.Reset()
	out.Late, out.Segments = out.Late[:0], out.Segments[:0]
	return pairs
}

func (r *joinRig) advance(watermark int64) {
	r.watermark = max(r.watermark, watermark)
	for _, j := range r.joins {
		j.AdvanceWatermark(watermark)
	}
}

func TestVectorsOfIntervalJoins(t *testing.T) {
	type element struct {
		Key string `json:"key"`
		TS  int64  `json:"ts"`
	}
	type joinCase struct {
		Name string `json:"name"`
		Join struct {
			Lower          int64 `json:"lower_ms"`
			Upper          int64 `json:"upper_ms"`
			LowerInclusive bool  `json:"lower_inclusive"`
			UpperInclusive bool  `json:"upper_inclusive"`
		} `json:"interval_join"`
		Steps []struct {
			Left           *element `json:"left"`
			Right          *element `json:"right"`
			LeftWatermark  *int64   `json:"left_watermark"`
			RightWatermark *int64   `json:"right_watermark"`
		} `json:"steps"`
		Pairs []struct {
			Key   string `json:"key"`
			Left  int64  `json:"left"`
			Right int64  `json:"right"`
			TS    int64  `json:"ts"`
		} `json:"expect_pairs"`
		Buffers []struct {
			After int     `json:"after_step"`
			Left  []int64 `json:"left"`
			Right []int64 `json:"right"`
		} `json:"buffers"`
		Late int `json:"late_total"`
	}
	play := func(t *testing.T, c *joinCase, shards int, restarts bool) {
		spec := JoinSpec{Lower: c.Join.Lower, Upper: c.Join.Upper}
		if !c.Join.LowerInclusive {
			spec.Lower++
		}
		if !c.Join.UpperInclusive {
			spec.Upper--
		}
		r := newJoinRig(t, spec, shards)
		watermarks := [2]int64{math.MinInt64, math.MinInt64}
		var got, want []string
		for i, s := range c.Steps {
			switch {
			case s.Left != nil:
				got = append(got, r.process(LeftSide, s.Left.Key, s.Left.TS)...)
			case s.Right != nil:
				got = append(got, r.process(RightSide, s.Right.Key, s.Right.TS)...)
			case s.LeftWatermark != nil:
				watermarks[LeftSide] = *s.LeftWatermark
			case s.RightWatermark != nil:
				watermarks[RightSide] = *s.RightWatermark
			}
			r.advance(min(watermarks[0], watermarks[1]))
			if restarts {
				r.restart(1 + i%3)
			}
			for _, b := range c.Buffers {
				if b.After == i {
					require.Equal(t, [2]int{len(b.Left), len(b.Right)}, [2]int{r.buffered(LeftSide), r.buffered(RightSide)}, "buffers after step %d", i)
				}
			}
		}
		for _, p := range c.Pairs {
			want = append(want, fmt.Sprintf("%s %d %d ts=%d", p.Key, p.Left, p.Right, p.TS))
		}
		if c.Pairs != nil { // the cases of cleanup look at the buffers only
			require.ElementsMatch(t, want, got)
		}
		require.Equal(t, c.Late, r.late)
	}
	for _, c := range readVectors[joinCase](t, "interval_join") {
		for _, shards := range []int{1, 3} {
			for _, restarts := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d shards/restarts %v", c.Name, shards, restarts), func(t *testing.T) { play(t, &c, shards, restarts) })
			}
		}
	}
}

// TestIntervalJoinIsTheNaiveOne compares with a join that keeps every row and looks at all of them.
func TestIntervalJoinIsTheNaiveOne(t *testing.T) {
	type kept struct {
		key string
		ts  int64
	}
	rapid.Check(t, func(t *rapid.T) {
		lower := rapid.Int64Range(-10, 10).Draw(t, "lower")
		spec := JoinSpec{Lower: lower, Upper: lower + rapid.Int64Range(0, 10).Draw(t, "width")}
		keep := [2]int64{max(0, spec.Upper), max(0, -spec.Lower)}
		r := newJoinRig(t, spec, rapid.IntRange(1, 3).Draw(t, "shards"))
		var buffers [2][]kept
		watermark := int64(-5)
		r.advance(watermark)
		late := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			default:
				side := Side(rapid.IntRange(0, 1).Draw(t, "side"))
				row := kept{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"), rapid.Int64Range(watermark-3, watermark+20).Draw(t, "ts")}
				var want []string
				if row.ts < watermark {
					late++
				} else {
					partners := slices.Clone(buffers[1-side])
					slices.SortStableFunc(partners, func(a, b kept) int { return int(a.ts - b.ts) })
					for _, p := range partners {
						left, right := row.ts, p.ts
						if side == RightSide {
							left, right = right, left
						}
						if p.key == row.key && left+spec.Lower <= right && right <= left+spec.Upper {
							want = append(want, fmt.Sprintf("%s %d %d ts=%d", row.key, left, right, max(left, right)))
						}
					}
					buffers[side] = append(buffers[side], row)
				}
				require.Equal(t, want, r.process(side, row.key, row.ts))
			case 4:
				watermark += rapid.Int64Range(1, 8).Draw(t, "further")
				r.advance(watermark)
				for s := range buffers {
					buffers[s] = slices.DeleteFunc(buffers[s], func(k kept) bool { return k.ts+keep[s] <= watermark })
				}
			case 5:
				r.restart(rapid.IntRange(1, 3).Draw(t, "shards"))
			}
			require.Equal(t, [2]int{len(buffers[0]), len(buffers[1])}, [2]int{r.buffered(LeftSide), r.buffered(RightSide)})
			require.Equal(t, late, r.late)
		}
	})
}

func TestJoinsRefuseBoundsThatAreTheWrongWayRound(t *testing.T) {
	_, err := NewIntervalJoin(JoinSpec{Lower: 2000, Upper: 1000}, Env{}, &Output{})
	require.ErrorContains(t, err, "lower: 2s is above upper, 1s")
}

func TestJoinsRefuseDamagedState(t *testing.T) {
	r := newJoinRig(t, JoinSpec{Upper: 5}, 1)
	r.process(LeftSide, "a", 1)
	r.joins[0].Snapshot(r)
	for place, value := range r.store {
		key := []byte(place.key)
		require.NoError(t, r.joins[0].Restore(place.time, place.hash, key, value))
		require.Error(t, r.joins[0].Restore(place.time, place.hash+1, key, value))
		for n := range value {
			require.Error(t, r.joins[0].Restore(place.time, place.hash, key, value[:n]), "%d of %d bytes", n, len(value))
		}
		require.Error(t, r.joins[0].Restore(place.time, place.hash, key[:9], value))
	}
}
