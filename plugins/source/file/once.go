package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/plugins/framing"
	"github.com/tidemark-stream/tidemark/sdk"
)

// maxOpen is how many files are read side by side; the others wait for one of them to end.
const maxOpen = 64

// job is a file that is to be read to its end.
type job struct {
	path string
	g    *generation
	part *sdk.Partition[[]byte] // nil until it has been made
	r    *reader                // nil until it is open
	held func() bool            // the partition's
}

// once reads every file to its end.
func (s *source) once(ctx context.Context, out *sdk.SourceContext[[]byte], cat *catalog) error {
	jobs, total, err := s.jobs(cat)
	if err != nil {
		return err
	}
	defer func() {
		for _, j := range jobs {
			if j.r != nil {
				j.r.close()
			}
		}
	}()
	if err := endMissing(out, cat); err != nil {
		return err
	}
	if s.Read == "together" {
		for _, j := range jobs {
			j.begin(out)
		}
	}
	side := maxOpen
	if s.Read == "in_order" {
		side = 1
	}
	p := newProgress(s.Logger(), total, len(jobs), time.Now())
	for first := 0; ; {
		for first < len(jobs) && jobs[first].g.ended {
			first++
		}
		change := out.HoldsChange()
		j, held := least(jobs[first:], side)
		if j == nil && !held {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if j == nil { // sources with older records come first
			select {
			case <-change:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if j.r == nil {
			if err := s.openJob(out, j); err != nil {
				return err
			}
		}
		before := j.r.pos
		if err := s.advance(j); err != nil {
			return err
		}
		if j.g.ended {
			j.r.close()
			p.file()
		}
		p.read(j.r.pos-before, time.Now())
		out.Env.Count("bytes_read_total", "bytes read of files, before they are unpacked", float64(j.r.pos-before))
	}
}

// jobs are the files that have something to read, in order, and how many bytes that is.
func (s *source) jobs(cat *catalog) (jobs []*job, total int64, err error) {
	files, err := s.expand()
	if err != nil {
		return nil, 0, sdk.Permanent(err)
	}
	if len(files) == 0 {
		return nil, 0, sdk.Permanent(fmt.Errorf("no file matches %s", strings.Join(s.Path, ", ")))
	}
	seen := map[id]bool{}
	for _, file := range files {
		if name := idOf(file.info); name != (id{}) {
			if seen[name] {
				continue // a second name of a file
			}
			seen[name] = true
		}
		c, err := openCandidate(file.path)
		if err != nil {
			return nil, 0, sdk.Permanent(err)
		}
		g := cat.find(c)
		_ = c.f.Close()
		if g == nil {
			g = cat.add(file.path)
		}
		g.taken = true
		if g.known && g.ended && (g.at.Packed || c.size == g.at.Offset) {
			continue // read in an earlier run
		}
		g.ended = false
		jobs = append(jobs, &job{path: file.path, g: g})
		total += c.size
		if !g.at.Packed {
			total -= g.at.Offset
		}
	}
	return jobs, total, nil
}

// endMissing ends the partitions of files that are gone, so that time does not wait for them.
func endMissing(out *sdk.SourceContext[[]byte], cat *catalog) error {
	for _, g := range cat.list {
		if g.taken || g.ended {
			continue
		}
		out.Logger().Warn("a file is gone that was not read to its end", "path", g.path, "offset", g.at.Offset)
		g.ended = true
		if err := out.Partition(g.name).End(); err != nil {
			return err
		}
	}
	return nil
}

// least is the job, among the first side that have not ended, of which the least has been read; those that are held (max_drift) are left
// alone. If all of several are held, a later one is taken: it may be what they wait for. held says that there are jobs and none may be read.
func least(jobs []*job, side int) (best *job, held bool) {
	n := 0
	for _, j := range jobs {
		if j.g.ended {
			continue
		}
		n++
		switch {
		case j.held != nil && j.held():
			held = true
		case best == nil || j.offset() < best.offset():
			best = j
		}
		if n >= side && (best != nil || side == 1) {
			break
		}
	}
	return best, held && best == nil
}

// offset is how much has been sent of a job's file, in this run and before.
func (j *job) offset() int64 {
	if j.r != nil {
		return j.r.st.Place().Offset
	}
	return j.g.at.Offset
}

// begin makes the job's partition.
func (j *job) begin(out *sdk.SourceContext[[]byte]) {
	j.part = out.Partition(j.g.name)
	j.held = j.part.Held
}

func (s *source) openJob(out *sdk.SourceContext[[]byte], j *job) error {
	c, err := openCandidate(j.path)
	if err != nil {
		return err
	}
	if j.part == nil {
		j.begin(out)
	}
	j.r, err = s.newReader(c, j.g, j.part)
	return err
}

// advance reads a batch.
func (s *source) advance(j *job) error {
	end, err := j.r.turn()
	if err != nil {
		broken, err := j.r.broken(s.Logger(), j.path, err)
		if err != nil {
			if errors.Is(err, os.ErrClosed) {
				return err
			}
			return fmt.Errorf("read %s: %w", j.path, err)
		}
		if broken {
			return j.r.finish(framing.RejectLast)
		}
	}
	if end {
		return j.r.finish(framing.KeepLast)
	}
	return nil
}
