package deliver

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/state"
)

// A restored state knows rows up to 4, its sink holds 9. Those in between come again and are left out, whatever batches they come in and
// however often the pipeline crashes meanwhile.
func TestRowsThatTheSinkOfARestoredStateHoldsAreLeftOut(t *testing.T) {
	row := func(n int) string { return fmt.Sprintf("row %d", n) }
	for _, size := range []int{1, 2, 3, 7} {
		for crash := range 4 {
			disk := vfs.NewCrashableMem()
			store := openStore(t, disk)
			sink := newFake(true)
			o := start(t, settings(store, sink))
			for n := 1; n <= 4; n++ {
				require.NoError(t, o.Append(text(row(n))))
			}
			commit(t, store, o)
			o.drain(t)
			o.stop(t)
			sink.last = 9
			what := fmt.Sprintf("batches of %d rows, crash after %d of them", size, crash)

			_, err := Open(bg, settings(store, sink))
			require.ErrorIs(t, err, state.Incompatible, what)
			set := settings(store, sink)
			set.Skip = true
			o = start(t, set)
			require.EqualValues(t, 4, o.Status().Taken, what)
			n := 5
			more := func() {
				var rows []string
				for range size {
					rows = append(rows, row(n))
					n++
				}
				require.NoError(t, o.Append(text(rows...)))
				commit(t, store, o)
			}
			for range crash {
				more()
			}
			o.drain(t)
			require.Zero(t, o.Status().Waiting, what)
			o.stop(t)
			require.NoError(t, store.Close())

			store = openStore(t, disk.CrashClone(vfs.CrashCloneCfg{}))
			o = start(t, settings(store, sink)) // the choice was made once
			for n <= 20 {
				more()
			}
			o.drain(t)
			var want []string
			for i := range n - 10 {
				want = append(want, row(10+i))
			}
			require.Equal(t, want, sink.taken()[4:], what)
			commit(t, store, o)
			require.Equal(t, []string{string(sinkName("out"))}, recordNames(t, store), what)
			o.stop(t)

			// A sink that is ahead for another reason is refused, as ever.
			sink.last += 5
			_, err = Open(bg, settings(store, sink))
			require.ErrorIs(t, err, state.Incompatible, what)
			require.NoError(t, store.Close())
		}
	}
}
