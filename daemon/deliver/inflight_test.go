package deliver

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// slowLine holds up the first row.
type slowLine struct {
	*fakeSink
	release chan struct{}
}

func (s *slowLine) Write(ctx context.Context, first uint64, b *batch.Batch) error {
	if first == 1 {
		select {
		case <-s.release:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.fakeSink.Write(ctx, first, b)
}

// Two connections to the same idempotent sink: the second does not wait for the first, a row counts as taken only when all before it are, and
// after a crash in between nothing is missing.
func TestDeliveriesAtTheSameTime(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	sink := newFake(false)
	slow := &slowLine{fakeSink: sink, release: make(chan struct{})}
	set := settings(store, slow)
	set.More = []wire.Sink{slow, slow}
	set.BatchRows = 2
	r := start(t, set)
	for i := range 6 {
		require.NoError(t, r.Append(text(fmt.Sprint("row ", i))))
	}
	commit(t, store, r)
	require.Eventually(t, func() bool { return len(sink.taken()) == 4 }, 10*time.Second, time.Millisecond) // rows 3 to 6; 1 and 2 are held up
	require.EqualValues(t, 0, r.Status().Taken)
	require.EqualValues(t, 6, r.Status().Waiting)
	commit(t, store, r) // says that nothing is taken yet
	r.stop(t)

	again := start(t, settings(store, sink))
	again.drain(t)
	require.EqualValues(t, 6, again.Status().Taken)
	again.stop(t)
	for i := range 6 {
		require.Equal(t, fmt.Sprint("row ", i), sink.rows[uint64(i+1)])
	}
	require.NoError(t, store.Close())
}

// Rows that arrive before those in front of them join them when these have come.
func TestWhatCameEarlyCountsLater(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	sink := newFake(false)
	slow := &slowLine{fakeSink: sink, release: make(chan struct{})}
	set := settings(store, slow)
	set.More = []wire.Sink{slow, slow, slow}
	set.BatchRows = 1
	r := start(t, set)
	for i := range 40 {
		require.NoError(t, r.Append(text(fmt.Sprint("row ", i))))
	}
	commit(t, store, r)
	require.Eventually(t, func() bool { return len(sink.taken()) == 39 }, 10*time.Second, time.Millisecond)
	require.EqualValues(t, 0, r.Status().Taken)
	close(slow.release)
	r.drain(t)
	require.EqualValues(t, 40, r.Status().Taken)
	require.Len(t, sink.taken(), 40) // each once
	r.stop(t)
	require.NoError(t, store.Close())
}
