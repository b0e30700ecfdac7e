package deadletter

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/journal"
)

// Options say how to open a store. The zero value is usable.
type Options struct {
	FS       vfs.FS // default: the disk
	MaxBytes int64  // bytes on disk at which the oldest letters go; default 256 MiB, least 64 KiB
	MaxRaw   int    // bytes of a raw record that are kept; default 1 MiB

	// MaxAge is how long letters are kept, by their processing time; 0 = for ever. They go in runs of an eighth of that.
	MaxAge time.Duration
}

// Store is the writer's side: one a directory. Safe for use by several goroutines.
type Store struct {
	dir  string
	opts Options

	mu      sync.Mutex
	journal *journal.Journal // nil while it cannot be opened again
	next    uint64           // then, what its Next was
	counts  counts
	aside   []string
	err     error

	began  int64            // processing time of the first letter of the active segment, ms; 0: there is none
	newest map[uint64]int64 // processing time of the last letter of older segments, by their first number
}

// Stats describe a store.
type Stats struct {
	Letters uint64 // that can be read: neither given up nor purged
	Bytes   int64  // on disk
	First   uint64 // lowest number that may still be there
	Next    uint64 // number of the next letter
	Dropped uint64 // letters given up for room or age, ever
}

// Open opens the store in dir, which is created if need be.
func Open(dir string, opts Options) (*Store, error) {
	if opts.FS == nil {
		opts.FS = vfs.Default
	}
	if opts.MaxBytes == 0 {
		opts.MaxBytes = 256 << 20
	}
	opts.MaxBytes = max(opts.MaxBytes, 64<<10)
	if opts.MaxRaw == 0 {
		opts.MaxRaw = 1 << 20
	}
	s := &Store{dir: dir, opts: opts, newest: map[uint64]int64{}}
	if err := s.open(); err != nil {
		return nil, err
	}
	return s, nil
}

// open opens the files, the first time or after a failure.
func (s *Store) open() error {
	var j *journal.Journal
	for {
		var err error
		j, err = journal.Open(s.dir, journal.Options{
			FS: s.opts.FS, Sync: journal.SyncCommit, SegmentSize: min(max(s.opts.MaxBytes/16, 4<<10), 16<<20),
		})
		if err == nil {
			break
		}
		if !errors.Is(err, state.BadJournal) {
			return err
		}
		if err := s.setAside(err); err != nil {
			return err
		}
	}
	c, err := readCounts(s.opts.FS, s.dir)
	if err == nil {
		// An eviction that a crash cut short has been counted.
		err = j.Truncate(c.below)
	}
	if err != nil {
		_ = j.Close()
		return err
	}
	s.journal, s.counts = j, c
	return nil
}

// setAside renames the segment that why speaks of.
func (s *Store) setAside(why error) error {
	var damaged *state.Error
	if !errors.As(why, &damaged) {
		return why
	}
	if err := s.opts.FS.Rename(damaged.Path, damaged.Path+".damaged"); err != nil {
		return state.Classify(err, damaged.Path, "set a damaged file aside")
	}
	s.aside = append(s.aside, damaged.Path+".damaged")
	return nil
}

// SetAside is the files that Open found damaged and renamed: worth a warning, and a look.
func (s *Store) SetAside() []string { return slices.Clone(s.aside) }

// Next is the number of the next letter: the pipeline goes on delivering from here.
func (s *Store) Next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return s.next
	}
	return s.journal.Next()
}

