package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Replay is a pipeline that has been given whole files, record by record, and then stands still, so that it can be asked what it did and
// what it waits for. Its sources have not ended. Use New, then Feed, then the questions; Close at the end.
type Replay struct {
	world *world
	plan  *plan.Plan
	watch []*WindowQuestion

	// Filled by the pipeline's goroutines while it is fed, read when it stands still.
	inputs map[string]*input // by source
	rises  []rise
	late   []lateRow
	seen   int
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
}

// rise is a record that has moved a source's watermark.
type rise struct {
	at        int // when, counted in batches
	source    string
	file      *fed
	row       int
	watermark int64
}

// lateRow is a record that was late for a step.
type lateRow struct {
	step      string
	source    string
	file      *fed
	row       int
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
	r := &Replay{world: newWorld(t, DefaultClock), plan: t.plan, inputs: map[string]*input{}}
	r.world.trace, r.world.late = r.trace, r.lateRows
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
	f := &fed{path: path, first: 1, rows: rows, times: make([]int64, len(rows)), bad: map[int]batch.BadRow{}, newest: -1}
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
	r.seen++
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
			r.rises = append(r.rises, rise{at: r.seen, source: source, file: f, row: int(b.RowPosition(int(m.After) - 1)), watermark: m.Watermark})
		}
	}
	for _, q := range r.watch {
		q.look(r.plan, source, f, b)
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
	source := r.plan.Sources[b.Source].Name
	f := r.fileOf(source, b.Partition)
	if f == nil {
		return
	}
	for _, row := range rows {
		r.late = append(r.late, lateRow{step: step, source: source, file: f, row: int(b.RowPosition(int(row))), watermark: watermark})
	}
}

// WindowQuestion asks why a window of a key has given no result. Ask it before Feed, so that its records can be counted.
type WindowQuestion struct {
	Step  string // "" = the only window step
	Key   string // the values of the key fields, with commas
	Start int64  // of the window, ms; of a session: a moment in it

	step    *plan.Step
	times   []int64 // of the key's records
	numbers []int   // of these records
	direct  bool    // the key fields could be read where records are counted
}

// Watch registers a question.
func (r *Replay) Watch(q *WindowQuestion) error {
	var names []string
	for _, s := range r.plan.Steps {
		if s.Window == nil {
			continue
		}
		names = append(names, s.Name)
		if s.Name == q.Step {
			q.step = s
		}
	}
	switch {
	case q.step != nil:
	case q.Step != "":
		return fmt.Errorf("there is no window step %q; %s", q.Step, nearest(q.Step, names))
	case len(names) == 1:
		q.step = r.plan.Step(names[0])
	case len(names) == 0:
		return errors.New("the pipeline has no windows")
	default:
		return fmt.Errorf("which windows are meant? There are those of %s", strings.Join(names, ", "))
	}
	q.Step = q.step.Name
	r.watch = append(r.watch, q)
	return nil
}

// look counts a batch's records of the key.
func (q *WindowQuestion) look(p *plan.Plan, source string, f *fed, b *batch.Batch) {
	if !contains(p.Upstream(q.Step), source) {
		return
	}
	for _, name := range q.step.Window.Keys {
		if b.Column(name) == nil {
			return
		}
	}
	q.direct = true
	for _, i := range rowsOf(b) {
		if keyText(b, q.step.Window.Keys, i) == q.Key && b.Times[i] != batch.NoTimestamp {
			q.times = append(q.times, b.Times[i])
			q.numbers = append(q.numbers, f.first+int(b.RowPosition(i)))
		}
	}
}

// keyText is a row's key as people write it.
func keyText(b *batch.Batch, fields []string, row int) string {
	var parts []string
	for _, name := range fields {
		parts = append(parts, cellText(b, b.Column(name), row))
	}
	return strings.Join(parts, ",")
}

func cellText(b *batch.Batch, c *batch.Column, row int) string {
	if k := c.Kinds[row]; k == batch.String || k == batch.JSON {
		return string(b.Text(c.Bits[row]))
	}
	f, err := format.New(format.Options{})
	if err != nil {
		return ""
	}
	view := b.Fork()
	defer view.Release()
	view.Columns = []batch.Column{*c}
	text, err := f.AppendRow(nil, view, row)
	if err != nil {
		return ""
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil {
		return ""
	}
	return string(m[c.Name])
}

// span is the window that is asked for.
func (q *WindowQuestion) span() (window.Span, error) {
	spec := q.step.Window.Spec
	switch spec.Type {
	case window.Session:
		return q.session()
	case window.Global:
		return spec.Assign(q.Start, nil)[0], nil
	}
	var best *window.Span
	for _, s := range spec.Assign(q.Start, nil) {
		if s.Start == q.Start && (best == nil || s.End > best.End) {
			best = &s
		}
	}
	if best == nil {
		at := "none"
		if all := spec.Assign(q.Start, nil); len(all) > 0 {
			at = moment(all[0].Start)
		}
		return window.Span{}, fmt.Errorf("no window of %s begins at %s; the one around it begins at %s", q.Step, moment(q.Start), at)
	}
	return *best, nil
}

// session is the session around a moment, from the key's records.
func (q *WindowQuestion) session() (window.Span, error) {
	times := append([]int64(nil), q.times...)
	sort.Slice(times, func(i, k int) bool { return times[i] < times[k] })
	gap := q.step.Window.Spec.Gap
	for i := 0; i < len(times); {
		span := window.Span{Start: times[i], End: times[i] + gap}
		for i++; i < len(times) && times[i] <= span.End; i++ {
			span.End = times[i] + gap
		}
		if q.Start >= span.Start && q.Start < span.End {
			return span, nil
		}
	}
	return window.Span{}, fmt.Errorf("no record of the key %s is around %s", q.Key, moment(q.Start))
}

// ParseWindow reads KEY@START, START being RFC 3339 or milliseconds since 1970.
func ParseWindow(text string) (*WindowQuestion, error) {
	i := strings.LastIndexByte(text, '@')
	if i < 0 {
		return nil, fmt.Errorf(`%q is no window: write KEY@START, as in "alice@2026-01-01T12:00:00Z"`, text)
	}
	v := &config.Value{Kind: config.KindString, Str: text[i+1:]}
	ms, ok := momentOf(v)
	if !ok {
		if _, err := fmt.Sscanf(text[i+1:]+"\n", "%d\n", &ms); err != nil {
			return nil, fmt.Errorf("%q is no time: write RFC 3339 or milliseconds since 1970", text[i+1:])
		}
	}
	return &WindowQuestion{Key: text[:i], Start: ms}, nil
}
