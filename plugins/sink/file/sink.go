package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Config is what stands in the component's table; format, template and time_format are the daemon's.
type Config struct {
	sdk.Env
	Path        string        `name:"path" required:"true" help:"the file; its folder must exist"`
	Mode        string        `name:"mode" default:"append" enum:"append,overwrite" help:"what a pipeline that starts from nothing does with a file that is there"`
	Header      string        `name:"header" help:"a line at the beginning of each new file"`
	RotateSize  sdk.Size      `name:"rotate_size" default:"0" help:"a file that has grown to this is renamed and a new one begun; 0 = never"`
	RotateEvery time.Duration `name:"rotate_every" default:"0s" help:"a file that is so old is renamed when rows come; 0s = never"`
	Sync        bool          `name:"sync" default:"true" help:"false leaves it to the system when rows reach the disk: faster, and a power loss may lose rows"`
}

// Validate is called when the pipeline file is read.
func (c *Config) Validate() error {
	switch {
	case strings.HasSuffix(c.Path, string(filepath.Separator)):
		return sdk.BadOption(fmt.Sprintf("%q is a folder; write the name of a file", c.Path), "path")
	case c.RotateSize < 0:
		return sdk.BadOption("negative", "rotate_size")
	case c.RotateEvery < 0:
		return sdk.BadOption("negative", "rotate_every")
	case strings.ContainsAny(c.Header, "\r\n"):
		return sdk.BadOption("a header is one line", "header")
	}
	return nil
}

// Plugin is the sink.
func Plugin() sdk.Plugin {
	return sdk.NewSink("file", "appends rows to a file, each exactly once", sdk.SinkTraits{Delivery: sdk.Transactional, Text: true},
		func(_ context.Context, c Config) (sdk.Sink, error) { return open(c, time.Now) })
}

// sink is an open file. number and length always describe what is safe in it.
type sink struct {
	Config
	now  func() time.Time
	f    *os.File
	book *book // nil for devices and pipes
	at   entry

	// doubtful says that the books may hold an entry that is not in at: writing it has failed.
	doubtful bool
}

var _ sdk.Resumer = (*sink)(nil)

// open opens the file and brings it to where the books say it is.
func open(c Config, now func() time.Time) (*sink, error) {
	s := &sink{Config: c, now: now}
	if err := s.open(); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("file sink: %w", err)
	}
	return s, nil
}

func (s *sink) open() error {
	if st, err := os.Stat(s.Path); err == nil && !st.Mode().IsRegular() {
		if st.IsDir() {
			return fmt.Errorf("%s is a folder", s.Path)
		}
		f, err := os.OpenFile(s.Path, os.O_WRONLY, 0)
		s.f = f
		return err
	}
	var found bool
	var err error
	if s.book, found, err = openBook(s.Path, s.Sync); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no folder %s; make it, or write another path", filepath.Dir(s.Path))
		}
		return err
	}
	mine := found && s.book.last.Store == s.Store() && s.book.last.Component == s.Component()
	if s.at = (entry{Store: s.Store(), Component: s.Component(), Part: s.book.last.Part}); mine {
		s.at = s.book.last
	}
	if err := s.openFile(); err != nil {
		return err
	}
	st, err := s.f.Stat()
	if err != nil {
		return err
	}
	switch size := st.Size(); {
	case mine:
		return s.resume(size)
	case s.Mode == "overwrite":
		s.at.Length = 0
		if err := s.f.Truncate(0); err != nil {
			return err
		}
	default:
		if err := s.mend(size, found); err != nil {
			return err
		}
	}
	return s.book.write(s.at)
}

