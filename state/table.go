package state

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// commitTable writes a change set as table files and ingests them at once. The writer syncs a file when it is closed; the ingestion links
// them into the database, records all of them in one breath and removes ours. A crash before that leaves files that Open clears away.
func (s *Store) commitTable(ctx context.Context, cs *changeSet) (uint64, error) {
	parts, gone := cs.split()
	var size uint64
	var paths []string
	for _, part := range parts {
		s.tables++
		path := s.opts.FS.PathJoin(s.dir, ingestName, fmt.Sprintf("%06d.sst", s.tables))
		paths = append(paths, path)
		n, err := s.writeTable(path, part)
		if err != nil {
			for _, path := range paths {
				_ = s.fs.Remove(path)
			}
			return 0, err
		}
		size += n
	}
	s.opts.Hook("commit.table")
	err := s.log.run(ctx, "the commit", func() error {
		if gone == nil {
			return s.db.Ingest(noContext, paths)
		}
		_, err := s.db.IngestAndExcise(noContext, paths, nil, nil, pebble.KeyRange{Start: gone.start, End: gone.end})
		return err
	})
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

// tableTarget relies on all entries of an ingested table having one sequence number: a removed range hides what is older, never a key of
// the same table.
type tableTarget struct{ w *sstable.Writer }

func (t tableTarget) deleteRange(start, end []byte) error { return t.w.DeleteRange(start, end) }
func (t tableTarget) set(key, value []byte) error         { return t.w.Set(key, value) }
func (t tableTarget) merge(key, value []byte) error       { return t.w.Merge(key, value) }
func (t tableTarget) delete(key []byte) error             { return t.w.Delete(key) }
