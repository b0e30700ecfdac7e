package state

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Open opens the store in dir, which is created (mode 700) with its parents where that is allowed. All errors are *Error except those of
// Options.Accept, which pass unchanged.
//
// Open answers quickly whatever the size of the state: it reads none of it.
func Open(dir string, opts Options) (*Store, error) {
	opts = opts.withDefaults()
	version, err := inspect(dir, opts)
	if err != nil {
		return nil, err
	}
	s := newStore(dir, opts)
	fs := opts.FS
	db := fs.PathJoin(dir, dbName)
	if !opts.ReadOnly {
		if err := fs.MkdirAll(db, 0o700); err != nil {
			return nil, Classify(err, dir, "create the state directory")
		}
	}
	if s.locks, err = lock(fs, dir, db); err != nil {
		if !opts.ReadOnly || !errors.Is(err, Unwritable) {
			return nil, err
		}
		s.locks = nil // what cannot be written cannot be changed by anybody else either
	}
	if err := s.open(version); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// inspect looks at the directory before anything is changed in it, and returns the format version, 0 for a new store.
func inspect(dir string, opts Options) (int, error) {
	fs := opts.FS
	const nothing = "check the path; `tidemark run --state DIR` creates a state directory"
	info, err := fs.Stat(dir)
	switch {
	case oserror.IsNotExist(err):
		if opts.ReadOnly || opts.MustExist {
			return 0, newError(Missing, dir, nothing, "there is no state directory")
		}
		if err := MakeDir(fs, dir); err != nil {
			if oserror.IsNotExist(err) { // its parents are made, so it is the file system that takes no directories
				e := newError(Unwritable, dir, "choose a directory on a file system that takes files", "create the state directory")
				e.Err = err
				return 0, e
			}
			return 0, Classify(err, dir, "create the state directory")
		}
		return 0, nil
	case err != nil:
		return 0, Classify(err, dir, "look at the state directory")
	case !info.IsDir():
		return 0, newError(Unwritable, dir, "name a directory, or one that does not exist yet", "this is a file, not a state directory")
	}
	names, err := fs.List(dir)
	if err != nil {
		return 0, Classify(err, dir, "read the state directory")
	}
	version, err := readFormat(fs, dir)
	if err != nil || version > 0 {
		return version, err
	}
	if opts.ReadOnly || opts.MustExist {
		return 0, newError(Missing, dir, nothing, "the directory holds no state")
	}
	slices.Sort(names)
	for _, name := range names {
		if !ownName(name) {
			return 0, newError(Foreign, dir, "name an empty directory, or one that does not exist yet",
				"the directory holds %q and no state of tidemark's", name)
		}
	}
	return 0, nil
}

// MakeDir creates a directory and its parents (mode 700) so that they survive a crash: a new name is safe only when the directory that holds
// it is synced. One that is there already may have been made by a process that was killed before it had synced it, so the directory that
// holds it is synced in any case.
func MakeDir(fs vfs.FS, dir string) error {
	parents := []string{}
	for at := dir; ; {
		parent := fs.PathDir(at)
		parents = append(parents, parent)
		if _, err := fs.Stat(parent); err == nil || parent == at {
			break
		}
		at = parent
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := syncDir(fs, parent); err != nil {
			return err
		}
	}
	return nil
}

// ownName is true for what Open may meet in a directory whose creation was cut short.
func ownName(name string) bool {
	switch strings.TrimSuffix(name, ".new") {
	case formatName, ownerName, openingName, markName, dbName, ingestName, "journal", "deadletters", "lost+found":
		return true
	}
	return false
}

// open is the part of Open that runs under the lock.
func (s *Store) open(version int) error {
	fs := s.opts.FS
	if !s.opts.ReadOnly {
		if err := s.prepare(); err != nil {
			return err
		}
	}
	if version == 0 {
		if err := s.refuseLeftovers(); err != nil {
			return err
		}
	}
	if version > 0 {
		if err := s.findLog(); err != nil {
			return err
		}
	}
	if version > 0 {
		if err := s.checkMark(); err != nil {
			return err
		}
	}
	if !s.opts.ReadOnly {
		if err := s.noteOpening(); err != nil {
			return Classify(err, s.dir, "write to the state directory")
		}
	}
	o := s.pebbleOptions()
	o.ErrorIfNotExists = version > 0 || s.opts.ReadOnly
	db, err := s.openDatabase(o)
	if err != nil {
		return err
	}
	s.db = db
	if version == 0 {
		// The database raises its own format after it has begun its first log, which is therefore one that does not say how far it
		// was synced: damage in it could not be told from its end. Opened again it begins a log of the new format.
		if err := db.Close(); err != nil {
			s.db = nil
			return Classify(err, s.dir, "create the state")
		}
		o = s.pebbleOptions()
		if s.db, err = s.openDatabase(o); err != nil {
			return err
		}
	}
	s.tableOptions = o.MakeWriterOptions(0, s.db.TableFormat())
	if version == 0 {
		if err := writeFormat(fs, s.dir); err != nil {
			return Classify(err, s.dir, "write the format of the state")
		}
	}
	if !s.opts.ReadOnly {
		if err := fs.Remove(fs.PathJoin(s.dir, openingName)); err != nil {
			return Classify(err, s.dir, "write to the state directory")
		}
		if s.tally, err = readTally(s); err != nil {
			return err
		}
		if s.mark, err = beginMark(fs, s.dir, s.tally); err != nil {
			return Classify(err, fs.PathJoin(s.dir, markName), "write to the state directory")
		}
	}
	return s.checkFingerprint()
}

// noteOpening says on the disk that the database is being opened: meanwhile it may have no log.
func (s *Store) noteOpening() error {
	fs := s.opts.FS
	f, err := fs.Create(fs.PathJoin(s.dir, openingName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = syncDir(fs, s.dir)
	}
	return err
}

// findLog looks for the database's write-ahead log. A database that has been opened always has one, and takes a directory without one for a
// database with nothing in it beside its tables: small states would begin anew, in silence.
func (s *Store) findLog() error {
	if _, err := s.opts.FS.Stat(s.opts.FS.PathJoin(s.dir, openingName)); err == nil {
		return nil // the last opening was cut short, perhaps between the old log and the new one
	}
	db := s.opts.FS.PathJoin(s.dir, dbName)
	names, err := s.opts.FS.List(db)
	if err != nil || !slices.Contains(names, "CURRENT") && !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "MANIFEST-") }) {
		return nil // the database says better what is wrong then
	}
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".log") }) {
		return nil
	}
	return newError(Missing, db, damagedHint, "the log of the database inside this state directory (a file named like 000123.log) is gone")
}

