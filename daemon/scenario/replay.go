package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Replay is a pipeline that has been given whole files, record by record, and then stands still, so that it can be asked what it did and
// what it waits for. Its sources have not ended. Use New, then Feed, then the questions; Close at the end.
type Replay struct {
	world *world
	plan  *plan.Plan
	watch []*WindowQuestion

	records map[string]bool // steps whose rows are those of records, see ofRecords

	// Filled by the pipeline's goroutines while it is fed, read when it stands still.
	inputs  map[string]*input // by source
	rises   []rise
	batches int

	mu   sync.Mutex // what steps are seen to do: late, watch's records, and steps of each file
	late []lateRow
}

// input is what has been fed to one source.
type input struct {
	files  []*fed
	byName map[string]*fed
}

// fed is one file, which is one partition.
type fed struct {
	path   string
	first  int     // number of its first record among those of the source, from 1
	times  []int64 // of its records
	bad    map[int]batch.BadRow
	rows   [][]byte
	newest int // the record with the newest time; -1: none

	steps map[string]*passed // by step
}

// rise is a record that has moved a source's watermark.
type rise struct {
	at        int // when, counted in batches
	source    string
	file      *fed
	row       int
	watermark int64
}

// lateRow is a record that was late for a step, or with no file a row of something else, such as a result of windows before.
type lateRow struct {
	step      string
	source    string
	file      *fed
	row       int
	time      int64
	watermark int64
}

// NewReplay reads a pipeline's file and starts it. The list holds what is wrong in the file.
func NewReplay(file string, set Settings) (*Replay, problem.List, error) {
	first, list := build(file, nil, nil, set.Open)
	if first == nil {
		return nil, list, nil
	}
	var copies []port
	for _, s := range first.plan.Steps {
		if s.Window != nil {
			copies = append(copies, port{component: s.Name})
		}
	}
	t, list := build(file, nil, copies, set.Open)
	if t == nil {
		return nil, list, nil
	}
	r := &Replay{world: newWorld(t, DefaultClock), plan: t.plan, inputs: map[string]*input{}, records: map[string]bool{}}
	r.world.trace, r.world.late, r.world.seen = r.trace, r.lateRows, r.seen
	for _, s := range t.plan.Steps {
		r.records[s.Name] = ofRecords(t.plan, s.Name)
	}
	for _, s := range t.plan.Sources {
		r.inputs[s.Name] = &input{byName: map[string]*fed{}}
	}
	if err := r.world.start(); err != nil {
		r.world.close()
		return nil, list, fmt.Errorf("start: %w", err)
	}
	return r, list, nil
}

// Plan is what runs.
func (r *Replay) Plan() *plan.Plan { return r.plan }

// Status is where everything stands.
func (r *Replay) Status() pipeline.Status { return r.world.life.pipeline.Status() }

// Close ends it.
func (r *Replay) Close() { r.world.close() }

// feedRows is how many records go in at a time.
const feedRows = 500

// Input is a file for a source.
type Input struct{ Source, Path string }

// Feed reads files and hands their records to their sources. Each file is a partition of its own, and all are there from the beginning, so
// that one that is read later is not late because of that: its partition holds the watermark until it has begun.
func (r *Replay) Feed(ctx context.Context, inputs ...Input) error {
	var files []*fed
	for _, in := range inputs {
		f, err := r.open(ctx, in)
		if err != nil {
			return err
		}
		files = append(files, f)
		if err := r.world.say(r.world.script(in.Source), event{kind: wire.PartitionAdded, partition: in.Path}); err != nil {
			return err
		}
	}
	for i, in := range inputs {
		script := r.world.script(in.Source)
		for rows := files[i].rows; len(rows) > 0; {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n := min(len(rows), feedRows)
			if err := r.world.say(script, event{kind: wire.SourceBatch, partition: in.Path, rows: rows[:n]}); err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
	return nil
}

// open reads a file.
func (r *Replay) open(ctx context.Context, input Input) (*fed, error) {
	source, path := input.Source, input.Path
	src := r.plan.Source(source)
	if src.Decode == nil {
		return nil, fmt.Errorf("source %s brings records with fields, which no file has", source)
	}
	in := r.inputs[source]
	if in.byName[path] != nil {
		return nil, fmt.Errorf("%s is given twice", path)
	}
	rows, err := r.read(ctx, src, path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	f := &fed{path: path, first: 1, rows: rows, times: make([]int64, len(rows)), bad: map[int]batch.BadRow{}, newest: -1, steps: map[string]*passed{}}
	for i := range f.times {
		f.times[i] = batch.NoTimestamp
	}
	for _, other := range in.files {
		f.first += len(other.rows)
	}
	in.files = append(in.files, f)
	in.byName[path] = f
	return f, nil
}

// read takes a file apart as the file source does: compression, line ends, quoted line breaks.
func (r *Replay) read(ctx context.Context, src *plan.Source, path string) ([][]byte, error) {
	options, err := json.Marshal(map[string]any{"path": []string{path}})
	if err != nil {
		return nil, err
	}
	s, err := r.world.tested.plugins.OpenSource(ctx, wire.SourceOpen{
		Plugin: "file", Options: options, Place: wire.Place{Pipeline: r.plan.Name, Component: src.Name},
		Framing: wire.Framing{Format: src.Framing, MaxRecord: src.MaxRecord},
	}, host.InProcess)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var rows [][]byte
	for {
		ev, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if b := ev.Batch; b != nil {
			for i := range b.N {
				rows = append(rows, bytes.Clone(b.Row(i)))
			}
			b.Release()
		}
		if ev.Kind == wire.SourceEnded {
			return rows, nil
		}
	}
}

// trace notes what a batch has done to its source's watermark.
func (r *Replay) trace(source string, b *batch.Batch) {
	f := r.fileOf(source, b.Partition)
	if f == nil {
		return
	}
	r.batches++
	for i := range b.N {
		row := int(b.RowPosition(i))
		if row >= len(f.times) {
			continue
		}
		f.times[row] = b.Times[i]
		if b.Times[i] != batch.NoTimestamp && (f.newest < 0 || b.Times[i] > f.times[f.newest]) {
			f.newest = row
		}
	}
	for _, bad := range b.Bad {
		f.bad[int(b.RowPosition(int(bad.Row)))] = bad
	}
	for _, m := range b.Marks {
		if m.After > 0 {
			r.rises = append(r.rises, rise{at: r.batches, source: source, file: f, row: int(b.RowPosition(int(m.After) - 1)), watermark: m.Watermark})
		}
	}
}

func (r *Replay) fileOf(source string, partition uint32) *fed {
	in := r.inputs[source]
	if in == nil || int(partition) >= len(in.files) {
		return nil
	}
	return in.files[partition] // files are partitions, in the order in which they were given
}

func (r *Replay) lateRows(step string, b *batch.Batch, rows []uint32, watermark int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.plan.Step(step).Window == nil {
		return // what a dedup step leaves out
	}
	l := lateRow{step: step, watermark: watermark}
	if r.records[step] {
		l.source = r.plan.Sources[b.Source].Name
		l.file = r.fileOf(l.source, b.Partition)
	}
	for _, row := range rows {
		l.time = b.Times[row]
		if l.file != nil {
			l.row = int(b.RowPosition(int(row)))
		}
		r.late = append(r.late, l)
		for _, q := range r.watch {
			if q.step.Name == step && q.has(b, int(row)) {
				q.tooLate(l)
			}
		}
	}
}
