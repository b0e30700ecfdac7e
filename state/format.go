package state

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FormatVersion is the version of everything below a state directory. Raise it with any change that an older program would read
// wrongly, and say here why.
//
//	1  the first one
const FormatVersion = 1

const (
	formatName = "TIDEMARK"
	ownerName  = "OWNER"
	// openingName is a file that is there while the database is being opened.
	openingName = "OPENING"
	dbName      = "db"
	ingestName  = "ingest"

	formatLine = "tidemark state, format "
)

// WriteFile writes a small file so that it is there whole or not at all: aside, synced, renamed, the directory synced.
func WriteFile(fs vfs.FS, dir, name, content string) error {
	path := fs.PathJoin(dir, name)
	aside := path + ".new"
	f, err := fs.Create(aside, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(content))
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = fs.Rename(aside, path)
	}
	if err == nil {
		err = syncDir(fs, dir)
	}
	return err
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}

func readFile(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return string(content), err
}

// readFormat returns the format version of a state directory, 0 where the file that says so is missing.
func readFormat(fs vfs.FS, dir string) (int, error) {
	path := fs.PathJoin(dir, formatName)
	content, err := readFile(fs, path)
	if oserror.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, Classify(err, path, "read the format of the state")
	}
	line, _, whole := strings.Cut(content, "\n")
	number, ours := strings.CutPrefix(line, formatLine)
	version, err := strconv.Atoi(number)
	if !whole || !ours || err != nil || version < 1 {
		return 0, newError(Damaged, path, "restore a savepoint, or put the file back from a backup",
			"this file should say %q and a number, but says %q", formatLine, line)
	}
	if version > FormatVersion {
		return 0, newError(TooNew, dir, fmt.Sprintf("run the newer tidemark, or restore a savepoint of format %d or below", FormatVersion),
			"the state has format %d, this tidemark reads up to %d", version, FormatVersion)
	}
	return version, nil
}

func writeFormat(fs vfs.FS, dir string) error {
	return WriteFile(fs, dir, formatName, formatLine+strconv.Itoa(FormatVersion)+"\n")
}
