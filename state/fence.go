package state

import (
	"errors"
	"os"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errFenced is what a database gets that is given up.
var errFenced = errors.New("the store is broken, its files are fenced off")

// fence is a file system that can be closed for changes for good. A database that met a fatal error cannot be closed in order; its
// goroutines may live on. Behind the fence they can neither write nor remove a file, so the directory may be opened again beside them.
type fence struct {
	vfs.FS
	down *atomic.Bool
}

func (f fence) check() error {
	if f.down.Load() {
		return errFenced
	}
	return nil
}

func (f fence) file(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return fencedFile{file, f}, nil
}

func (f fence) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.file(f.FS.Create(name, c))
}

func (f fence) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.file(f.FS.OpenReadWrite(name, c, o...))
}

func (f fence) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.file(f.FS.ReuseForWrite(from, to, c))
}

func (f fence) Link(from, to string) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.FS.Link(from, to)
}

func (f fence) Remove(name string) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f fence) RemoveAll(name string) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.FS.RemoveAll(name)
}

func (f fence) Rename(from, to string) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f fence) MkdirAll(dir string, perm os.FileMode) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.FS.MkdirAll(dir, perm)
}

func (f fence) Unwrap() vfs.FS { return f.FS }

// fencedFile is a file opened for writing.
type fencedFile struct {
	vfs.File
	fence fence
}

func (f fencedFile) Write(p []byte) (int, error) {
	if err := f.fence.check(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f fencedFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.fence.check(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}

func (f fencedFile) Sync() error {
	if err := f.fence.check(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f fencedFile) SyncData() error {
	if err := f.fence.check(); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f fencedFile) SyncTo(length int64) (bool, error) {
	if err := f.fence.check(); err != nil {
		return false, err
	}
	return f.File.SyncTo(length)
}

func (f fencedFile) Preallocate(at, length int64) error {
	if err := f.fence.check(); err != nil {
		return err
	}
	return f.File.Preallocate(at, length)
}
