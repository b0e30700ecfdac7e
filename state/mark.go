package state

import (
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// The end of the database's log, and of its manifest, is damaged by every crash that cuts a write short, so the database takes any damage
// there for such an end and leaves out what stood behind it. Commits that had answered would be gone without a word: a young state, all
// of which lies there, would begin anew.
//
// So commits are counted twice. Each writes its count into the database, and when it is on the disk the count goes into the file COMMITS
// beside the database. That write is not synced, so it costs a system call; a crash of the process leaves it, one of the machine may
// leave an older count. Hence what COMMITS says is never ahead of what was on the disk, and a database that says less has lost
// something (S2).

// tally counts the commits of a store that must be found again, by the way they went: the log holds batches, the manifest names tables. A
// commit writes its own count only, else a batch that is found would speak for a table before it that is not.
type tally struct{ batches, tables uint64 }

var (
	batchesName = keys.Name(nil).Text("commits").Text("batches")
	tablesName  = keys.Name(nil).Text("commits").Text("tables")
)

// of is the count of a way, and the name it has in the database.
func (t *tally) of(w Way) (name keys.Name, n *uint64) {
	if w == Table {
		return tablesName, &t.tables
	}
	return batchesName, &t.batches
}

// count adds the count of a commit to its changes. Tables that hold runs alone are not counted, because the count would need a table of its
// own: whoever reads a run knows what has to be in it.
func (cs *changeSet) count(w Way, t *tally) {
	_, runs := keys.RunBounds()
	beyond := w == Batch || len(cs.cursors) > 0 ||
		slices.ContainsFunc(cs.meta, func(m metaChange) bool { return string(m.key) >= string(runs) }) ||
		slices.ContainsFunc(cs.spans, func(s span) bool { return string(s.end) > string(runs) })
	if !beyond {
		return
	}
	name, n := t.of(w)
	*n++
	c := metaChange{key: keys.AppendMeta(nil, name), value: keys.Name(nil).Number(*n)}
	at, there := slices.BinarySearchFunc(cs.meta, c.key, func(m metaChange, key []byte) int { return strings.Compare(string(m.key), string(key)) })
	if there {
		cs.meta[at] = c
		return
	}
	cs.meta = slices.Insert(cs.meta, at, c)
	cs.entries++
	cs.bytes += len(c.key) + len(c.value)
}

// readTally is what a database says.
func readTally(s *Store) (t tally, err error) {
	for _, w := range []Way{Batch, Table} {
		name, n := t.of(w)
		value, err := s.Meta(name)
		if err != nil {
			return t, err
		}
		if value == nil {
			continue
		}
		r := keys.ReadName(value)
		*n = r.Number()
		if err := r.End(); err != nil {
			return t, &Error{Kind: Damaged, Path: s.dir, Summary: "the number of commits in the state cannot be read", Err: err, Hint: damagedHint}
		}
	}
	return t, nil
}

const (
	markName = "COMMITS"
	// markSlot is how far apart the two places for counts are: a write that is cut short leaves the other one.
	markSlot = 512
)

// mark is the file COMMITS. Counts are written into its two places in turn.
type mark struct {
	file vfs.File
	turn int64
	err  error // of a write: told once, see note
}

func (t tally) line() []byte {
	text := fmt.Sprintf("batches %020d tables %020d", t.batches, t.tables)
	return fmt.Appendf(nil, "%s crc32c %08x\n", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

func parseLine(line []byte) (t tally, ok bool) {
	if _, err := fmt.Sscanf(string(line), "batches %d tables %d", &t.batches, &t.tables); err != nil {
		return t, false
	}
	whole := t.line()
	return t, len(line) >= len(whole) && string(line[:len(whole)]) == string(whole)
}

// readMark returns the higher of the counts in COMMITS; known is false where there is none, as in a savepoint and in states of before, or
// none that can be read: it is a second opinion, and must keep nobody from a state that is whole.
func readMark(fs vfs.FS, dir string) (t tally, known bool, err error) {
	f, err := fs.Open(fs.PathJoin(dir, markName))
	if oserror.IsNotExist(err) {
		return t, false, nil
	}
	if err != nil {
		return t, false, err
	}
	content, err := io.ReadAll(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	for at := 0; at < len(content); at += markSlot {
		if own, ok := parseLine(content[at:min(at+markSlot, len(content))]); ok {
			t, known = tally{max(t.batches, own.batches), max(t.tables, own.tables)}, true
		}
	}
	return t, known, err
}

// beginMark makes COMMITS say t, on the disk, and opens it for what comes.
func beginMark(fs vfs.FS, dir string, t tally) (*mark, error) {
	content := make([]byte, 2*markSlot)
	copy(content, t.line())
	if err := WriteFile(fs, dir, markName, string(content)); err != nil {
		return nil, err
	}
	f, err := fs.OpenReadWrite(fs.PathJoin(dir, markName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &mark{file: f, turn: 1}, nil
}

// write notes a commit that is on the disk. An error is returned once: the count stays behind then, which does no harm but that damage may
// go unnoticed.
func (m *mark) write(t tally) error {
	_, err := m.file.WriteAt(t.line(), m.turn*markSlot)
	m.turn = 1 - m.turn
	if err == nil || m.err != nil {
		return nil
	}
	m.err = err
	return err
}

// close lets go of COMMITS, which is synced where the disk can be trusted.
func (m *mark) close(sync bool) (err error) {
	if sync {
		err = m.file.Sync()
	}
	if closeErr := m.file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// checkMark compares the database with COMMITS before anything is changed in it: opened for writing, it would throw away what it takes for
// the end of its log.
func (s *Store) checkMark() error {
	fs := s.opts.FS
	want, known, err := readMark(fs, s.dir)
	if err != nil {
		return Classify(err, fs.PathJoin(s.dir, markName), "read how many commits there are")
	}
	if !known {
		return nil
	}
	o := s.pebbleOptions()
	o.ReadOnly, o.ErrorIfNotExists = true, true
	o.Cache, o.CacheSize = nil, 1<<20
	if s.db, err = s.openDatabase(o); err != nil {
		return err
	}
	got, err := readTally(s)
	closeErr := s.db.Close()
	s.db = nil
	if err == nil && closeErr != nil {
		err = Classify(closeErr, s.dir, "look into the state")
	}
	if err != nil {
		return err
	}
	return s.compare(got, want)
}

func (s *Store) compare(got, want tally) error {
	name, lost, of := "", uint64(0), uint64(0)
	switch {
	case got.batches < want.batches:
		name, lost, of = s.newest(".log"), want.batches-got.batches, want.batches
	case got.tables < want.tables:
		name, lost, of = s.newest("MANIFEST-"), want.tables-got.tables, want.tables
	default:
		return nil
	}
	return newError(Damaged, s.opts.FS.PathJoin(s.dir, dbName, name),
		damagedHint+"; to go on from what can be read, which lacks the last commits, remove the file "+markName+" in "+s.dir,
		"this file is damaged near its end: of %d commits that were on the disk the last %d cannot be read", of, lost)
}

// newest is the file of the database that was begun last among those of a kind, which its ending or its beginning tells.
func (s *Store) newest(kind string) string {
	names, err := s.opts.FS.List(s.opts.FS.PathJoin(s.dir, dbName))
	if err != nil {
		return ""
	}
	found := ""
	for _, n := range names { // numbers have six digits, or more
		if (strings.HasSuffix(n, kind) || strings.HasPrefix(n, kind)) && (len(n) > len(found) || len(n) == len(found) && n > found) {
			found = n
		}
	}
	return found
}
