package state

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// View is what a store held at one commit, all of it from the same one. Commits go on beside it and do not wait for it. It keeps the
// database from throwing away what it shows, so close it soon, and before the store.
type View struct {
	of       *Store
	store    *Store // reads the snapshot; nothing else of it may be used
	snapshot *pebble.Snapshot
}

// View looks at the last commit.
func (s *Store) View() (*View, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	s.viewing.Lock()
	snapshot := s.db.NewSnapshot()
	s.views++
	s.viewing.Unlock()
	return &View{of: s, store: &Store{dir: s.dir, opts: s.opts, fs: s.fs, log: s.log, db: s.db, from: snapshot, folds: s.folds}, snapshot: snapshot}, nil
}

// Close gives the snapshot back.
func (v *View) Close() error {
	err := v.snapshot.Close()
	v.of.viewing.Lock()
	v.of.views--
	v.of.viewing.Unlock()
	return Classify(err, v.store.dir, "read the state")
}

// Dir is the state directory.
func (v *View) Dir() string { return v.store.dir }

// Meta is [Store.Meta] of the view.
func (v *View) Meta(name []byte) ([]byte, error) { return v.store.Meta(name) }

// ScanMeta is [Store.ScanMeta] of the view.
func (v *View) ScanMeta(prefix []byte, visit func(name, value []byte) error) error {
	return v.store.ScanMeta(prefix, visit)
}

// VisitKeys is [Store.VisitKeys] of the view.
func (v *View) VisitKeys(operator uint32, visit func(time int64, hash uint64, key []byte) error) error {
	return v.store.VisitKeys(operator, visit)
}

// VisitKeys visits the keys of all entries of an operator in the order of time, hash and key, and reads no values: so it needs no fold. key is
// valid during the call only; [ErrStop] ends the visits without an error.
func (s *Store) VisitKeys(operator uint32, visit func(time int64, hash uint64, key []byte) error) error {
	start, end := keys.OperatorBounds(operator)
	return s.iterate(start, end, func(it *pebble.Iterator) error {
		for ok := it.First(); ok; ok = it.Next() {
			e, err := keys.DecodeState(it.Key())
			if err != nil {
				return err
			}
			if err := visit(e.Time, e.Hash, e.Key); err != nil {
				return err
			}
		}
		return nil
	})
}

// reader is where reads go.
func (s *Store) reader() pebble.Reader {
	if s.from != nil {
		return s.from
	}
	return s.db
}

// Saving is a savepoint in the making: everything that changes has been taken, and what is left needs the store no more.
type Saving struct {
	store  *Store
	dir    string
	making string
}

// BeginSave takes the database of the last commit, as hard links, and copies the files of the directories that with names, under these
// names. Whoever makes the commits wait meanwhile gets directories that belong to the commit; it is quick, because nothing of the
// database is read. dir must not exist; its parent is created. Finish, or give up with Abort.
func (s *Store) BeginSave(dir string, with map[string]string) (*Saving, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	fs := s.opts.FS
	if _, err := fs.Stat(dir); err == nil {
		return nil, newError(Foreign, dir, "name a directory that does not exist", "there is something already")
	}
	v := &Saving{store: s, dir: dir, making: dir + ".making"} // a savepoint cut short must not look like one
	if err := fs.RemoveAll(v.making); err != nil {
		return nil, Classify(err, v.making, "remove a savepoint that was cut short")
	}
	if err := v.take(with); err != nil {
		return nil, errors.Join(Classify(err, dir, "make a savepoint"), v.Abort())
	}
	return v, nil
}

// Abort removes what there is of the savepoint.
func (v *Saving) Abort() error {
	return Classify(v.store.opts.FS.RemoveAll(v.making), v.making, "remove a savepoint that was cut short")
}
