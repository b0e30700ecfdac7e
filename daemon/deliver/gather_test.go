package deliver

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Rows that wait go out in as few deliveries as hold them, in their order, and none is larger than it may be.
func TestWaitingRowsShareADelivery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 8).Draw(t, "rows of a delivery")
		o := &Outbox{set: Settings{BatchRows: most, BatchBytes: 1 << 20}.withDefaults(), next: 1}
		var want, got []string
		for range rapid.IntRange(1, 6).Draw(t, "chunks") {
			b := batch.Get()
			b.Trailer, b.Offsets = 1, append(b.Offsets, 0)
			for range rapid.IntRange(1, 10).Draw(t, "rows") {
				row := rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "row")
				b.Data = append(append(b.Data, row...), '\n')
				b.Offsets = append(b.Offsets, uint32(len(b.Data)))
				b.N++
				want = append(want, row)
			}
			o.chunks = append(o.chunks, &chunk{first: o.next, rows: b.N, bytes: footprint(b), batch: b, closed: true})
			o.next += uint64(b.N)
		}
		o.deliverable = o.next
		deliveries := 0
		for first := uint64(1); first < o.next; deliveries++ {
			c := o.holding(first)
			c.batch.Retain(1)
			_, b, err := o.take(c, first, c.batch)
			require.NoError(t, err)
			b = o.gather(first, b)
			n := b.Alive()
			require.LessOrEqual(t, n, most)
			for i := range n {
				r := i
				if b.Sel != nil {
					r = int(b.Sel[i])
				}
				got = append(got, string(b.Row(r)))
			}
			first += uint64(n)
			b.Release()
			if next := o.holding(first); next != nil && next.first == first {
				require.Greater(t, n+next.rows, most, "the next rows would have had room")
			}
		}
		require.Equal(t, want, got)
		require.LessOrEqual(t, deliveries, len(want))
	})
}