// openFile opens the file for appending, or makes it.
func (s *sink) openFile() error {
	f, err := os.OpenFile(s.Path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	s.f = f
	if s.at.Began == 0 {
		s.at.Began = s.now().UnixMilli()
	}
	return syncFolder(filepath.Dir(s.Path))
}

// resume cuts what the books do not know of. A file that is shorter was changed by somebody else, or had just been rotated.
func (s *sink) resume(size int64) error {
	switch {
	case size > s.at.Length:
		s.Logger().Info("cut a tail that was not acknowledged", "path", s.Path, "bytes", size-s.at.Length)
		if err := s.f.Truncate(s.at.Length); err != nil {
			return fmt.Errorf("cut the tail of %s: %w", s.Path, err)
		}
		return syncData(s.f)
	case size < s.at.Length:
		if st, err := os.Stat(rotatedPath(s.Path, s.at.Part)); err == nil && st.Size() == s.at.Length {
			s.at.Part++ // a crash came between the renaming and the books
			s.at.Began = s.now().UnixMilli()
		} else {
			s.Logger().Warn("the file is shorter than what was delivered to it: it was moved or cut by something else", "path", s.Path,
				"bytes", size, "delivered", s.at.Length)
		}
		s.at.Length = size
		return s.book.write(s.at)
	}
	return nil
}

// mend sees to the end of a file that this store has not written. An unfinished last line would swallow our first one: if an earlier run of
// a pipeline left it, it is cut, since its row will come again; if it is somebody else's, it gets its line end.
func (s *sink) mend(size int64, ours bool) error {
	s.at.Length = size
	whole, err := wholeLines(s.f, size)
	if err != nil || whole == size {
		return err
	}
	if ours && whole >= s.book.last.Length {
		s.Logger().Info("cut an unfinished last line", "path", s.Path, "bytes", size-whole)
		s.at.Length = whole
		return s.f.Truncate(whole)
	}
	s.Logger().Info("ended an unfinished last line", "path", s.Path)
	s.at.Length++
	_, err = s.f.WriteString("\n")
	return err
}

// wholeLines is the length of r up to its last line feed.
func wholeLines(r io.ReaderAt, size int64) (int64, error) {
	const step = 64 << 10
	buf := make([]byte, step)
	for end := size; end > 0; {
		from := max(0, end-step)
		n, err := r.ReadAt(buf[:end-from], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := strings.LastIndexByte(string(buf[:n]), '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// LastDelivered is what the books say.
func (s *sink) LastDelivered(context.Context) (uint64, error) { return s.at.Number, nil }

// Write appends the rows, and is done when they and the books are safe.
func (s *sink) Write(_ context.Context, rows sdk.Rows) error {
	n := rows.Len()
	if n == 0 {
		return nil
	}
	if s.doubtful {
		if err := s.again(); err != nil {
			return err
		}
	}
	b := rows.Batch
	from := 0
	if rows.First <= s.at.Number { // rows that are in the file already
		if from = int(min(s.at.Number+1-rows.First, uint64(n))); from == n {
			return nil
		}
	}
	data := b.Data[b.Offsets[from]:b.Offsets[n]]
	if s.book == nil {
		if _, err := s.f.Write(data); err != nil {
			return fmt.Errorf("write %s: %w", s.Path, err)
		}
		s.at.Number = rows.First + uint64(n) - 1
		return nil
	}
	if err := s.prepare(); err != nil {
		return err
	}
	length := s.at.Length
	if length == 0 && s.Header != "" {
		data = append(append(make([]byte, 0, len(s.Header)+1+len(data)), s.Header...), append([]byte{'\n'}, data...)...)
	}
	if _, err := s.f.Write(data); err != nil {
		// Half a row must not stay: the disk may be full for long, and the rows come again from their beginning.
		return errors.Join(fmt.Errorf("write %s: %w", s.Path, err), s.f.Truncate(length))
	}
	if s.Sync {
		if err := syncData(s.f); err != nil {
			return errors.Join(fmt.Errorf("sync %s: %w", s.Path, err), s.f.Truncate(length))
		}
	}
	next := s.at
	next.Number, next.Length = rows.First+uint64(n)-1, length+int64(len(data))
	if err := s.book.write(next); err != nil {
		// The rows stay: if the entry is there after all, a crash now would have them counted. See again.
		s.doubtful = true
		return err
	}
	s.at = next
	return nil
}

// again opens everything anew, as a start does, after the books could not be written: what they hold counts. It is written once more, since a
// sync that has failed tells of it only once.
func (s *sink) again() error {
	if err := s.Close(); err != nil {
		s.Logger().Debug("closed after a failure", "path", s.Path, "error", err)
	}
	s.f, s.book = nil, nil
	if err := s.open(); err != nil {
		return fmt.Errorf("open %s again: %w", s.Path, err)
	}
	if err := s.book.write(s.at); err != nil {
		return err
	}
	s.doubtful = false
	return nil
}

// prepare looks whether the file is still the one that was written last, and rotates it when that is due.
func (s *sink) prepare() error {
	mine, err := s.f.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(s.Path); err != nil || !os.SameFile(mine, there) {
		s.Logger().Info("the file was moved away, a new one begins", "path", s.Path)
		return s.next(s.at.Part)
	}
	if size := mine.Size(); size != s.at.Length {
		s.Logger().Warn("the file was changed by something else", "path", s.Path, "bytes", size, "written", s.at.Length)
		s.at.Length = size
	}
	old := s.RotateEvery > 0 && s.now().Sub(time.UnixMilli(s.at.Began)) >= s.RotateEvery
	large := s.RotateSize > 0 && s.at.Length >= int64(s.RotateSize)
	if s.at.Length == 0 || !old && !large {
		return nil
	}
	return s.rotate()
}

// rotate renames the file and begins a new one. The books are told the new name first where it is not the next one, so that a crash after
// the renaming is recognised; see resume.
func (s *sink) rotate() error {
	next := s.at
	for {
		if _, err := os.Lstat(rotatedPath(s.Path, next.Part)); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return fmt.Errorf("rotate: %w", err)
		}
		next.Part++
	}
	if next.Part != s.at.Part {
		if err := s.book.write(next); err != nil {
			return err
		}
		s.at = next
	}
	if err := os.Rename(s.Path, rotatedPath(s.Path, s.at.Part)); err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	return s.next(s.at.Part + 1)
}

// next begins a new file.
func (s *sink) next(part int) error {
	_ = s.f.Close()
	s.at.Part, s.at.Length, s.at.Began = part, 0, 0
	if err := s.openFile(); err != nil {
		return err
	}
	st, err := s.f.Stat()
	if err != nil {
		return err
	}
	s.at.Length = st.Size()
	return s.book.write(s.at)
}

// rotatedPath is what the file of a part is renamed to: results.jsonl becomes results.1.jsonl, then results.2.jsonl.
func rotatedPath(path string, part int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.%d%s", strings.TrimSuffix(path, ext), part+1, ext)
}

// Close closes the file; what Write has taken is safe already.
func (s *sink) Close() error {
	var errs []error
	if s.f != nil {
		errs = append(errs, s.f.Close())
	}
	if s.book != nil {
		errs = append(errs, s.book.close())
	}
	return errors.Join(errs...)
}
