package state

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// Store is an open state directory. One goroutine at a time may call Commit; everything else may be called by any number of
// goroutines at any time until Close.
type Store struct {
	dir  string
	opts Options

	fs    vfs.FS // behind the fence
	log   *health
	locks *locks
	db    *pebble.DB
	from  pebble.Reader // what is read: the database, or a snapshot of it in a [View]
	folds *folds

	tableOptions sstable.WriterOptions
	fingerprint  []byte // to be stored with the next commit, or nil

	committing sync.Mutex
	sorters    []sorter // under committing
	tables     uint64   // under committing: number of the next table file
	laid       bool     // under committing: tables of runs may be there, see apart
	tally      tally    // under committing
	mark       *mark    // under committing; nil in a store that is only read

	viewing sync.Mutex // held while panes are cut out, which no View may see
	views   int        // under viewing

	reliefMu sync.Mutex
	relief   chan struct{} // under reliefMu: closed when compactions or flushes end
}

// noContext is for work that nobody can give up on.
var noContext = context.Background()

func newStore(dir string, opts Options) *Store {
	s := &Store{dir: dir, opts: opts, folds: &folds{}, relief: make(chan struct{})}
	s.log = &health{log: opts.Logger, clock: opts.Clock, grace: opts.Grace, pause: setbackPause, broken: make(chan struct{})}
	s.fs = fence{FS: opts.FS, health: s.log}
	return s
}

// Dir is the state directory.
func (s *Store) Dir() string { return s.dir }

// SetFold tells how values of an operator merge. It may be called at any time, before anything of that operator is merged or read that
// needs it; the fold of an operator must never change its meaning.
func (s *Store) SetFold(operator uint32, fold Fold) { s.folds.set(operator, fold) }

// Err is nil while the store works, and the *Error of kind Broken (or NoSpace, Damaged …) that ended it otherwise.
func (s *Store) Err() error {
	if err := s.log.failure(); err != nil {
		return Classify(err, s.dir, "the state store is broken")
	}
	return nil
}

// Broken is closed when the store breaks.
func (s *Store) Broken() <-chan struct{} { return s.log.broken }

// Close gives the directory back. What was committed stays. A broken store is abandoned: its memory is lost to the process, but its
// files are fenced off, and the directory can be opened again. No other call may be under way or follow.
func (s *Store) Close() error {
	var err error
	if s.db != nil && s.log.failure() == nil {
		err = s.log.run(noContext, "closing the state", s.db.Close)
	}
	if s.log.failure() == nil {
		// Nothing of the database is left, but a fence does not hurt.
		s.log.fenced.Store(true)
	}
	if s.mark != nil {
		err = errors.Join(err, s.mark.close(s.log.failure() == nil))
		s.mark = nil
	}
	if s.locks != nil {
		err = errors.Join(err, s.locks.release())
		s.locks = nil
	}
	s.db = nil
	return Classify(err, s.dir, "close the state")
}

// fingerprintName is the meta key of the pipeline's fingerprint.
var fingerprintName = keys.Name(nil).Text("fingerprint")

// checkFingerprint compares the pipeline's fingerprint with the stored one.
func (s *Store) checkFingerprint() error {
	if s.opts.Fingerprint == nil {
		return nil
	}
	stored, err := s.Meta(fingerprintName)
	if err != nil {
		return err
	}
	switch {
	case bytes.Equal(stored, s.opts.Fingerprint):
		return nil
	case stored == nil: // a new store
	case s.opts.Accept == nil:
		return newError(Incompatible, s.dir, "run it with the pipeline that wrote it, or name another directory",
			"the state belongs to another pipeline, or to an older version of this one")
	default:
		if err := s.opts.Accept(stored); err != nil {
			return err
		}
	}
	s.fingerprint = s.opts.Fingerprint
	return nil
}

// Fingerprint is the stored fingerprint, nil where there is none yet.
func (s *Store) Fingerprint() ([]byte, error) { return s.Meta(fingerprintName) }
