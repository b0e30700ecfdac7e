package state

import (
	"context"

	"github.com/cockroachdb/pebble/v2"
)

// commitBatch writes a change set through the log, with one sync.
func (s *Store) commitBatch(ctx context.Context, cs *changeSet) (uint64, error) {
	b := s.db.NewBatchWithSize(cs.bytes + 16*cs.entries)
	if err := cs.writeTo(batchTarget{b}); err != nil {
		return 0, err
	}
	n := uint64(b.Len())
	if err := s.log.run(ctx, "the commit", func() error { return b.Commit(pebble.Sync) }); err != nil {
		return 0, err
	}
	return n, b.Close()
}

// batchTarget relies on a batch counting in the order it is filled: runs are removed before keys are written.
type batchTarget struct{ b *pebble.Batch }

func (t batchTarget) deleteRange(start, end []byte) error { return t.b.DeleteRange(start, end, nil) }
func (t batchTarget) set(key, value []byte) error         { return t.b.Set(key, value, nil) }
func (t batchTarget) merge(key, value []byte) error       { return t.b.Merge(key, value, nil) }
func (t batchTarget) delete(key []byte) error             { return t.b.Delete(key, nil) }
