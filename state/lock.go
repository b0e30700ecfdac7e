package state

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// locks keep a second opener out. Two of them: the database's lock file, which every vfs knows, and on a real disk the directory
// itself, whose lock cannot be lost by removing a file and is seen through any path or mount that leads to it.
//
// They are ours and not the database's, because a database that met a fatal error never gives its lock back (see fence).
type locks struct {
	db  io.Closer
	dir io.Closer // nil on other file systems
}

// lock takes both or none.
func lock(fs vfs.FS, dir, db string) (*locks, error) {
	l := &locks{}
	if fs == vfs.Default {
		held, err := lockDirectory(dir)
		if err != nil {
			return nil, lockError(fs, dir, err)
		}
		l.dir = held
	}
	held, err := fs.Lock(fs.PathJoin(db, "LOCK"))
	if err != nil {
		_ = l.release()
		return nil, lockError(fs, dir, err)
	}
	l.db = held
	return l, nil
}

func (l *locks) release() error {
	var err error
	if l.db != nil {
		err = l.db.Close()
	}
	if l.dir != nil {
		err = errors.Join(err, l.dir.Close())
	}
	return err
}

// lockError tells a lock that is held from a lock file that cannot be made.
func lockError(fs vfs.FS, dir string, err error) error {
	var path *iofs.PathError
	if errors.As(err, &path) && !errors.Is(err, errHeld) {
		return Classify(err, dir, "lock the state directory")
	}
	owner, _ := readFile(fs, fs.PathJoin(dir, ownerName))
	owner = strings.TrimSpace(owner)
	if owner == "" {
		owner = "another process"
	}
	return newError(InUse, dir, "stop that process first, or give this one a directory of its own", "the state directory is in use by %s", owner)
}

// errHeld marks a lock that somebody else has.
var errHeld = errors.New("the lock is held")

// writeOwner leaves word of who has the directory open. It is a note for people, so it is not synced.
func writeOwner(fs vfs.FS, dir string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	f, err := fs.Create(fs.PathJoin(dir, ownerName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "process %d on %s\n", os.Getpid(), host)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
