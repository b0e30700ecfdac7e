package file

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/tidemark-stream/tidemark/plugins/framing"
	"github.com/tidemark-stream/tidemark/plugins/source/stream"
)

// tail is a generation that is being followed.
//
//	reading ──end met──▶ waiting ──more──▶ reading
//	   │                    │
//	   └──────┬─────────────┘
//	          ├─ emptied or overwritten, a copy goes on ──▶ draining the copy ──end met──▶ ended
//	          ├─ emptied or overwritten, no copy ──▶ ended
//	          └─ renamed or deleted, and silent for rotate_wait ──▶ ended
type tail struct {
	g    *generation
	r    *reader
	path string // where the file is now

	waiting  bool        // the end was met, and nothing has come since
	guard    fingerprint // waiting: what stood before the end
	heard    time.Time   // when something came last
	gone     time.Time   // since when the path leads elsewhere; zero: it does not
	draining bool        // the rest is read from a copy
}

// turnsInARow keeps one busy file from starving the others.
const turnsInARow = 8

// work reads what there is, up to a few batches. busy means that there may be more. The generation may have ended afterwards.
func (f *follower) work(t *tail) (busy bool, err error) {
	if t.waiting && !t.draining {
		if guard, ok := guardOf(t.r.f, t.r.pos); !ok || guard != t.guard {
			return true, f.replaced(t)
		}
	}
	for range turnsInARow {
		before := t.r.pos
		end, err := t.r.turn()
		if t.r.pos > before {
			t.heard, t.waiting = f.now(), false
			f.out.Env.Count("bytes_read_total", "bytes read of files, before they are unpacked", float64(t.r.pos-before))
		}
		if err != nil {
			return false, f.failed(t, err)
		}
		if end {
			return f.endMet(t)
		}
	}
	return true, nil
}

// failed handles an error of reading: a damaged file ends, everything else is for the pipeline.
func (f *follower) failed(t *tail, err error) error {
	var sending *stream.SendError
	if errors.As(err, &sending) {
		return err
	}
	if _, err := t.r.broken(f.Logger(), t.path, err); err != nil {
		return fmt.Errorf("read %s: %w", t.path, err)
	}
	return t.r.finish(framing.RejectLast)
}

// endMet sends whole records at once, since nobody knows when more comes.
func (f *follower) endMet(t *tail) (busy bool, err error) {
	switch {
	case t.r.packed != nil: // a compressed file is complete when it appears
		return true, t.r.finish(framing.KeepLast)
	case t.draining:
		return true, t.r.finish(framing.KeepLast)
	}
	if err := t.r.st.Flush(); err != nil {
		return false, err
	}
	t.waiting, t.guard = true, t.r.guard(t.r.pos)
	if now, ok := guardOf(t.r.f, t.r.pos); !ok || now != t.guard {
		return true, f.replaced(t)
	}
	silent := f.now().Sub(t.heard)
	if !t.gone.IsZero() && f.now().Sub(t.gone) >= f.RotateWait && silent >= f.RotateWait {
		f.Logger().Debug("a rotated file has been read", "path", t.path, "partition", t.g.name)
		return true, t.r.finish(framing.KeepLast)
	}
	return false, nil
}

// replaced handles a file that was emptied, or whose contents are others than what was read. If the old contents were copied elsewhere,
// they are read on from there; an unfinished record is read again with them.
func (f *follower) replaced(t *tail) error {
	files, err := f.expand() // a copy is made just before its original is emptied
	if err != nil {
		f.tell(err)
	}
	for _, other := range files {
		if !t.g.known || idOf(other.info) == t.r.id || !siblings(other.path, t.path) {
			continue
		}
		c, err := openCandidate(other.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if f.owner(c.id) != nil || !c.continues(t.g.at) {
			_ = c.f.Close()
			continue
		}
		f.Logger().Debug("a file was copied and emptied; its rest is read from the copy", "path", t.path, "copy", c.path)
		r, err := f.newReader(c, t.g, t.r.part)
		if err != nil {
			return err
		}
		t.r.close()
		t.r, t.path, t.waiting, t.draining = r, c.path, false, true
		return nil
	}
	f.Logger().Debug("a file was emptied", "path", t.path, "partition", t.g.name)
	return t.r.finish(framing.RejectLast)
}
