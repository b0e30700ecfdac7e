package file

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/tidemark-stream/tidemark/sdk"
)

// follower follows all files from one goroutine: reading is fast, and nothing needs a lock. It looks again when the system tells of a
// change and, because not every file system does, every Poll.
type follower struct {
	*source
	out *sdk.SourceContext[[]byte]
	cat *catalog
	now func() time.Time

	watcher *fsnotify.Watcher // nil: only Poll
	watched map[string]bool
	tails   []*tail
	files   []found         // of the last look
	done    map[id]look     // files that have nothing for us as long as they look like that
	told    map[string]bool // problems that were logged
	first   bool            // the first look of a source that has never run
}

// follow runs until ctx is done.
func (s *source) follow(ctx context.Context, out *sdk.SourceContext[[]byte], cat *catalog) error {
	f := &follower{source: s, out: out, cat: cat, now: time.Now, watched: map[string]bool{}, done: map[id]look{}, told: map[string]bool{},
		first: len(cat.list) == 0}
	defer f.close()
	events := make(chan fsnotify.Event)
	var failures chan error
	if w, err := fsnotify.NewWatcher(); err == nil {
		f.watcher, events, failures = w, w.Events, w.Errors
	} else {
		s.Logger().Warn("the system does not tell of changed files; they are looked at every "+s.Poll.String(), "error", err)
	}
	tick := time.NewTicker(s.Poll)
	defer tick.Stop()

	again := true
	for {
		if again {
			if err := f.look(); err != nil {
				return err
			}
			again = false
		}
		busy, change := false, f.out.HoldsChange()
		for _, t := range f.tails {
			if t.r.part.Held() { // max_drift: it is left alone, also when it is rotated
				continue
			}
			more, err := f.work(t)
			if err != nil {
				return err
			}
			busy = busy || more
		}
		if f.drop() {
			again = true // a path whose generation has ended may hold the next one
			continue
		}
		if busy {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case e := <-events:
				again = f.matters(e)
			case <-tick.C:
				again = true
			default:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-events:
			again = f.matters(e)
		case <-change:
		case <-failures: // too many events at once: some are lost
			again = true
		case <-tick.C:
			again = true
		}
	}
}

// matters reports whether an event is more than growth of a file that is followed.
func (f *follower) matters(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	if e.Op == fsnotify.Write {
		name := filepath.Clean(e.Name)
		return !slices.ContainsFunc(f.tails, func(t *tail) bool { return filepath.Clean(t.path) == name })
	}
	return true
}

// drop forgets tails whose generations have ended.
func (f *follower) drop() bool {
	n := len(f.tails)
	f.tails = slices.DeleteFunc(f.tails, func(t *tail) bool {
		if t.g.ended {
			t.r.close()
			t.g.tail = nil
		}
		return t.g.ended
	})
	return len(f.tails) < n
}

func (f *follower) close() {
	for _, t := range f.tails {
		t.r.close()
	}
	if f.watcher != nil {
		_ = f.watcher.Close()
	}
}

// owner is the tail that reads a file.
func (f *follower) owner(file id) *tail {
	for _, t := range f.tails {
		if t.r.id == file {
			return t
		}
	}
	return nil
}

// look looks which files there are: new ones, others under known names, known ones under other names.
func (f *follower) look() error {
	files, err := f.expand()
	if err != nil {
		f.tell(err)
	}
	found := 1.0
	if err != nil && len(files)+len(f.tails) == 0 { // a pattern that names no file yet is no fault, a name is
		found = 0
	}
	f.out.Gauge(sdk.Found, "the files that are named are there", found)
	f.files = files
	f.watch()
	there := map[*tail]bool{}
	for _, file := range files {
		if t := f.owner(idOf(file.info)); t != nil {
			// A file with two names keeps the one it was read under.
			if !there[t] || file.path == t.g.path {
				t.path = file.path
			}
			there[t] = true
		}
	}
	for _, t := range f.tails {
		if there[t] && t.path == t.g.path {
			t.gone = time.Time{}
		} else if t.gone.IsZero() {
			t.gone = f.now()
		}
	}
	for _, file := range files {
		name := idOf(file.info)
		if f.owner(name) != nil || file.info.Size() == 0 {
			continue
		}
		if seen, ok := f.done[name]; ok && seen == lookOf(file.info) && name != (id{}) {
			continue
		}
		if err := f.recognise(file); err != nil {
			return err
		}
	}
	f.first = false
	return endMissing(f.out, f.cat)
}