// Append writes letters and returns when they are on the disk. After an error the same call may be made again. The first one has the given number, and the others follow; those that are
// there already are passed over. 0 means the next free number. A number beyond the next leaves a gap: the directory was emptied by
// somebody meanwhile.
func (s *Store) Append(first uint64, letters []Letter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil { // the disk was full, perhaps, and is not any more; what was written then is found out by looking
		if s.journal != nil {
			s.next = s.journal.Next()
			_ = s.journal.Close()
			s.journal = nil
		}
		if err := s.open(); err != nil {
			return err
		}
		s.err = nil
	}
	if next := s.journal.Next(); first == 0 {
		first = next
	} else if first > next {
		if err := s.journal.Skip(first); err != nil {
			return s.fail(err)
		}
	}
	var buf []byte
	now := int64(0)
	for i := range letters {
		if first+uint64(i) < s.journal.Next() {
			continue
		}
		l := letters[i]
		now = max(now, l.ProcessingTime)
		l.RawLength = max(l.RawLength, int64(len(l.Raw)))
		l.Raw = l.Raw[:min(len(l.Raw), s.opts.MaxRaw)]
		buf = l.AppendTo(buf[:0])
		if _, err := s.journal.AppendEvent(buf); err != nil {
			return s.fail(err)
		}
	}
	if err := s.journal.Sync(); err != nil {
		return s.fail(err)
	}
	if s.began == 0 {
		s.began = now
	}
	return s.makeRoom(now)
}

// Expire gives up what is older than MaxAge at a processing time in ms. Append does so too, by the times of its letters.
func (s *Store) Expire(now int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil
	}
	return s.makeRoom(now)
}

func (s *Store) fail(err error) error {
	s.err = err
	return err
}

// makeRoom gives up the oldest segments while there are too many bytes, and those that are too old. What is given up is counted before it is
// removed.
func (s *Store) makeRoom(now int64) error {
	maxAge := s.opts.MaxAge.Milliseconds()
	if maxAge > 0 && s.began != 0 && now-s.began > maxAge/8 {
		if err := s.journal.Seal(); err != nil {
			return s.fail(err)
		}
		s.began = 0
	}
	segments, size, n := s.journal.Segments(), s.journal.Size(), 0
	for n+1 < len(segments) {
		if size <= s.opts.MaxBytes {
			if maxAge == 0 {
				break
			}
			newest, err := s.newestOf(segments[n])
			if err != nil {
				return err
			}
			if now-newest <= maxAge {
				break
			}
		}
		size -= segments[n].Size
		n++
	}
	if n == 0 {
		return nil
	}
	purged, err := readPurged(s.opts.FS, s.dir)
	if err != nil {
		return err
	}
	next := s.counts
	for _, seg := range segments[:n] {
		err := read(s.opts.FS, s.dir, seg, func(l Letter) error {
			if !purged.has(l.Number) {
				next.dropped++
			}
			return nil
		})
		if err != nil && !errors.Is(err, state.BadJournal) { // what cannot be read was lost already
			return err
		}
	}
	for _, seg := range segments[:n] {
		delete(s.newest, seg.First)
	}
	next.below = segments[n].First
	if err := writeCounts(s.opts.FS, s.dir, next); err != nil {
		return err
	}
	s.counts = next
	return s.journal.Truncate(next.below)
}

// newestOf is the processing time of a segment's last letter. One that cannot be read is as old as can be.
func (s *Store) newestOf(seg journal.Segment) (int64, error) {
	if t, ok := s.newest[seg.First]; ok {
		return t, nil
	}
	t := int64(math.MinInt64 / 2)
	err := read(s.opts.FS, s.dir, seg, func(l Letter) error {
		t = max(t, l.ProcessingTime)
		return nil
	})
	if err != nil && !errors.Is(err, state.BadJournal) {
		return 0, err
	}
	s.newest[seg.First] = t
	return t, nil
}

// Dropped is how many letters were given up for room or age, ever.
func (s *Store) Dropped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts.dropped
}

// Close closes the files.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return nil
	}
	return s.journal.Close()
}

// counts is what COUNTS says.
type counts struct {
	dropped uint64 // letters given up for room or age
	below   uint64 // all segments that hold only lower numbers are given up
}

const (
	countsName   = "COUNTS"
	countsFormat = "dropped %d, all below %d\n"
)

func readCounts(fs vfs.FS, dir string) (c counts, err error) {
	text, err := readFile(fs, dir, countsName)
	if err != nil || text == "" {
		return c, err
	}
	if _, err := fmt.Sscanf(text, countsFormat, &c.dropped, &c.below); err != nil {
		return counts{}, nil // a count is not worth a pipeline
	}
	return c, nil
}

func writeCounts(fs vfs.FS, dir string, c counts) error {
	return writeFile(fs, dir, countsName, fmt.Sprintf(countsFormat, c.dropped, c.below))
}
