package sdk

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// bucketOf is floor((w+1-offset)/bucket), without an end to the numbers.
func bucketOf(w, bucket, offset int64) *big.Int {
	x := new(big.Int).Add(big.NewInt(w), big.NewInt(1))
	x.Sub(x, big.NewInt(offset))
	return x.Div(x, big.NewInt(max(bucket, 1))) // Euclidean; the divisor is positive, so this is the floor
}

// Of the watermarks that rise, the first in each bucket and the last of each batch survive: compared with the plain rule.
func TestMarksAreCoalescedByTheRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bucket := rapid.SampledFrom([]int64{0, 1, 2, 7, 1000, 5000, math.MaxInt64 / 4}).Draw(t, "bucket")
		offset := rapid.SampledFrom([]int64{0, 1, -3, 2500, -28_800_000}).Draw(t, "offset")
		around := rapid.SampledFrom([]int64{0, -10_000, 1_700_000_000_000, math.MinInt64 + 20_000, math.MaxInt64 - 20_000}).Draw(t, "around")
		m := newMarker(bucket, offset)
		high := int64(math.MinInt64)
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			var want []batch.Mark
			rows := rapid.IntRange(0, 30).Draw(t, "rows")
			var last *batch.Mark
			for i := range rows {
				w := around + rapid.Int64Range(-15_000, 15_000).Draw(t, "w")
				m.add(uint32(i+1), w)
				if w <= high {
					continue
				}
				mark := batch.Mark{After: uint32(i + 1), Watermark: w}
				last = &mark
				if high == math.MinInt64 || bucketOf(w, bucket, offset).Cmp(bucketOf(high, bucket, offset)) > 0 {
					want = append(want, mark)
					last = nil
				}
				high = w
			}
			if last != nil {
				want = append(want, *last)
			}
			require.Equal(t, append([]batch.Mark{}, want...), append([]batch.Mark{}, m.finish()...))
		}
	})
}

func TestTheEndOfInputAlwaysCounts(t *testing.T) {
	m := newMarker(5000, 0)
	m.add(1, 10)
	m.add(2, batch.EndOfInput)
	require.Equal(t, []batch.Mark{{After: 1, Watermark: 10}, {After: 2, Watermark: batch.EndOfInput}}, m.finish())
	m.add(1, batch.EndOfInput)
	require.Empty(t, m.finish())
}

func BenchmarkMarks(b *testing.B) {
	m := newMarker(5000, 0)
	for i := range b.N {
		m.add(uint32(i), int64(i))
		if i%4096 == 0 {
			m.finish()
		}
	}
}
