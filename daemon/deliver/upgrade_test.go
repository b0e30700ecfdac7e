package deliver

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state"
)

// An outbox of version 1 kept its chunks under other names. This one holds two chunks that are to be delivered, and one that was written ahead
// of a commit that never was.
func TestAnOutboxOfVersion1IsDelivered(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	var d state.Delta
	put := func(first uint64, b *batch.Batch) {
		d.Put(oldChunkName("out", first), appendChunk(nil, b))
		b.Release()
	}
	put(5, text("e", "f"))
	put(7, text("g"))
	put(8, text("never"))
	d.Put(sinkName("out"), []byte{1, 8, 4, 2, 2, 40, 1, 20}) // version, next, taken up to, chunks, of each rows and bytes
	_, err := store.Commit(bg, &d)
	require.NoError(t, err)

	sink := newFake(true)
	sink.last = 4
	o := start(t, settings(store, sink))
	require.NoError(t, o.Append(text("h")))
	commit(t, store, o)
	o.drain(t)
	commit(t, store, o)
	require.Equal(t, map[uint64]string{5: "e", 6: "f", 7: "g", 8: "h"}, sink.rows)
	o.stop(t)
	require.Equal(t, []string{string(sinkName("out"))}, recordNames(t, store))
}

func TestAnOutboxOfVersion1ThatHasLostRowsIsDamaged(t *testing.T) {
	store := openStore(t, vfs.NewMem())
	defer store.Close()
	var d state.Delta
	d.Put(sinkName("out"), []byte{1, 8, 4, 1, 3, 40})
	_, err := store.Commit(bg, &d)
	require.NoError(t, err)
	_, err = Open(bg, settings(store, newFake(true)))
	require.ErrorIs(t, err, state.Damaged)
}