// look is what a change of a file shows in.
type look struct {
	size     int64
	modified time.Time
}

func lookOf(info fs.FileInfo) look { return look{info.Size(), info.ModTime()} }

// tell logs a problem once.
func (f *follower) tell(err error) {
	if !f.told[err.Error()] {
		f.told[err.Error()] = true
		f.Logger().Warn("a file cannot be followed for now", "error", err)
	}
}

// recognise finds out what a file is and follows it if there is something to read in it.
func (f *follower) recognise(file found) error {
	c, err := openCandidate(file.path)
	if err != nil {
		f.tell(err)
		return nil
	}
	c.look = lookOf(file.info)
	packing, err := f.packing(c.f)
	if err != nil {
		f.tell(err)
		return c.f.Close()
	}
	if packing != "" && f.now().Sub(file.info.ModTime()) < f.RotateWait {
		return c.f.Close() // somebody may still be writing it; what is there so far would seem to be cut short
	}
	if g := f.cat.find(c); g != nil {
		if g.ended && (g.at.Packed || c.size == g.at.Offset) {
			return f.pass(c, g)
		}
		return f.start(c, g)
	}
	if g := f.cat.copied(c); g != nil {
		switch {
		case g.tail != nil: // its own file is there; the copy matters when that is emptied
			return f.pass(c, nil)
		case c.size > g.at.Offset:
			return f.start(c, g)
		case !g.ended:
			if err := f.out.Partition(g.name).End(); err != nil {
				return err
			}
			g.ended = true
		}
		return f.pass(c, g)
	}
	if f.cat.copying(c) != nil {
		return f.pass(c, nil)
	}
	if packing != "" && f.cat.packedCopy(c, packing) != nil {
		return f.pass(c, nil)
	}
	g := f.cat.add(file.path)
	if f.first && f.From == "end" {
		if err := g.toEnd(c); err != nil {
			return err
		}
	}
	return f.start(c, g)
}

// pass leaves a file alone until it changes.
func (f *follower) pass(c *candidate, g *generation) error {
	if g != nil {
		g.taken = true
	}
	f.done[c.id] = c.look
	return c.f.Close()
}

func (f *follower) start(c *candidate, g *generation) error {
	r, err := f.newReader(c, g, f.out.Partition(g.name))
	if err != nil {
		return err
	}
	g.ended, g.taken = false, true
	t := &tail{g: g, r: r, path: c.path, heard: f.now()}
	if c.path != g.path {
		t.gone = f.now()
	}
	f.Logger().Debug("following", "path", c.path, "partition", g.name, "offset", g.at.Offset)
	g.tail = t
	f.tails = append(f.tails, t)
	return nil
}

// watch asks the system to tell of changes in all folders that matter. Links lead to other folders.
func (f *follower) watch() {
	if f.watcher == nil {
		return
	}
	want := f.folders()
	for _, file := range f.files {
		want = append(want, filepath.Dir(file.path))
		if real, err := filepath.EvalSymlinks(file.path); err == nil {
			want = append(want, filepath.Dir(real))
		}
	}
	for _, dir := range want {
		if !f.watched[dir] {
			f.watched[dir] = f.watcher.Add(dir) == nil
		}
	}
}

// toEnd puts a new generation at the beginning of the last line that is not complete yet.
func (g *generation) toEnd(c *candidate) error {
	offset, err := lastLineStart(c.f, c.size)
	if err != nil || offset == 0 {
		return err
	}
	g.at.Offset, g.at.ID = offset, c.id
	g.at.Head, _ = headOf(c.f, int(min(offset, headBytes)))
	g.at.Guard, _ = guardOf(c.f, offset)
	g.known = true
	return nil
}
