package state

import (
	"context"
)

// Way is how a commit was written.
type Way uint8

const (
	Empty Way = iota // nothing to write
	Batch            // one synced batch
	Table            // table files, ingested together
)

func (w Way) String() string { return [...]string{"empty", "batch", "table"}[w] }

// Stats describe a commit.
type Stats struct {
	Way     Way
	Entries int    // changes handed over; those that cancel each other out are not written
	Bytes   uint64 // bytes of the batch or the table files
}

// Commit makes the changes of all deltas true, all or nothing, and returns when they are on the disk. Changes of a key count in the order
// of the deltas, and within one in the order they were made. The deltas are only read, and not touched any more after the return.
//
// An error of kind NoSpace says that the disk is too full to begin: nothing was written, the store is as good as before, and the same
// deltas can be committed later. After any other error nobody knows whether the commit happened; the store is broken, must be
// closed, and what it says when it is opened again counts.
//
// A commit that has begun is finished even when ctx ends meanwhile, except on a disk that hangs: then the store is broken after
// Options.Grace. A context that has ended before is merely reported.
func (s *Store) Commit(ctx context.Context, deltas ...*Delta) (Stats, error) {
	s.committing.Lock()
	defer s.committing.Unlock()
	if err := s.Err(); err != nil {
		return Stats{}, err
	}
	if s.opts.ReadOnly {
		return Stats{}, newError(Unwritable, s.dir, "open it for writing", "the state was opened read-only")
	}
	if err := context.Cause(ctx); err != nil {
		return Stats{}, err
	}
	if s.fingerprint != nil {
		var own Delta
		own.Put(fingerprintName, s.fingerprint)
		deltas = append([]*Delta{&own}, deltas...)
	}
	for len(s.sorters) < len(deltas) {
		s.sorters = append(s.sorters, sorter{})
	}
	cs := collect(deltas, s.sorters, s.folds)
	stats := Stats{Entries: cs.entries}
	if cs.entries == 0 {
		return stats, nil
	}
	// A table is written once; a batch to the log now and to a table when the memtable is flushed.
	if err := s.room(2 * uint64(cs.bytes)); err != nil {
		return Stats{}, err
	}
	s.opts.Hook("commit.begin")
	var err error
	apart := s.apart(cs)
	tally := s.tally
	if cs.entries < s.opts.TableEntries && cs.bytes < s.opts.TableBytes && !apart {
		stats.Way = Batch
		cs.count(Batch, &tally)
		stats.Bytes, err = s.commitBatch(ctx, cs)
	} else {
		stats.Way = Table
		cs.count(Table, &tally)
		stats.Bytes, err = s.commitTable(ctx, cs)
	}
	if err == nil {
		err = s.cutOut(ctx, cs)
	}
	if err != nil {
		s.log.fail(err)
		return Stats{}, Classify(err, s.dir, "write a checkpoint")
	}
	s.opts.Hook("commit.end")
	if s.tally != tally {
		s.tally = tally
		if err := s.log.run(ctx, "noting the commit", func() error { return s.mark.write(tally) }); err != nil {
			s.opts.Logger.Warn("the number of commits could not be noted; damage of the state's log may go unnoticed", "file", s.opts.FS.PathJoin(s.dir, markName), "error", err)
		}
	}
	s.fingerprint = nil
	return stats, nil
}