// openDatabase opens Pebble, which may call a fatal error out while it does.
func (s *Store) openDatabase(o *pebble.Options) (*pebble.DB, error) {
	path := s.opts.FS.PathJoin(s.dir, dbName)
	var db *pebble.DB
	s.log.opening.Store(true)
	defer s.log.opening.Store(false)
	compactions := newScheduler(s.opts.Clock)
	o.Experimental.CompactionScheduler = afterOpening{compactions, &s.log.opening}
	err := s.log.run(noContext, "opening the state", func() (err error) {
		db, err = pebble.Open(path, o)
		return err
	})
	if err == nil {
		return db, nil
	}
	compactions.Unregister() // the database does so only when it is closed
	if strings.Contains(err.Error(), "format major version") {
		return nil, &Error{Kind: TooNew, Path: path, Summary: "the database was written by a newer tidemark", Err: err, Hint: "run the newer tidemark"}
	}
	if at := badTable.FindStringSubmatch(err.Error()); at != nil { // the database checks names and sizes of all its tables
		path = s.opts.FS.PathJoin(path, at[1]+".sst")
		return nil, &Error{Kind: Damaged, Path: path, Summary: "open the state", Err: err, Hint: damagedHint}
	}
	return nil, Classify(err, path, "open the state")
}

// badTable is how Pebble's consistency check (checkConsistency in open.go) speaks of a table that is gone or has another size.
var badTable = regexp.MustCompile(`L\d+: (\d+): (?:object size mismatch|.* unknown to the objstorage provider)`)

// prepare makes the directory ready for writing: it proves that it can be written to before any source is opened.
func (s *Store) prepare() error {
	fs := s.opts.FS
	if err := s.room(0); err != nil {
		return err
	}
	if err := writeOwner(fs, s.dir); err != nil {
		return Classify(err, s.dir, "write to the state directory")
	}
	ingest := fs.PathJoin(s.dir, ingestName)
	if err := fs.MkdirAll(ingest, 0o700); err != nil {
		return Classify(err, ingest, "create a directory of the state")
	}
	names, err := fs.List(ingest)
	if err != nil {
		return Classify(err, ingest, "read a directory of the state")
	}
	for _, name := range names { // tables of commits that a crash cut short
		if err := fs.Remove(fs.PathJoin(ingest, name)); err != nil {
			return Classify(err, ingest, "clear a directory of the state")
		}
	}
	return nil
}

// refuseLeftovers makes sure that a directory without a format file was never committed to: somebody has removed the file then, and
// guessing its version could read the state wrongly.
func (s *Store) refuseLeftovers() error {
	path := s.opts.FS.PathJoin(s.dir, dbName)
	o := s.pebbleOptions()
	o.ReadOnly, o.ErrorIfNotExists = true, true
	db, err := s.openDatabase(o)
	if errors.Is(err, pebble.ErrDBDoesNotExist) {
		return nil // the usual case: there is nothing yet
	}
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	it, err := db.NewIter(nil)
	if err != nil {
		return Classify(err, path, "read the state")
	}
	found := it.First()
	if err := finish(it); err != nil {
		return Classify(err, path, "read the state")
	}
	if found {
		return newError(Damaged, s.opts.FS.PathJoin(s.dir, formatName),
			"put the file back from a backup, or restore a savepoint; to start from nothing, move the directory away yourself",
			"the directory holds state, but the file that says its format is gone")
	}
	return nil
}
