package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errFenced is what a database gets that is given up.
var errFenced = errors.New("the store is broken, its files are fenced off")

// fence is a file system that can be closed for changes for good. A database that met a fatal error cannot be closed in order; its
// goroutines may live on. Behind the fence they can neither write nor remove a file, so the directory may be opened again beside them.
type fence struct {
	vfs.FS
	health *health
}

func (f fence) check() error {
	if f.health.fenced.Load() {
		return errFenced
	}
	return nil
}

func (f fence) file(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".log") {
		return fencedLog{fencedFile{file, f}}, nil
	}
	return fencedFile{file, f}, nil
}

func (f fence) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name, c)
	return f.file(name, file, err)
}

func (f fence) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenReadWrite(name, c, o...)
	return f.file(name, file, err)
}

func (f fence) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	file, err := f.FS.ReuseForWrite(from, to, c)
	return f.file(to, file, err)
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

// OpenDir watches over the syncing of directories: the database panics when that fails, on goroutines of its own.
func (f fence) OpenDir(name string) (vfs.File, error) {
	d, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return fencedDir{d, f, name}, nil
}

// fencedDir is a directory opened for syncing. A failing sync, or one behind the fence, breaks the store and ends the goroutine, as a
// fatal error does.
type fencedDir struct {
	vfs.File
	fence fence
	name  string
}

func (d fencedDir) Sync() error {
	err := d.fence.check()
	if err == nil {
		err = d.File.Sync()
	}
	if err != nil {
		d.fence.health.fail(fmt.Errorf("sync directory %s: %w", d.name, err))
		runtime.Goexit()
	}
	return nil
}

// Lock gives the database a lock that is none: the store holds the real one.
func (f fence) Lock(string) (io.Closer, error) { return noLock{}, nil }

type noLock struct{}

func (noLock) Close() error { return nil }

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

// fencedLog is a write-ahead log. When it cannot be written, the database panics; at the end of a log it does so without its lock, which a
// deferred call then unlocks once more, and that ends the whole process whatever recovers the panic. So a failure breaks the store, and the
// database never hears of it: its goroutine stays where it is. [health.run] sends the caller on. While the database is being opened it
// takes the error in order, and gets it.
type fencedLog struct{ fencedFile }

func (f fencedLog) failed(err error) error {
	if err == nil || f.fence.health.opening.Load() {
		return err
	}
	f.fence.health.fail(fmt.Errorf("write the log of the state: %w", err))
	select {}
}

func (f fencedLog) Write(p []byte) (int, error) {
	n, err := f.fencedFile.Write(p)
	return n, f.failed(err)
}

func (f fencedLog) Sync() error { return f.failed(f.fencedFile.Sync()) }

func (f fencedLog) SyncData() error { return f.failed(f.fencedFile.SyncData()) }

func (f fencedLog) SyncTo(length int64) (bool, error) {
	full, err := f.fencedFile.SyncTo(length)
	return full, f.failed(err)
}
