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
		n, err := s.writeTables(&paths, part)
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

// writeTables writes a change set as tables that do not overlap, and adds their paths.
//
// It relies on all entries of tables that are ingested together having one sequence number: a removed range hides what is older, never a key
// of the same commit.
func (s *Store) writeTables(paths *[]string, cs *changeSet) (size uint64, err error) {
	p := paneWriter{many: s.opts.PaneEntries, large: cs.entries >= s.opts.PaneEntries, create: func() (*sstable.Writer, error) {
		s.tables++
		path := s.opts.FS.PathJoin(s.dir, ingestName, fmt.Sprintf("%06d.sst", s.tables))
		*paths = append(*paths, path)
		f, err := s.fs.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			return nil, err
		}
		return sstable.NewWriter(objstorageprovider.NewFileWritable(f), s.tableOptions), nil
	}}
	if err = cs.writeTo(&p); err == nil {
		err = p.finish(nil)
	}
	if err != nil {
		p.abandon()
		return 0, err
	}
	for _, w := range p.done {
		meta, err := w.Metadata()
		if err != nil {
			return 0, err
		}
		size += meta.Size
	}
	return size, nil
}
