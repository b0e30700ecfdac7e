package window

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestTimersAreAQueueOverTime compares the radix heap with a list that is sorted each time.
func TestTimersAreAQueueOverTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newTimers()
		var list []int64
		now := int64(math.MinInt64)
		times := rapid.OneOf(rapid.Int64Range(-50, 50), rapid.Int64Range(0, 1<<40), rapid.Int64Range(math.MinInt64, math.MaxInt64-1))
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				at := times.Draw(t, "at")
				q.push(at, uint32(len(list)), 0)
				if now != math.MinInt64 { // time has begun: what lies in the past is due with the next advance
					at = max(at, addSaturating(now, 1))
				}
				list = append(list, at)
			} else {
				to := times.Draw(t, "to")
				var want, got []int64
				if to > now {
					now = to
					list = slices.DeleteFunc(list, func(at int64) bool {
						if at <= to {
							want = append(want, at)
						}
						return at <= to
					})
				}
				if len(want) > 0 {
					require.True(t, q.isDue(to))
				}
				for _, timer := range q.take(to, nil) {
					got = append(got, int64(timer.at^1<<63))
				}
				require.ElementsMatch(t, want, got)
			}
			next := int64(math.MaxInt64)
			if len(list) > 0 {
				next = slices.Min(list)
			}
			require.Equal(t, next, q.next())
		}
		require.Len(t, q.take(math.MaxInt64, nil), len(list), "the end takes all")
	})
}

func TestKeyTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table keyTable
		want := map[string]uint32{}
		// Hashes collide in all ways: the same slot, the same high half, the same hash.
		hash := func(key string) uint64 { return uint64(len(key)%3)<<40 | uint64(len(key)%2)<<3 }
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			key := rapid.StringMatching(`[ab]{0,3}|c{30,34}`).Draw(t, "key")
			tag := uint8(len(key) % 2)
			k := table.find(hash(key), tag, []byte(key))
			if had, ok := want[key]; ok {
				require.Equal(t, had, k)
				require.Equal(t, key, string(table.key(k)))
				table.remove(k)
				delete(want, key)
				continue
			}
			require.Equal(t, noKey, k)
			want[key] = table.add(hash(key), tag, []byte(key))
			require.Equal(t, want[key], table.find(hash(key), tag, []byte(key)))
			require.Equal(t, noKey, table.find(hash(key), tag+2, []byte(key)), "the tag is a part of the key")
		}
		for key, k := range want {
			require.Equal(t, k, table.find(hash(key), uint8(len(key)%2), []byte(key)))
		}
	})
}

func TestWindowListsAreSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var mem lists
		all := make([]windowList, 3)
		want := make([][]uint32, 3)
		for n := range rapid.IntRange(1, 200).Draw(t, "steps") {
			k := rapid.IntRange(0, 2).Draw(t, "list")
			w := want[k]
			if len(w) > 0 && rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				i := rapid.SampledFrom([]int{0, len(w) - 1, len(w) / 2}).Draw(t, "at")
				mem.remove(&all[k], i)
				want[k] = slices.Delete(w, i, i+1)
			} else {
				i := rapid.SampledFrom([]int{0, len(w), len(w) / 2}).Draw(t, "at")
				mem.insert(&all[k], i, uint32(n))
				want[k] = slices.Insert(w, i, uint32(n))
			}
			for k := range all {
				require.Equal(t, fmt.Sprint(want[k]), fmt.Sprint(mem.all(&all[k])))
			}
		}
	})
}
