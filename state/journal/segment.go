package journal

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/state"
)

const suffix = ".seg"

// Segment is a file of a journal: its first number is its name.
type Segment struct {
	First uint64 // number of its first record, or of the one it waits for
	Size  int64  // bytes
}

func (s Segment) name() string { return fmt.Sprintf("%020d%s", s.First, suffix) }

// List finds the segments of a directory, oldest first; it may run beside a writer. Other files (such as one that is being rewritten) are
// left out.
func List(fs vfs.FS, dir string) ([]Segment, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, state.Classify(err, dir, "read the journal")
	}
	var out []Segment
	for _, name := range names {
		number, ours := strings.CutSuffix(name, suffix)
		first, err := strconv.ParseUint(number, 10, 64)
		if !ours || err != nil || len(number) != 20 {
			continue
		}
		info, err := fs.Stat(fs.PathJoin(dir, name))
		if oserror.IsNotExist(err) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, state.Classify(err, fs.PathJoin(dir, name), "read the journal")
		}
		out = append(out, Segment{first, info.Size()})
	}
	slices.SortFunc(out, func(a, b Segment) int { return cmp.Compare(a.First, b.First) })
	return out, nil
}

// walked is what was found in a segment.
type walked struct {
	follows uint64 // of its header; 0 without one
	next    uint64 // the number behind its last whole frame
	end     int64  // where that ends; 0 without a header
	why     ending // why there is no more
}

// walk reads a segment's payloads from a number on.
func walk(fs vfs.FS, dir string, s Segment, from uint64, visit func(number uint64, payload []byte) error) (w walked, err error) {
	path := fs.PathJoin(dir, s.name())
	f, err := fs.Open(path)
	if err != nil {
		return w, state.Classify(err, path, "read the journal")
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = state.Classify(closeErr, path, "read the journal")
		}
	}()
	r, ok, err := newReader(f, s.Size)
	if err != nil {
		return w, state.Classify(err, path, "read the journal")
	}
	if !ok || r.next != s.First {
		// Not even the header is there: the file was just begun, or it is damaged.
		return walked{next: s.First, why: torn}, nil
	}
	for r.frame() {
		if visit != nil && r.next > from {
			if err := visit(r.next-1, r.payload); err != nil {
				return w, err
			}
		}
	}
	return walked{r.follows, r.next, r.offset, r.ending}, state.Classify(r.err, path, "read the journal")
}

// syncFile syncs what an earlier process has written.
func syncFile(fs vfs.FS, path string) error {
	f, err := fs.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// cut shortens a segment to its first bytes: aside, synced, renamed, so that a crash meanwhile finds one or the other.
func cut(fs vfs.FS, dir string, s Segment, to int64) (err error) {
	path := fs.PathJoin(dir, s.name())
	aside := path + ".cut"
	from, err := fs.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	out, err := fs.Create(aside, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(from, 0, to))
	if err == nil {
		err = out.Sync()
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = fs.Remove(aside)
		return err
	}
	if err := fs.Rename(aside, path); err != nil {
		return err
	}
	return syncDir(fs, dir)
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

func damaged(fs vfs.FS, dir string, s Segment, offset int64, what string) error {
	return &state.Error{
		Kind: state.BadJournal, Path: fs.PathJoin(dir, s.name()),
		Summary: fmt.Sprintf("%s at byte %d of the journal", what, offset),
		Hint:    "put the file back from a backup; or, to give up the records from there on, move this file and the later ones away",
	}
}
