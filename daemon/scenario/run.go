package scenario

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Settings is what cases are run with.
type Settings struct {
	Open Open
	Only *regexp.Regexp // names of the cases to run; nil: all
}

// Result is what became of a file's cases.
type Result struct {
	File  string       `json:"file"`
	Cases []CaseResult `json:"cases"`
}

// CaseResult is what became of a case.
type CaseResult struct {
	Name     string        `json:"name"`
	Place    string        `json:"place"` // file:line:col
	Passed   bool          `json:"passed"`
	Seconds  float64       `json:"seconds"`
	Failures []Mismatch    `json:"failures,omitempty"`
	Error    string        `json:"error,omitempty"` // the pipeline failed, or a step could not be done
	took     time.Duration // of the real clock
}

// Mismatch is an expectation that did not come true.
type Mismatch struct {
	Component string   `json:"component"`
	Place     string   `json:"place"`
	Step      int      `json:"step"` // from 1; 0: at the end of the case
	Order     Order    `json:"order"`
	Expected  []string `json:"expected"`
	Actual    []string `json:"actual"`
	lines     []line
}

// Run checks a file of cases against its pipeline and runs them. The list holds what is wrong in either file; with errors in it nothing was
// run. ctx ends the run between two steps.
func Run(ctx context.Context, path string, set Settings) (*Result, problem.List) {
	doc, list := config.LoadDocument(path)
	if doc == nil {
		return nil, list
	}
	f, list := read(path, doc, list)
	if list.Err() != nil {
		return nil, list
	}
	r := &reader{doc: doc, list: list}
	first, problems := build(f.Pipeline, f.Env, nil, set.Open)
	r.list.Append(problems)
	if first == nil {
		return nil, r.list
	}
	copies := r.copies(f, first.config)
	r.fit(f, first.plan)
	if r.list.Err() != nil {
		return nil, r.list
	}
	t, problems := build(f.Pipeline, f.Env, copies, set.Open)
	if t == nil {
		r.list.Append(problems)
		return nil, r.list
	}
	result := &Result{File: path}
	for _, c := range f.Cases {
		if set.Only != nil && !set.Only.MatchString(c.Name) {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		result.Cases = append(result.Cases, runCase(ctx, t, c))
	}
	return result, r.list
}

// Failed counts the cases that failed.
func (r *Result) Failed() int {
	n := 0
	for _, c := range r.Cases {
		if !c.Passed {
			n++
		}
	}
	return n
}

// runCase runs one case in a world of its own.
func runCase(ctx context.Context, t *tested, c *Case) CaseResult {
	begun := clock.System().Now()
	out := CaseResult{Name: c.Name, Place: c.At.String()}
	w := newWorld(t, c.Clock)
	defer w.close()
	e := &execution{world: w, test: c, looked: map[string]bool{}}
	err := e.run(ctx)
	if err != nil {
		out.Error = err.Error()
	}
	out.Failures = e.failures
	out.Passed = err == nil && len(e.failures) == 0
	out.took = clock.System().Now().Sub(begun)
	out.Seconds = out.took.Seconds()
	return out
}

// execution is one run of a case.
type execution struct {
	*world
	test     *Case
	failures []Mismatch
	looked   map[string]bool // components that a step has looked at
}

func (e *execution) run(ctx context.Context) error {
	for source, partitions := range e.test.Partitions {
		for _, p := range partitions {
			e.script(source).add(event{kind: wire.PartitionAdded, partition: p})
		}
	}
	if err := e.start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	for i, s := range e.test.Steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := e.step(i, s); err != nil {
			return fmt.Errorf("step %d (line %d, %s): %w", i+1, s.At.Line, s.Action, err)
		}
	}
	for _, x := range e.test.Expect {
		sink := e.sink(x)
		e.compare(x, 0, e.captures.all(sink))
		e.looked[sink] = false
	}
	// A component that steps look at has nothing more to say than they say.
	for _, s := range e.test.Steps {
		for _, x := range s.Expect {
			sink := e.sink(x)
			if !e.looked[sink] {
				continue
			}
			e.looked[sink] = false
			if rest := e.captures.fresh(sink); len(rest) > 0 {
				e.compare(&Expectation{Component: x.Component, Port: x.Port, At: e.test.At, Order: AsEmitted}, 0, rest)
			}
		}
	}
	return e.captures.check()
}

func (e *execution) step(i int, s *Step) error {
	e.captures.step()
	switch s.Action {
	case Rows:
		return e.rows(s)
	case Watermark:
		return e.say(e.script(s.Source), event{kind: wire.SourceBatch, partition: e.partition(s), marks: []batch.Mark{{Watermark: s.Watermark}}})
	case Advance:
		return e.advance(s.Advance)
	case Idle:
		return e.say(e.script(s.Source), event{kind: wire.PartitionIdle, partition: e.partition(s)})
	case Checkpoint:
		return e.checkpoint()
	case Crash:
		return e.crash()
	case Restart:
		return e.restart()
	case End:
		return e.endStep(s)
	case Expect:
		for _, x := range s.Expect {
			sink := e.sink(x)
			e.looked[sink] = true
			e.compare(x, i+1, e.captures.fresh(sink))
		}
	}
	return nil
}

func (e *execution) partition(s *Step) string {
	if s.Partition != "" {
		return s.Partition
	}
	return e.script(s.Source).defaultPartition()
}

func (e *execution) rows(s *Step) error {
	src := e.tested.plan.Source(s.Source)
	ev := event{kind: wire.SourceBatch, partition: e.partition(s)}
	if src.Decode == nil {
		ev.cells = cells(src.Fields, s.Rows)
	}
	for _, row := range s.Rows {
		text, err := encodeRow(src, row)
		if err != nil {
			return err
		}
		if src.Decode != nil {
			ev.rows = append(ev.rows, text)
		}
	}
	for _, t := range s.Times {
		ms, _ := momentOf(t)
		ev.times = append(ev.times, ms)
	}
	if ev.times == nil && src.Rule == plan.SourceTime {
		for range s.Rows {
			ev.times = append(ev.times, batch.NoTimestamp)
		}
	}
	return e.say(e.script(s.Source), ev)
}

func (e *execution) endStep(s *Step) error {
	if s.Partition != "" {
		return e.endPartition(e.script(s.Source), s.Partition)
	}
	for _, sc := range e.scripts {
		if (s.Source == "" || s.Source == sc.name) && !sc.ended {
			if err := e.end(sc); err != nil {
				return err
			}
		}
	}
	return nil
}

// sink is where the rows of an expectation are found.
func (e *execution) sink(x *Expectation) string {
	if x.Port == "" {
		for _, s := range e.tested.plan.Sinks {
			if s.Name == x.Component {
				return s.Name
			}
		}
	}
	return copyName(x.Component, x.Port)
}

// compare notes a failure when the rows are not the expected ones.
func (e *execution) compare(x *Expectation, step int, actual []string) {
	order := x.Order
	if order == AsEmitted && e.tested.mixed(e.sink(x)) {
		order = AnyOrder
	}
	expected := make([]expectedRow, len(x.Rows))
	for i, v := range x.Rows {
		expected[i] = newExpected(v)
	}
	lines, same := compare(expected, actual, order)
	if same {
		return
	}
	m := Mismatch{Component: x.Name(), Place: x.At.String(), Step: step, Order: order, Actual: actual, Expected: []string{}, lines: lines}
	if m.Actual == nil {
		m.Actual = []string{}
	}
	for _, row := range expected {
		m.Expected = append(m.Expected, row.text)
	}
	e.failures = append(e.failures, m)
}
