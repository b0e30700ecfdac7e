package transform

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// diskOf is the store of one or several shards. What a snapshot hands over can be read when it has settled, or when the next one comes.
type diskOf struct {
	entries map[place][]byte
	flight  []func()
	visited int
	reads   int
	broken  error
}

type place struct {
	time int64
	hash uint64
	key  string
}

func newDisk() *diskOf { return &diskOf{entries: map[place][]byte{}} }

func (s *diskOf) Set(time int64, hash uint64, key, value []byte) {
	at, value := place{time, hash, string(key)}, bytes.Clone(value)
	s.flight = append(s.flight, func() { s.entries[at] = value })
}

func (s *diskOf) Delete(time int64, hash uint64, key []byte) {
	at := place{time, hash, string(key)}
	s.flight = append(s.flight, func() { delete(s.entries, at) })
}

func (s *diskOf) DropTime(time int64) {
	s.flight = append(s.flight, func() {
		for p := range s.entries {
			if p.time == time {
				delete(s.entries, p)
			}
		}
	})
}

func (s *diskOf) Settle() error {
	for _, write := range s.flight {
		write()
	}
	s.flight = nil
	return s.broken
}

func (s *diskOf) Hashes() (first, last uint64) { return 0, math.MaxUint64 }

func (s *diskOf) Times(visit func(int64)) error {
	var times []int64
	for p := range s.entries {
		times = append(times, p.time)
	}
	slices.Sort(times)
	for _, t := range slices.Compact(times) {
		visit(t)
	}
	return s.broken
}

func (s *diskOf) Scan(time int64, first, last uint64, visit func(uint64, []byte, []byte) bool) error {
	var list []place
	for p := range s.entries {
		if p.time == time && first <= p.hash && p.hash <= last {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b place) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.key, b.key)) })
	for _, p := range list {
		s.visited++
		if !visit(p.hash, []byte(p.key), s.entries[p]) {
			break
		}
	}
	return s.broken
}

func (s *diskOf) Get(time int64, hash uint64, key []byte) ([]byte, bool, error) {
	s.reads++
	v, ok := s.entries[place{time, hash, string(key)}]
	return bytes.Clone(v), ok, s.broken
}

// TestMemoryDoesNotShowInDedup compares a shard that holds everything with one that holds as little as it can, and that dies now and then.
func TestMemoryDoesNotShowInDedup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		within := rapid.Int64Range(1, 40).Draw(t, "within")
		share := rapid.SampledFrom([]int64{1, 1, 500, 1 << 20}).Draw(t, "share")
		whole, short, disk := NewDedup(within), NewDedup(within), newDisk()
		require.NoError(t, short.Attach(disk, share))
		watermark := int64(math.MinInt64)
		checkpoint := func(t *rapid.T) {
			require.NoError(t, disk.Settle())
			if rapid.IntRange(0, 3).Draw(t, "memory is short") > 0 {
				short.Shrink()
			}
			short.Snapshot(disk)
		}
		t.Repeat(map[string]func(*rapid.T){
			"rows": func(t *rapid.T) {
				var rows []keyed
				for range rapid.IntRange(1, 6).Draw(t, "n") {
					rows = append(rows, keyed{rapid.SampledFrom([]string{"a", "b", "c", "d", ""}).Draw(t, "key"), rapid.Int64Range(-50, 200).Draw(t, "time")})
				}
				require.Equal(t, process(whole, rows...), process(short, rows...))
			},
			"watermark": func(t *rapid.T) {
				watermark = max(watermark, rapid.Int64Range(-60, 300).Draw(t, "watermark"))
				whole.AdvanceWatermark(watermark)
				short.AdvanceWatermark(watermark)
			},
			"checkpoint": checkpoint,
			"restart": func(t *rapid.T) {
				checkpoint(t)
				require.NoError(t, disk.Settle())
				short = NewDedup(within)
				require.NoError(t, short.Attach(disk, share))
				short.RestoreWatermark(watermark)
			},
			"": func(t *rapid.T) { require.NoError(t, short.Err()) },
		})
		whole.AdvanceWatermark(1000)
		short.AdvanceWatermark(1000)
		require.Zero(t, short.Live())
		checkpoint(t)
		require.NoError(t, disk.Settle())
		disk.DropTime(dedupStampTime)
		require.NoError(t, disk.Settle())
		require.Empty(t, disk.entries, "what has been forgotten stays in the store")
	})
}

