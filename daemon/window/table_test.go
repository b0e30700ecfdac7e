package window

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// tableKey is a key with the tag in front.
type tableKey string

func (k tableKey) hash() uint64 { return rowkey.Hash(k[0], []byte(k[1:])) }

func randomKey(r *rand.Rand) tableKey {
	tag := []uint8{uint8(batch.String), uint8(batch.String), uint8(batch.Int), uint8(batch.JSON), rowkey.Composite, uint8(batch.Null)}[r.IntN(6)]
	n := r.IntN(20)
	if r.IntN(10) == 0 {
		n = 16 + r.IntN(100)
	}
	// Few letters, zeros among them, so that many keys begin alike.
	return tableKey(append([]byte{tag}, []byte(strings.Map(func(c rune) rune { return rune("\x00ab"[r.IntN(3)]) }, strings.Repeat("x", n)))...))
}

// The table is a map, whatever the keys and however it has grown, and lists its keys by their hashes.
func TestTableIsAMap(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		var tab, src table
		tab.open(4, int(seed)*100, ranges{})
		src.open(4, 0, ranges{})
		want := map[tableKey]uint64{}
		for range 20_000 {
			k := randomKey(r)
			if seed%2 == 1 && k.hash()>>groupShift > 20 {
				continue // a shard sees only some groups
			}
			if _, ok := tab.find(k.hash(), k[0], []byte(k[1:])); ok != (want[k] > 0) {
				t.Fatalf("key %q: found %v", k, ok)
			}
			at, fresh := tab.at(k.hash(), k[0], []byte(k[1:]))
			require.Equal(t, want[k] == 0, fresh)
			want[k]++
			tab.mem[at+3]++
			tab.touch(at)
			// The same through an entry of another table.
			e, _ := src.at(k.hash(), k[0], []byte(k[1:]))
			tab.reserve(1)
			at = tab.adopt(&src, e)
			want[k]++
			tab.mem[at+3]++
		}
		require.Equal(t, len(want), tab.n)
		require.Len(t, tab.dirty, len(want))
		var f firing
		f.takeAll(&tab)
		require.True(t, slices.IsSorted(f.hash))
		var run, runs firing
		for e := 0; e < len(tab.mem); {
			e = run.takeRun(&tab, e, 1+r.IntN(20))
			runs.at, runs.hash = append(runs.at, run.at...), append(runs.hash, run.hash...)
		}
		require.Equal(t, f, runs, "run by run")
		tab.orderDirty()
		runs.empty()
		for rest := tab.dirty; len(rest) > 0; {
			rest = run.takeFirst(&tab, rest, 1+r.IntN(20))
			runs.at, runs.hash = append(runs.at, run.at...), append(runs.hash, run.hash...)
		}
		require.Equal(t, f, runs, "all have changed")
		got := map[tableKey]uint64{}
		var buf [inlineSize]byte
		for i, e := range f.at {
			tag, key := tab.key(e, &buf)
			k := tableKey(append([]byte{tag}, key...))
			require.Equal(t, k.hash(), f.hash[i])
			got[k] = tab.mem[e+3]
		}
		require.Equal(t, want, got)
		f.take(&tab, tab.dirty)
		require.True(t, slices.IsSorted(f.hash))
		require.Len(t, f.at, len(want))
	}
}

// Hashes that are alike must not make keys alike: only the bytes decide.
func TestTableComparesBytes(t *testing.T) {
	var tab table
	tab.open(4, 0, ranges{})
	long := strings.Repeat("a", 20)
	keys := []tableKey{"\x06a", "\x06b", "\x05a", "\x06ab", "\x06", tableKey("\x06" + long), tableKey("\x06" + long[1:]), tableKey("\x05" + long)}
	for i, k := range keys {
		at, fresh := tab.at(42, k[0], []byte(k[1:]))
		require.True(t, fresh)
		tab.mem[at+3] = uint64(i)
	}
	for i, k := range keys {
		at, ok := tab.find(42, k[0], []byte(k[1:]))
		require.True(t, ok)
		require.Equal(t, uint64(i), tab.mem[at+3])
	}
	// Among equal hashes, bytes order results, then the tag.
	ordered := []tableKey{"\x06", "\x05a", "\x06a", tableKey("\x06" + long[1:]), tableKey("\x05" + long), tableKey("\x06" + long), "\x06ab", "\x06b"}
	for i, a := range ordered {
		for k, b := range ordered {
			x, _ := tab.find(42, a[0], []byte(a[1:]))
			y, _ := tab.find(42, b[0], []byte(b[1:]))
			require.Equal(t, i > k, tab.after(x, y), "%q after %q", a, b)
		}
	}
}

// All keys have the highest hash (the table keeps the hashes of long keys, and believes them): the slots behind the last home fill up, and the table grows until they fit.
func TestTableGrowsWhenItsEndIsFull(t *testing.T) {
	var tab table
	tab.open(4, 0, ranges{first: 0, last: rowkey.Groups - 1, any: true})
	for i := range 200 {
		at, fresh := tab.at(1<<64-1, 6, fmt.Appendf(nil, "%020d", i))
		require.True(t, fresh)
		tab.mem[at+3] = uint64(i)
	}
	for i := range 200 {
		at, ok := tab.find(1<<64-1, 6, fmt.Appendf(nil, "%020d", i))
		require.True(t, ok)
		require.Equal(t, uint64(i), tab.mem[at+3])
	}
}

// Two keys of neighbouring groups that share a home stand in it in the order of their coming; the range of the table is one all the same.
func TestGroupsOfATableWithTwoNeighbours(t *testing.T) {
	const step = uint64(1) << groupShift
	var tab table
	tab.open(4, 1, ranges{first: 0, last: rowkey.Groups - 1, any: true})
	low, high := uint64(8)*step, uint64(9)*step
	require.Equal(t, tab.home(low), tab.home(high))
	long := func(c string) []byte { return []byte(strings.Repeat(c, inlineSize+1)) } // a long key's hash is stored, so that it may be any
	tab.at(high, uint8(batch.String), long("b"))
	tab.at(low, uint8(batch.String), long("a"))
	require.Equal(t, ranges{first: 8, last: 9, any: true}, tab.groups())
}
