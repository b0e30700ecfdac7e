package state

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// commitTable writes a change set as one table file and ingests it. The writer syncs the file when it is closed; the ingestion links it
// into the database, records it and removes ours. A crash before that leaves a file that Open clears away.
func (s *Store) commitTable(ctx context.Context, cs *changeSet) (uint64, error) {
	s.tables++
	path := s.opts.FS.PathJoin(s.dir, ingestName, fmt.Sprintf("%06d.sst", s.tables))
	size, err := s.writeTable(path, cs)
	if err != nil {
		_ = s.fs.Remove(path)
		return 0, err
	}
	s.opts.Hook("commit.table")
	err = s.log.run(ctx, "the commit", func() error { return s.db.Ingest(noContext, []string{path}) })
	return size, err
}

func (s *Store) writeTable(path string, cs *changeSet) (uint64, error) {
	f, err := s.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return 0, err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.tableOptions)
	if err := cs.writeTo(tableTarget{w}); err != nil {
		_ = w.Close()
		return 0, err
	}
	if err := w.Close(); err != nil {
		return 0, err
	}
	meta, err := w.Metadata()
	if err != nil {
		return 0, err
	}
	return meta.Size, nil
}

// tableTarget relies on all entries of an ingested table having one sequence number: a removed run hides what is older, never a key of
// the same table.
type tableTarget struct{ w *sstable.Writer }

func (t tableTarget) deleteRange(start, end []byte) error { return t.w.DeleteRange(start, end) }
func (t tableTarget) set(key, value []byte) error         { return t.w.Set(key, value) }
func (t tableTarget) merge(key, value []byte) error       { return t.w.Merge(key, value) }
func (t tableTarget) delete(key []byte) error             { return t.w.Delete(key) }
