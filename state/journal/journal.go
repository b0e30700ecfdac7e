package journal

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/daemon/failpoint"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state"
)

// Sync says when records are synced to the disk; see the package's comment.
type Sync string

const (
	SyncCommit Sync = "commit"
	SyncAlways Sync = "always"
	SyncNone   Sync = "none"
	SyncNever  Sync = "never"
)

// lax reports whether a crash of the machine may cost records that commits have counted.
func (s Sync) lax() bool { return s == SyncNone || s == SyncNever }

// Options say how to open a journal. The zero value is usable.
type Options struct {
	FS          vfs.FS // default: the disk
	Sync        Sync   // default: SyncCommit
	SegmentSize int64  // bytes at which a new segment begins; default 64 MiB

	// Committed is the number that the last commit of the pipeline says to go on with, 0 if it says nothing. A journal that ends
	// before it has lost records: with SyncNone and SyncNever the numbers go on behind the gap, otherwise it is an error.
	Committed uint64

	// Hook is called at named places, for tests that end the process there: "journal.append" (a record is written, not synced),
	// "journal.rotate" (a segment is synced and closed, the next not begun) and "journal.truncate" (before a segment is removed). May be
	// nil.
	Hook func(place string)

	ahead int64 // bytes that may wait for the disk before they are sent there beside everything else; default 2 MiB
}

// Journal is a journal open for writing. A failed write or sync breaks it: all further calls answer with the same error, and what is
// safe is found out by opening it again.
type Journal struct {
	dir  string
	opts Options

	// syncing is held while a file is synced, and taken before mu. It makes one sync serve all who wait for it.
	syncing sync.Mutex
	synced  int64 // under syncing (and written under mu too): bytes of the active file on the disk

	mu       sync.Mutex
	segments []Segment // the last one is the active one
	file     vfs.File
	next     uint64
	follows  uint64 // what the next segment to begin says of the one before
	buf      []byte
	err      error

	flushing bool // under mu: a flush is under way
	flushes  sync.WaitGroup

	truncating sync.Mutex // held while segments are removed, and taken before mu
}

// Open opens the journal in dir, which is created if need be, and cuts off a torn tail. Numbers begin at 1. All errors are *state.Error.
func Open(dir string, opts Options) (*Journal, error) {
	if opts.FS == nil {
		opts.FS = vfs.Default
	}
	if opts.Sync == "" {
		opts.Sync = SyncCommit
	}
	if opts.SegmentSize == 0 {
		opts.SegmentSize = 64 << 20
	}
	if opts.Hook == nil {
		opts.Hook = func(string) {}
	}
	if opts.ahead == 0 {
		opts.ahead = 2 << 20
	}
	j := &Journal{dir: dir, opts: opts}
	if err := j.recover(); err != nil {
		return nil, err
	}
	if err := j.begin(); err != nil {
		return nil, state.Classify(err, dir, "begin a segment of the journal")
	}
	return j, nil
}

// recover finds the segments and the next number, and leaves the last segment whole and synced: the next one is to begin behind it.
func (j *Journal) recover() error {
	fs := j.opts.FS
	if err := state.MakeDir(fs, j.dir); err != nil {
		return state.Classify(err, j.dir, "create the journal")
	}
	segments, err := List(fs, j.dir)
	if err != nil {
		return err
	}
	j.next, j.follows = 1, 1
	for last := len(segments) - 1; last >= 0; last-- { // those before a good one are checked when they are replayed
		keep, err := j.mend(&segments[last])
		if err != nil {
			return err
		}
		if keep {
			break
		}
		segments = segments[:last]
	}
	j.segments = segments
	if err := j.believe(); err != nil {
		return err
	}
	if j.next >= j.opts.Committed {
		return nil
	}
	if !j.opts.Sync.lax() {
		return &state.Error{
			Kind: state.BadJournal, Path: j.dir,
			Summary: fmt.Sprintf("the journal ends before record %d, but the state counts on it up to record %d", j.next, j.opts.Committed),
			Hint:    "put the journal back from where it was moved to; a state and its journal belong together",
		}
	}
	j.next = j.opts.Committed
	return nil
}

// mend looks at the last segment and sets j.next and j.follows. keep is false when there was nothing in it and the file is gone.
func (j *Journal) mend(s *Segment) (keep bool, err error) {
	fs := j.opts.FS
	path := fs.PathJoin(j.dir, s.name())
	w, err := walk(fs, j.dir, *s, 0, nil)
	if err != nil {
		return false, err
	}
	j.next, j.follows = w.next, w.next
	if w.next == s.First {
		j.follows = w.follows // no records: the segment will be begun anew
	}
	switch {
	case w.why == damage:
		return false, damaged(fs, j.dir, *s, w.end, "a record is damaged")
	case w.end == 0 && s.Size > headerSize: // headers are synced before frames are written
		return false, damaged(fs, j.dir, *s, 0, "the header is damaged")
	case w.end == 0: // begun, and never written to
		j.next, j.follows = 1, 1
		return false, state.Classify(fs.Remove(path), path, "remove an empty segment of the journal")
	case w.why == torn:
		s.Size = w.end
		return true, state.Classify(cut(fs, j.dir, *s, w.end), path, "cut the torn tail off the journal")
	case j.doubted():
		return true, state.Classify(cut(fs, j.dir, *s, w.end), path, "write the end of the journal again")
	}
	return true, state.Classify(syncFile(fs, path), path, "sync the journal")
}

