package transform

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// keyed makes rows of a key and a time.
type keyed struct {
	key  string
	time int64
}

func process(d *Dedup, rows ...keyed) []int {
	b := &batch.Batch{N: len(rows)}
	c := b.AddColumn("k")
	var index []uint32
	for i, r := range rows {
		b.SetText(c, i, batch.String, r.key)
		b.Times = append(b.Times, r.time)
		index = append(index, uint32(i))
	}
	var keys rowkey.Keys
	keys.Compute(b, []string{"k"})
	var out []int
	for _, row := range d.Process(b, index, &keys, nil) {
		out = append(out, int(row))
	}
	return out
}

func TestDedupStories(t *testing.T) {
	d := NewDedup(100)
	require.Equal(t, []int{0, 1, 4}, process(d, keyed{"a", 1000}, keyed{"b", 1000}, keyed{"a", 1000}, keyed{"a", 1100}, keyed{"a", 1101}), "within 100 on both sides of the first")
	require.Equal(t, []int{2}, process(d, keyed{"a", 900}, keyed{"a", 1201}, keyed{"a", 899}), "an older one can be new, too")
	require.Equal(t, []int(nil), process(d, keyed{"a", 799}), "and is remembered")
	require.Equal(t, 4, d.Live())

	d.AdvanceWatermark(1100)
	require.Equal(t, []int{0}, process(d, keyed{"b", 1000}), "forgotten, and such a row is late anyway")
	require.Equal(t, []int(nil), process(d, keyed{"a", 1200}), "1101 is still remembered")
	d.AdvanceWatermark(batch.EndOfInput)
	require.Zero(t, d.Live())
	require.Empty(t, d.index)

	d = NewDedup(100)
	require.Equal(t, []int{0, 1}, process(d, keyed{"a", batch.NoTimestamp}, keyed{"a", batch.NoTimestamp}), "without a time nothing can be said")
	require.Equal(t, []int{0, 1}, process(d, keyed{"a", math.MaxInt64}, keyed{"a", math.MinInt64 + 1}))
}

// stored is what a state store keeps of snapshots.
type stored map[string]string

func (s stored) id(time int64, hash uint64, key []byte) string {
	return fmt.Sprintf("%d %d %s", time, hash, key)
}
func (s stored) Set(time int64, hash uint64, key, value []byte) {
	s[s.id(time, hash, key)] = string(value)
}
func (s stored) Delete(time int64, hash uint64, key []byte) { delete(s, s.id(time, hash, key)) }
func (s stored) DropTime(time int64) {
	for id := range s {
		var at int64
		fmt.Sscan(id, &at)
		if at == time {
			delete(s, id)
		}
	}
}

func (s stored) restore(t require.TestingT, d *Dedup) {
	for id, value := range s {
		var at int64
		var hash uint64
		var key string
		_, err := fmt.Sscanf(id, "%d %d %s", &at, &hash, &key)
		require.NoError(t, err)
		require.NoError(t, d.Restore(at, hash, []byte(key), []byte(value)))
	}
}

// TestDedupAgainstModel compares with a list of what passed, cuts and restarts included.
func TestDedupAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		within := rapid.Int64Range(1, 40).Draw(t, "within")
		d := NewDedup(within)
		store := stored{}
		type remembered struct {
			key  string
			time int64
		}
		var model []remembered
		watermark := int64(math.MinInt64)
		t.Repeat(map[string]func(*rapid.T){
			"rows": func(t *rapid.T) {
				var rows []keyed
				var want []int
				for i := range rapid.IntRange(1, 6).Draw(t, "n") {
					r := keyed{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), rapid.Int64Range(-50, 200).Draw(t, "time")}
					rows = append(rows, r)
					duplicate := false
					for _, m := range model {
						if m.key == r.key && max(m.time-r.time, r.time-m.time) <= within && watermark < m.time+within {
							duplicate = true
						}
					}
					if !duplicate {
						want = append(want, i)
						model = append(model, remembered(r))
					}
				}
				require.Equal(t, want, process(d, rows...))
			},
			"watermark": func(t *rapid.T) {
				w := rapid.Int64Range(-60, 300).Draw(t, "watermark")
				watermark = max(watermark, w)
				d.AdvanceWatermark(w)
			},
			"checkpoint": func(t *rapid.T) { d.Snapshot(store) },
			"restart": func(t *rapid.T) {
				d.Snapshot(store)
				d = NewDedup(within)
				store.restore(t, d)
				d.RestoreWatermark(watermark)
			},
			"": func(t *rapid.T) {
				alive := 0
				for _, m := range model {
					if watermark < m.time+within {
						alive++
					}
				}
				require.GreaterOrEqual(t, d.Live(), alive)
				require.LessOrEqual(t, len(store), len(model))
			},
		})
	})
}

func TestDedupGivesItsMemoryBack(t *testing.T) {
	d := NewDedup(1000)
	store := stored{}
	for round := range int64(50) {
		rows := make([]keyed, 2000)
		for i := range rows {
			rows[i] = keyed{fmt.Sprintf("a-rather-long-key-%d-%d", round, i), round * 1000}
		}
		require.Len(t, process(d, rows...), len(rows))
		d.AdvanceWatermark(round * 1000)
		if round%10 == 9 {
			d.Snapshot(store)
		}
	}
	require.LessOrEqual(t, d.Live(), 2*2000)
	require.LessOrEqual(t, len(d.table), 4*2000)
	require.LessOrEqual(t, len(d.keys), 1<<20)
	require.LessOrEqual(t, len(store), 2*2000)
}
