package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/baseline"
	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
)

// prepared is a workload with its input and what is to come of it.
type prepared struct {
	workload.Workload
	path  string // of the input; "" if the source makes it
	bytes int64
	Truth Truth
}

// Truth is what the baseline has found, and how long one thread took for it.
type Truth struct {
	Digest  baseline.Digest `json:"digest"`
	Seconds float64         `json:"seconds"`
	Reused  bool            `json:"reused,omitempty"` // the seconds are those of an earlier day
}

// prepare makes the input and its truth, unless dir has them.
func (b *bencher) prepare(w workload.Workload) (*prepared, error) {
	p := &prepared{Workload: w}
	if w.Way != workload.FromGenerator {
		p.path = filepath.Join(b.dir, w.Input.FileName())
		if err := b.input(p); err != nil {
			return nil, fmt.Errorf("%s: write the input: %w", w.Name, err)
		}
	}
	return p, b.truth(p)
}

func (b *bencher) input(p *prepared) error {
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		b.tell("%s: write %d lines", p.Name, p.Input.Lines)
		if err := writeAside(p.path, p.Input.Write); err != nil {
			return err
		}
		info, err = os.Stat(p.path)
	}
	if err != nil {
		return err
	}
	p.bytes = info.Size()
	return nil
}

// writeAside writes a file under another name first, so that half of one is never taken for one.
func writeAside(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // nothing is there any more when all goes well
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// truth finds out what is to come of an input, or remembers it.
func (b *bencher) truth(p *prepared) error {
	file := filepath.Join(b.dir, fmt.Sprintf("%s.%s-%d-%d-%d.truth.json", p.Input.FileName(), p.Job, p.Size.Milliseconds(), p.Slide.Milliseconds(), p.Gap.Milliseconds()))
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &p.Truth) == nil {
		p.Truth.Reused = true
		return nil
	}
	b.tell("%s: find the truth, on one thread", p.Name)
	runtime.GC()
	begun := time.Now()
	if err := p.rows(func(r *baseline.Row) error { p.Truth.Digest.Add(r); return nil }); err != nil {
		return fmt.Errorf("%s: truth: %w", p.Name, err)
	}
	p.Truth.Seconds = time.Since(begun).Seconds()
	data, err := json.Marshal(p.Truth)
	if err != nil {
		return err
	}
	return writeAside(file, func(w io.Writer) error { _, err := w.Write(data); return err })
}

// rows gives the right rows, by the baseline.
func (p *prepared) rows(f func(*baseline.Row) error) (err error) {
	in, err := p.open()
	if err != nil {
		return err
	}
	defer in.Close()
	emit := func(r baseline.Row) {
		if p.Job == workload.Count {
			r.Sum, r.Min, r.Max = 0, 0, 0
		}
		if p.Job == workload.Sessions {
			r.Sum, r.Min, r.Max = 0, 0, 0
		}
		if err == nil {
			err = f(&r)
		}
	}
	var read error
	switch {
	case p.Job == workload.Stateless:
		read = baseline.Stateless(in, emit)
	case p.Gap > 0:
		read = baseline.Sessions(in, p.Gap.Milliseconds(), p.Bound().Milliseconds(), emit)
	case p.Slide > 0:
		read = baseline.Sliding(in, p.Size.Milliseconds(), p.Slide.Milliseconds(), emit)
	default:
		read = baseline.Totals(in, p.Size.Milliseconds(), p.Bound().Milliseconds(), emit)
	}
	return errors.Join(read, err)
}

// open opens the input, or a pipe with what the source will make.
func (p *prepared) open() (io.ReadCloser, error) {
	if p.path != "" {
		return os.Open(p.path)
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(p.Input.Write(w)) }() // ends with the pipe
	return r, nil
}

// check compares results with the truth, and says in words what is wrong.
func (p *prepared) check(output string) (digest baseline.Digest, wrong string, err error) {
	results := func(f func(*baseline.Row) error) error { return readOutput(output, f) }
	if err := results(func(r *baseline.Row) error { digest.Add(r); return nil }); err != nil {
		return digest, err.Error(), nil
	}
	if digest == p.Truth.Digest {
		return digest, "", nil
	}
	wrong = fmt.Sprintf("%d results over %d records, not %d over %d", digest.Rows, digest.Records, p.Truth.Digest.Rows, p.Truth.Digest.Records)
	differences, err := baseline.Diff(p.rows, results, 5)
	for _, d := range differences {
		wrong += "\n  " + d
	}
	return digest, wrong, err
}