// doubtName is a file that is there when a sync has failed and what it was about has not been written again. The system tells of such a failure
// once: another sync answers that all is well, though the disk has nothing of what it still shows. Nobody needs the note after a power
// failure, when only what the disk has is shown, so it is not synced.
const doubtName = "UNSYNCED"

// doubt leaves the note. Where not even that can be written there is nothing more to be done about it.
func (j *Journal) doubt() {
	if f, err := j.opts.FS.Create(j.opts.FS.PathJoin(j.dir, doubtName), vfs.WriteCategoryUnspecified); err == nil {
		_ = f.Close()
	}
}

func (j *Journal) doubted() bool {
	_, err := j.opts.FS.Stat(j.opts.FS.PathJoin(j.dir, doubtName))
	return err == nil
}

// believe removes the note: the end of the journal is another file now.
func (j *Journal) believe() error {
	path := j.opts.FS.PathJoin(j.dir, doubtName)
	if err := j.opts.FS.Remove(path); err != nil && !oserror.IsNotExist(err) {
		return state.Classify(err, path, "remove a note")
	}
	return nil
}

// begin starts the segment that the next record goes to. A segment that is there already with that number has no records in it.
func (j *Journal) begin() error {
	fs := j.opts.FS
	s := Segment{First: j.next}
	f, err := fs.Create(fs.PathJoin(j.dir, s.name()), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	header := appendHeader(nil, s.First, j.follows)
	_, err = f.Write(header)
	if j.opts.Sync != SyncNever {
		if err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = syncDir(fs, j.dir)
		}
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	if n := len(j.segments); n > 0 && j.segments[n-1].First == s.First {
		j.segments = j.segments[:n-1]
	}
	s.Size = headerSize
	j.segments, j.file, j.synced = append(j.segments, s), f, headerSize
	return nil
}

// Append writes a batch as a source hands it over (rows, partition, position, rejects, times and marks) and returns its number. The
// batch is only read.
func (j *Journal) Append(b *batch.Batch) (number uint64, err error) {
	return j.append(func(dst []byte) []byte { return appendBatch(dst, b) })
}

// AppendEvent writes something that is not a batch, such as the beginning of a partition. The bytes are the caller's business.
func (j *Journal) AppendEvent(event []byte) (number uint64, err error) {
	return j.append(func(dst []byte) []byte { return append(append(dst, kindEvent), event...) })
}

func (j *Journal) append(encode func([]byte) []byte) (uint64, error) {
	number, file, end, err := j.write(encode)
	if err == nil && j.opts.Sync == SyncAlways {
		err = j.syncTo(file, end)
	}
	return number, err
}

func (j *Journal) write(encode func([]byte) []byte) (number uint64, file vfs.File, end int64, err error) {
	// The active file can only change hands while nobody syncs it. Appending beside a running sync is fine otherwise.
	if j.full() {
		if err := j.rotate(); err != nil {
			return 0, nil, 0, err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return 0, nil, 0, j.err
	}
	active := &j.segments[len(j.segments)-1]
	j.buf = encode(beginFrame(j.buf[:0]))
	if len(j.buf)-frameHeader > MaxRecord {
		return 0, nil, 0, fmt.Errorf("journal: a record of %d bytes is larger than %d", len(j.buf), MaxRecord)
	}
	endFrame(j.buf, j.next, j.synced)
	if _, err := j.file.Write(j.buf); err != nil {
		return 0, nil, 0, j.fail(err, "write")
	}
	j.opts.Hook("journal.append")
	active.Size += int64(len(j.buf))
	if cap(j.buf) > 4<<20 {
		j.buf = nil // one huge record must not pin its size for ever
	}
	j.next++
	if active.Size-j.synced >= j.opts.ahead && !j.flushing && (j.opts.Sync == SyncCommit || j.opts.Sync == SyncNone) {
		j.flushing = true
		file, end := j.file, active.Size
		j.flushes.Go(func() { j.flush(file, end) })
	}
	return j.next - 1, j.file, active.Size, nil
}

// flush sends to the disk what has been written so far, while records go on coming. Else the end of a segment, or the sync of a commit, would
// find all of it waiting, and whoever appends would wait as long as the disk takes for a whole segment. A failure breaks the journal.
func (j *Journal) flush(file vfs.File, end int64) {
	_ = j.syncTo(file, end)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.flushing = false
}

func (j *Journal) full() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err == nil && j.segments[len(j.segments)-1].Size >= j.opts.SegmentSize
}

// rotate syncs and closes the active segment and begins the next, unless somebody else has just done so.
func (j *Journal) rotate() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if j.segments[len(j.segments)-1].Size < j.opts.SegmentSize {
		return nil
	}
	return j.seal(j.next)
}

