package state

import (
	"encoding/json"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ReadManifest reads what a savepoint says of itself, and believes it. See [Verify].
func ReadManifest(fs vfs.FS, savepoint string) (*Manifest, error) {
	path := fs.PathJoin(savepoint, manifestName)
	text, err := readFile(fs, path)
	if oserror.IsNotExist(err) {
		return nil, newError(BadSavepoint, savepoint, "`tidemark savepoint ls` lists those there are", "this is not a savepoint, or one that was never finished")
	}
	if err != nil {
		return nil, Classify(err, path, "read a savepoint")
	}
	m := &Manifest{}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil, &Error{Kind: BadSavepoint, Path: path, Summary: "the manifest cannot be read", Hint: "take another savepoint", Err: err}
	}
	if m.Format > savepointFormat || m.State > FormatVersion {
		return nil, newError(TooNew, savepoint, "restore it with the newer tidemark",
			"the savepoint has format %d with a state of format %d, this tidemark reads up to %d and %d", m.Format, m.State, savepointFormat, FormatVersion)
	}
	return m, nil
}

// Verify reads a savepoint whole and compares it with its manifest: nothing may be missing or changed.
func Verify(fs vfs.FS, savepoint string) (*Manifest, error) {
	m, err := ReadManifest(fs, savepoint)
	if err != nil {
		return nil, err
	}
	for _, want := range m.Files {
		path := fs.PathJoin(savepoint, want.Name)
		got, err := checksum(fs, savepoint, want.Name)
		switch {
		case oserror.IsNotExist(err):
			return nil, newError(BadSavepoint, path, "take another savepoint", "a file of the savepoint is gone")
		case err != nil:
			return nil, Classify(err, path, "read a savepoint")
		case got != want:
			return nil, newError(BadSavepoint, path, "take another savepoint",
				"a file of the savepoint has changed: %d bytes with checksum %s, written were %d with %s", got.Size, got.CRC32C, want.Size, want.CRC32C)
		}
	}
	return m, nil
}

// Restore makes a state directory of a savepoint, which is verified first and stays as it is. dir, and the directories of with, must not exist, or be empty; with says
// where the directories that were saved beside the state go, by their names: those that are not named are left out.
//
// The directory is a state when Restore returns without an error, and not before: a crash or a failure leaves one that [Open] refuses.
func Restore(fs vfs.FS, savepoint, dir string, with map[string]string) (*Manifest, error) {
	m, err := Verify(fs, savepoint)
	if err != nil {
		return nil, err
	}
	for _, target := range append(values(with), dir) { // what lies there would mix with what is restored
		if err := makeEmpty(fs, target, target == dir); err != nil {
			return nil, err
		}
	}
	made := dirs{fs: fs}
	for _, f := range m.Files {
		to := fs.PathJoin(dir, f.Name)
		if rest, other := strings.CutPrefix(f.Name, withName+"/"); other {
			name, file, _ := strings.Cut(rest, "/")
			target, wanted := with[name]
			if !wanted {
				continue
			}
			to = fs.PathJoin(target, file)
		}
		if f.Name == formatName {
			continue // last of all
		}
		if err := restoreFile(&made, fs.PathJoin(savepoint, f.Name), to); err != nil {
			return nil, Classify(err, to, "restore a savepoint")
		}
	}
	if err := made.sync(); err != nil {
		return nil, Classify(err, dir, "restore a savepoint")
	}
	return m, Classify(writeFormat(fs, dir), dir, "restore a savepoint")
}

// restoreFile links tables, which never change, and copies the rest: the database writes to its logs and manifests.
func restoreFile(made *dirs, from, to string) error {
	fs := made.fs
	if err := made.add(fs.PathDir(to)); err != nil {
		return err
	}
	if strings.HasSuffix(from, ".sst") {
		return vfs.LinkOrCopy(fs, from, to)
	}
	return copyFile(fs, from, to)
}

// makeEmpty refuses a directory that holds something, and makes it if asked to.
func makeEmpty(fs vfs.FS, dir string, make bool) error {
	names, err := fs.List(dir)
	if err == nil && len(names) > 0 {
		return newError(Foreign, dir, "name an empty directory, or one that does not exist yet", "the directory is not empty: it holds %q", names[0])
	}
	if err != nil && !oserror.IsNotExist(err) {
		return Classify(err, dir, "look at the directory to restore to")
	}
	if !make {
		return nil
	}
	return Classify(MakeDir(fs, dir), dir, "create the directory to restore to")
}

func values(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// ListSavepoints reads the manifests of all savepoints in a directory, by name. What is no savepoint is left out.
func ListSavepoints(fs vfs.FS, dir string) (map[string]*Manifest, error) {
	names, err := fs.List(dir)
	if oserror.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, Classify(err, dir, "list savepoints")
	}
	out := map[string]*Manifest{}
	for _, name := range names {
		if m, err := ReadManifest(fs, fs.PathJoin(dir, name)); err == nil {
			out[name] = m
		}
	}
	return out, nil
}
