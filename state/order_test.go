package state

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRadixOrderIsTheOrderOfTheKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Sizes around the switch to radix; fields from one value to random; hashes with few and with many bits.
		n := rapid.SampledFrom([]int{0, 1, 63, 64, 65, 300, 3000}).Draw(t, "n")
		operators := rapid.SampledFrom([]uint32{1, 3, 1 << 20}).Draw(t, "operators")
		times := rapid.SampledFrom([]int64{1, 5, 1 << 40}).Draw(t, "times")
		hashes := rapid.SampledFrom([]uint64{1, 3, 1 << 20, 1 << 33, ^uint64(0)}).Draw(t, "hashes")
		shift := rapid.SampledFrom([]int{0, 8, 31}).Draw(t, "shift")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 42))

		var d Delta
		for range n {
			d.Set(rng.Uint32N(operators), rng.Int64N(times)-times/2, rng.Uint64N(hashes)<<shift, []byte{byte(rng.IntN(3))}, nil)
		}
		want := make([]uint32, n)
		for i := range want {
			want[i] = uint32(i)
		}
		slices.SortStableFunc(want, func(a, b uint32) int {
			return slices.Compare(d.key(&d.changes[a]), d.key(&d.changes[b]))
		})
		ordered := slices.IsSortedFunc(want, func(a, b uint32) int { return int(a) - int(b) })
		require.Equal(t, ordered, d.inOrder())
		var s sorter
		for range 2 { // the second time on used buffers
			got := make([]uint32, 0, n)
			for _, it := range s.order(&d) {
				got = append(got, it.ref)
			}
			require.Equal(t, want, got)
		}
	})
}