// Skip makes the next record's number to, which must not be below Next: the numbers between are left out on purpose, and readers will
// not miss them.
func (j *Journal) Skip(to uint64) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.err != nil:
		return j.err
	case to < j.next:
		return fmt.Errorf("journal: skip back from %d to %d", j.next, to)
	case to == j.next:
		return nil
	}
	return j.seal(to)
}

// Seal ends the active segment, so that it can be truncated once nothing needs it. Without records in it it stays.
func (j *Journal) Seal() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil || j.segments[len(j.segments)-1].First == j.next {
		return j.err
	}
	return j.seal(j.next)
}

// seal syncs and closes the active segment and begins one whose first number is first. Both locks are held.
func (j *Journal) seal(first uint64) error {
	var err error
	if j.opts.Sync != SyncNever {
		if err = j.file.Sync(); err != nil {
			j.doubt()
		}
	}
	if closeErr := j.file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		j.opts.Hook("journal.rotate")
		if j.segments[len(j.segments)-1].First != j.next { // else it is empty, and its successor takes its place
			j.follows = j.next
		}
		j.next = first
		failpoint.Hit(failpoint.JournalRotate)
		err = j.begin()
	}
	if err != nil {
		return j.fail(err, "begin a segment of")
	}
	return nil
}

// Sync returns when everything that was appended before the call is on the disk. With SyncNone and SyncNever it does nothing.
func (j *Journal) Sync() error {
	if j.opts.Sync.lax() {
		return nil
	}
	j.mu.Lock()
	file, end, err := j.file, j.segments[len(j.segments)-1].Size, j.err
	j.mu.Unlock()
	if err != nil {
		return err
	}
	return j.syncTo(file, end)
}

// syncTo makes the first end bytes of file safe.
func (j *Journal) syncTo(file vfs.File, end int64) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	err, size := j.err, j.segments[len(j.segments)-1].Size
	done := file != j.file || j.synced >= end // another sync, or the end of the segment, has taken care of it
	j.mu.Unlock()
	if err != nil || done {
		return err
	}
	err = file.SyncData()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.doubt()
		return j.fail(err, "sync")
	}
	j.synced = size
	return nil
}

// fail breaks the journal. j.mu is held.
func (j *Journal) fail(err error, doing string) error {
	if j.err == nil {
		j.err = state.Classify(err, j.dir, doing+" the journal")
	}
	return j.err
}

// Next is the number that the next record gets: everything that was appended is below it.
func (j *Journal) Next() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.next
}

// Segments is the segments there are, oldest first; the last one is being written to.
func (j *Journal) Segments() []Segment {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]Segment(nil), j.segments...)
}

// Size is the number of bytes of all segments.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	size := int64(0)
	for _, s := range j.segments {
		size += s.Size
	}
	return size
}

// Truncate removes segments that hold only records below before. Call it with a number that a commit has made unneeded. Records may be appended
// meanwhile: to remove a large file takes a while.
func (j *Journal) Truncate(before uint64) error {
	j.truncating.Lock()
	defer j.truncating.Unlock()
	for {
		oldest, ok, err := j.unneeded(before)
		if !ok {
			return err
		}
		path := j.opts.FS.PathJoin(j.dir, oldest.name())
		j.opts.Hook("journal.truncate")
		// A file that is gone already was removed before a crash that lost the memory of it.
		if err := j.opts.FS.Remove(path); err != nil && !oserror.IsNotExist(err) {
			return state.Classify(err, path, "remove a segment of the journal")
		}
		j.mu.Lock()
		j.segments = j.segments[1:]
		j.mu.Unlock()
	}
}

// unneeded is the oldest segment, if it holds only records below before and is not the active one.
func (j *Journal) unneeded(before uint64) (oldest Segment, ok bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return Segment{}, false, j.err
	}
	return j.segments[0], len(j.segments) > 1 && j.segments[1].First <= before, nil
}

// Close closes the files, syncing what was appended unless SyncNone or SyncNever. No other call may be under way or follow.
func (j *Journal) Close() error {
	j.flushes.Wait()
	err := j.Sync()
	if closeErr := j.file.Close(); err == nil {
		err = state.Classify(closeErr, j.dir, "close the journal")
	}
	return err
}
