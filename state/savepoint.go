package state

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A savepoint is a directory:
//
//	SAVEPOINT     the manifest (JSON): what it is, and each file with size and checksum; written last
//	TIDEMARK, db/ as in a state directory, which a savepoint is: it can be opened read-only as it stands
//	with/NAME/    what else was asked for, such as the journals
//
// Tables are hard links where the file system has them, so a savepoint costs little until the originals are compacted away.
const (
	manifestName    = "SAVEPOINT"
	savepointFormat = 1 // the first one
	withName        = "with"
)

// Manifest describes a savepoint.
type Manifest struct {
	Format   int            `json:"format"`       // of the savepoint
	State    int            `json:"state_format"` // of the state in it
	Created  int64          `json:"created_ms"`   // processing time
	Pipeline string         `json:"pipeline"`
	Note     string         `json:"note,omitempty"`  // the user's words
	About    map[string]any `json:"about,omitempty"` // the caller's, for people: number of the checkpoint, watermark …
	Files    []ManifestFile `json:"files"`
}

// ManifestFile is a file of a savepoint.
type ManifestFile struct {
	Name   string `json:"name"` // below the savepoint's directory
	Size   int64  `json:"size"`
	CRC32C string `json:"crc32c"` // hexadecimal
}

// Size is the number of bytes of all files.
func (m *Manifest) Size() int64 {
	var n int64
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// Save makes a savepoint of the last commit in dir, which must not exist; its parent is created. about describes it; Format, State and Files
// are filled in. with names directories whose files are copied too, under their names. It may run beside commits and reads; a commit waits
// while the database's files are linked or copied.
func (s *Store) Save(dir string, about Manifest, with map[string]string) (*Manifest, error) {
	v, err := s.BeginSave(dir, with)
	if err != nil {
		return nil, err
	}
	return v.Finish(about)
}

func (v *Saving) take(with map[string]string) error {
	fs, db := v.store.opts.FS, v.store.db
	if err := MakeDir(fs, v.making); err != nil {
		return err
	}
	err := v.store.log.run(noContext, "a savepoint", func() error {
		// The manifest's end is noted first and the log is copied last. A table that a commit adds between the two would be missing beside what a
		// later one has written to the log.
		v.store.committing.Lock()
		defer v.store.committing.Unlock()
		return db.Checkpoint(fs.PathJoin(v.making, dbName), pebble.WithFlushedWAL())
	})
	if err != nil {
		return err
	}
	if err := writeFormat(fs, v.making); err != nil {
		return err
	}
	for name, from := range with {
		if err := copyDir(fs, from, fs.PathJoin(v.making, withName, name)); err != nil {
			return err
		}
	}
	return nil
}

// Finish reads everything for the checksums, writes the manifest and gives the savepoint its name. It needs neither the store nor the
// database, which may be closed meanwhile. See Save for about.
func (v *Saving) Finish(about Manifest) (*Manifest, error) {
	fs := v.store.opts.FS
	m, err := v.describe(about)
	if err == nil {
		if err = fs.Rename(v.making, v.dir); err == nil {
			err = syncDir(fs, fs.PathDir(v.dir))
		}
	}
	if err != nil {
		_ = v.Abort()
		return nil, Classify(err, v.dir, "make a savepoint")
	}
	return m, nil
}

func (v *Saving) describe(m Manifest) (*Manifest, error) {
	fs := v.store.opts.FS
	m.Format, m.State, m.Files = savepointFormat, FormatVersion, nil
	if err := eachFile(fs, v.making, "", func(name string) error {
		f, err := checksum(fs, v.making, name)
		m.Files = append(m.Files, f)
		return err
	}); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(&m, "", "  ")
	if err != nil {
		return nil, err
	}
	return &m, WriteFile(fs, v.making, manifestName, string(text)+"\n")
}

// eachFile visits all files below dir by their names relative to it, in order.
func eachFile(fs vfs.FS, dir, below string, visit func(name string) error) error {
	names, err := fs.List(fs.PathJoin(dir, below))
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if below != "" {
			name = below + "/" + name
		}
		info, err := fs.Stat(fs.PathJoin(dir, name))
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = eachFile(fs, dir, name, visit)
		} else {
			err = visit(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func checksum(fs vfs.FS, dir, name string) (ManifestFile, error) {
	f, err := fs.Open(fs.PathJoin(dir, name), vfs.SequentialReadsOption)
	if err != nil {
		return ManifestFile{}, err
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(sum, struct{ io.Reader }{f}) // hides other methods, for a plain copy
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return ManifestFile{Name: name, Size: n, CRC32C: fmt.Sprintf("%08x", sum.Sum32())}, err
}

// copyDir copies the files of a directory, which may change meanwhile: a file is copied as long as it was when it was looked at. A missing
// directory is an empty one. What it makes is synced, names included.
func copyDir(fs vfs.FS, from, to string) error {
	made := dirs{fs: fs}
	if err := made.add(to); err != nil {
		return err
	}
	if err := copyFiles(&made, from, to); err != nil {
		return err
	}
	return made.sync()
}

func copyFiles(made *dirs, from, to string) error {
	fs := made.fs
	if _, err := fs.Stat(from); oserror.IsNotExist(err) {
		return nil
	}
	return eachFile(fs, from, "", func(name string) error {
		if i := strings.LastIndexByte(name, '/'); i > 0 {
			if err := made.add(fs.PathJoin(to, name[:i])); err != nil {
				return err
			}
		}
		err := copyFile(fs, fs.PathJoin(from, name), fs.PathJoin(to, name))
		if oserror.IsNotExist(err) {
			return nil // removed meanwhile
		}
		return err
	})
}

func copyFile(fs vfs.FS, from, to string) error {
	in, err := fs.Open(from, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := fs.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(in, 0, info.Size()))
	if err == nil {
		err = out.Sync()
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}

// dirs are directories that files are put into. They are made at once, and synced together, with those that hold them, when the files are there.
type dirs struct {
	fs   vfs.FS
	made map[string]bool
}

func (d *dirs) add(dir string) error {
	if d.made[dir] {
		return nil
	}
	if d.made == nil {
		d.made = map[string]bool{}
	}
	d.made[dir] = true
	return MakeDir(d.fs, dir)
}

func (d *dirs) sync() error {
	for dir := range d.made {
		if err := syncDir(d.fs, dir); err != nil {
			return err
		}
	}
	return nil
}
