package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// passed is what became of a file's records at one step.
type passed struct {
	in, out []uint32 // rows that came of each record, and rows that went on
	refused map[int]batch.BadRow
}

// ofRecords reports whether a step's rows are records of a source, or made of one each: those behind windows and errors ports are not.
func ofRecords(p *plan.Plan, step string) bool {
	s := p.Step(step)
	for _, in := range s.Inputs {
		from := p.Step(in.From)
		if in.Port == plan.Errors || from != nil && (from.Window != nil && in.Port != plan.Late || !ofRecords(p, from.Name)) {
			return false
		}
	}
	return true
}

// seen notes which records come to which step, and which go on. Steps are watched by several goroutines.
func (r *Replay) seen(component string, passage pipeline.Passage, b *batch.Batch) {
	step := r.plan.Step(component)
	if step == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if passage == pipeline.Entered {
		for _, q := range r.watch {
			if q.step == step {
				q.entered(b)
			}
		}
	}
	if !r.records[component] {
		return
	}
	source := r.plan.Sources[b.Source].Name
	f := r.fileOf(source, b.Partition)
	if f == nil {
		return
	}
	at := f.at(component)
	switch passage {
	case pipeline.Entered:
		for _, i := range rowsOf(b) {
			at.in[b.RowPosition(i)]++
		}
	case pipeline.Left:
		for _, i := range rowsOf(b) {
			at.out[b.RowPosition(i)]++
		}
	case pipeline.Refused:
		for _, bad := range b.Bad {
			at.refused[int(b.RowPosition(int(bad.Row)))] = bad
		}
	}
}

// at is what became of the file's records at a step.
func (f *fed) at(step string) *passed {
	p := f.steps[step]
	if p == nil {
		p = &passed{in: make([]uint32, len(f.rows)), out: make([]uint32, len(f.rows)), refused: map[int]batch.BadRow{}}
		f.steps[step] = p
	}
	return p
}

// way says what the steps have made of a record.
func (r *Replay) way(a *Answer, f *fed, row int) {
	taken, told := false, len(a.Because)
	for _, s := range r.plan.Steps {
		at := f.steps[s.Name]
		if at == nil || at.in[row] == 0 {
			continue
		}
		bad, refused := at.refused[row]
		if refused {
			what := "it"
			if at.in[row] > 1 {
				what = fmt.Sprintf("one of the %d rows made of it", at.in[row])
			}
			a.say("Step %s refused %s (%s): %s.", s.Name, what, bad.Code, bad.Message)
		}
		switch gone := at.out[row] == 0 && !refused; {
		case s.Window != nil:
			late := 0
			for _, l := range r.late {
				if l.file == f && l.row == row && l.step == s.Name {
					if late == 0 {
						r.whyLate(a, l)
					}
					late++
				}
			}
			taken = taken || late < int(at.in[row]) && !refused
		case s.Filter != nil && gone:
			a.say("Step %s left it out: its condition did not hold.", s.Name)
		case s.Dedup != nil && gone:
			a.say("Step %s left it out: one with the same %s had come within %s.", s.Name, strings.Join(s.Dedup.Keys, ", "),
				config.FormatDuration(time.Duration(s.Dedup.Within)*time.Millisecond))
		case s.Unnest != nil && gone:
			a.say("Step %s made no row of it: its list is empty, null or missing.", s.Name)
		case s.Unnest != nil && at.out[row] > 1:
			a.say("Step %s made %d rows of it.", s.Name, at.out[row])
		}
	}
	switch {
	case taken:
		a.say("It was not late.")
	case len(a.Because) == told:
		a.say("It passed every step.")
	}
}