// TestDedupTakesOverOtherSpans: what stands in the buckets of another span, or of a program that did not say which, is found all the same.
func TestDedupTakesOverOtherSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		disk := newDisk()
		before, after := rapid.Int64Range(1, 40).Draw(t, "before"), rapid.Int64Range(1, 40).Draw(t, "after")
		d := NewDedup(before)
		if rapid.Bool().Draw(t, "it said which") {
			require.NoError(t, d.Attach(disk, 1))
		}
		var rows []keyed
		for i := range int64(20) {
			rows = append(rows, keyed{fmt.Sprint(i), 100 + i})
		}
		process(d, rows...)
		d.Snapshot(disk)
		require.NoError(t, disk.Settle())
		d = NewDedup(after)
		require.NoError(t, d.Attach(disk, rapid.SampledFrom([]int64{1, 1 << 20}).Draw(t, "share")))
		for range rapid.IntRange(0, 2).Draw(t, "checkpoints") {
			d.Shrink()
			d.Snapshot(disk)
			require.NoError(t, disk.Settle())
		}
		require.Empty(t, process(d, rows...))
		d.AdvanceWatermark(1000)
		d.Snapshot(disk)
		onlyStamps(t, disk)
	})
}

// onlyStamps makes sure that nothing but a stamp is left.
func onlyStamps(t require.TestingT, disk *diskOf) {
	require.NoError(t, disk.Settle())
	for p := range disk.entries {
		require.EqualValues(t, dedupStampTime, p.time)
	}
}

// TestDedupLargerThanMemory: more keys than there is room for, and each of them twice. A restart reads few of them, and finds all.
func TestDedupLargerThanMemory(t *testing.T) {
	const share = 64 << 10
	disk := newDisk()
	d := NewDedup(1_000_000)
	require.NoError(t, d.Attach(disk, share))
	rowsOf := func(from int) (rows []keyed) {
		for k := range 1000 {
			rows = append(rows, keyed{fmt.Sprint("key", from+k), int64(from)})
		}
		return rows
	}
	for from := 0; from < 20_000; from += 1000 {
		require.Len(t, process(d, rowsOf(from)...), 1000)
		require.NoError(t, disk.Settle())
		d.Shrink()
		d.Snapshot(disk)
		require.LessOrEqual(t, d.Held(), int64(share))
	}
	require.NoError(t, disk.Settle())

	disk.reads, disk.visited = 0, 0
	d = NewDedup(1_000_000)
	require.NoError(t, d.Attach(disk, share))
	require.Less(t, disk.visited, 1000, "a quarter of the share")
	for from := 0; from < 20_000; from += 1000 {
		require.Empty(t, process(d, rowsOf(from)...))
	}
	require.NoError(t, d.Err())
	d.AdvanceWatermark(3_000_000)
	require.Zero(t, d.Live())
	require.Len(t, process(d, keyed{"key1", 5_000_000}), 1)
}

// TestADedupWhoseStoreFailsSaysSo: nobody takes its answers for good.
func TestADedupWhoseStoreFailsSaysSo(t *testing.T) {
	disk := newDisk()
	d := NewDedup(100)
	require.NoError(t, d.Attach(disk, 1))
	process(d, keyed{"a", 1})
	d.Shrink()
	d.Snapshot(disk)
	disk.broken = errors.New("the disk is gone")
	process(d, keyed{"b", 1})
	require.ErrorContains(t, d.Err(), "the disk is gone")
}
