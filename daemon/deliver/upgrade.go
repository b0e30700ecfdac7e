package deliver

import (
	"context"
	"errors"

	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// upgradeBytes is how much of an old outbox is copied in one commit.
const upgradeBytes = 8 << 20

// upgrade renames the chunks of an outbox whose record has version 1. Until the last commit the record has that version and the chunks
// stand under their old names as well, so that it may be cut short and begun again.
func upgrade(ctx context.Context, store *state.Store, sink string, r record) error {
	var d state.Delta
	for _, c := range r.chunks {
		rows, err := store.Meta(oldChunkName(sink, c.first))
		if err != nil {
			return err
		}
		if rows == nil {
			return damaged(store, "the outbox of sink "+sink, errors.New("rows are missing"))
		}
		d.Put(chunkName(sink, c.first), rows)
		if d.Size() >= upgradeBytes {
			if _, err := store.Commit(ctx, &d); err != nil {
				return err
			}
			d.Reset()
		}
	}
	old := keys.Name(nil).Text(kindOutbox).Text(sink)
	d.RemoveRange(old, keys.After(old))
	d.Put(sinkName(sink), r.encode())
	_, err := store.Commit(ctx, &d)
	return err
}

func oldChunkName(sink string, first uint64) keys.Name {
	return keys.Name(nil).Text(kindOutbox).Text(sink).Number(first)
}
