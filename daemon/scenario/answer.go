package scenario

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Answer is a headline with sentences under it.
type Answer struct {
	Headline string   `json:"headline"`
	Because  []string `json:"because"`
}

func (a *Answer) say(format string, args ...any) {
	a.Because = append(a.Because, fmt.Sprintf(format, args...))
}

func (a Answer) String() string {
	if len(a.Because) == 0 {
		return a.Headline + "\n"
	}
	return a.Headline + "\n  " + strings.Join(a.Because, "\n  ") + "\n"
}

func moment(ms int64) string { return watermark.FormatTime(ms) }

// Window answers why a window has given no result, or which record made it give one.
func (r *Replay) Window(q *WindowQuestion) (Answer, error) {
	span, err := r.span(q)
	if err != nil {
		return Answer{}, err
	}
	name := fmt.Sprintf("the window of %s for %s", q.Step, or(q.Key, "all records"))
	if span.End != math.MaxInt64 {
		name = fmt.Sprintf("the window [%s, %s) of %s for %s", moment(span.Start), moment(span.End), q.Step, or(q.Key, "all records"))
	}
	a := Answer{}
	count := 0
	for _, row := range q.taken {
		if row.time >= span.Start && row.time < span.End {
			count++
		}
	}
	results := r.results(q, span)
	x := q.step.Window.Spec.Explain(span)
	stands := r.stands(q.Step)
	switch {
	case len(results) > 0:
		a.Headline = name + " has given its result"
		for _, row := range results {
			a.say("It gave %s", row)
		}
		if last, ok := r.reached(q.Step, x.Fires); ok && x.Fires != window.FiresNever && !x.ByClock {
			a.say("The watermark reached its last millisecond with %s, and stands at %s now.", r.record(last.source, last.file, last.row), moment(stands))
		}
	case x.ByClock:
		a.Headline = name + " follows the clock, which stands still in a replay"
	case x.Fires != window.FiresNever && stands >= x.Fires:
		a.Headline = name + " is over, and gave no result"
		a.say("The watermark of %s stands at %s.", q.Step, moment(stands))
	default:
		a.Headline = name + " has not given a result"
		if x.Fires != window.FiresNever {
			a.say("It gives its result when the watermark of %s reaches %s; now it stands at %s.", q.Step, moment(x.Fires), moment(stands))
			r.holders(&a, q.Step, x.Fires)
		}
		for _, rule := range x.Rules {
			if x.Fires == window.FiresNever {
				a.say("%s", rule)
			}
		}
	}
	switch {
	case count > 0:
		a.say("%s of the key came for it.", plural(count, "record"))
	case len(results) == 0 && stands >= x.Fires && x.Fires != window.FiresNever:
		a.say("No record of the key came for it, and a window without records gives none.")
	case len(results) == 0:
		a.say("No record of the key has come for it so far.")
	}
	for _, l := range q.late {
		if l.time >= span.Start && l.time < span.End {
			a.say("%s came too late for it.", capital(r.lateName(l)))
		}
	}
	return a, nil
}

// stands is a step's watermark.
func (r *Replay) stands(step string) int64 {
	for _, s := range r.Status().Steps {
		if s.Name == step {
			return int64(s.Watermark)
		}
	}
	return batch.NoWatermark
}

// holders says which partitions keep a step's watermark below what is needed, and what would move them.
func (r *Replay) holders(a *Answer, step string, needed int64) {
	status := r.Status()
	for _, name := range r.plan.Upstream(step) {
		src := r.plan.Source(name)
		var s *pipeline.SourceStatus
		for i := range status.Sources {
			if status.Sources[i].Name == name {
				s = &status.Sources[i]
			}
		}
		if s == nil || int64(s.Watermark) >= needed {
			continue
		}
		if len(s.Partitions) == 0 {
			a.say("Source %s has had no record, so it has no watermark.%s", name, idleWay(src))
			continue
		}
		for _, p := range s.Partitions {
			if int64(p.Watermark) >= needed || p.State == watermark.StateIdle.String() || p.State == watermark.StateEnded.String() {
				continue
			}
			text := fmt.Sprintf("Partition %s of %s holds it: it stands at %s", p.Name, name, moment(int64(p.Watermark)))
			if f := r.inputs[name].byName[p.Name]; f != nil {
				if row := r.moved(f, int64(p.Watermark)); row >= 0 {
					text += fmt.Sprintf(" since %s", r.record(name, f, row))
				}
			}
			a.say("%s.", text)
			a.say("%s%s", r.wouldMove(src, needed), idleWay(src))
		}
	}
}

// moved is the record of a file that brought its watermark where it is: the one that moved the source's, or else the newest; -1: none.
func (r *Replay) moved(f *fed, w int64) int {
	for i := len(r.rises) - 1; i >= 0; i-- {
		if x := r.rises[i]; x.file == f && x.watermark == w {
			return x.row
		}
	}
	return f.newest
}

// wouldMove says which record would bring a partition's watermark to what is needed.
func (r *Replay) wouldMove(src *plan.Source, needed int64) string {
	what, behind, known := src.Behind()
	if !known {
		return fmt.Sprintf("It goes on when the watermark of that partition reaches %s.", moment(needed))
	}
	at := needed
	if at < math.MaxInt64-behind {
		at += behind
	}
	return fmt.Sprintf("It goes on with %s at or after %s, or when the partition ends.", what, moment(at))
}

func idleWay(src *plan.Source) string {
	if src.IdleAfter > 0 {
		return fmt.Sprintf(" After %s of silence it would be left out.", config.FormatDuration(src.IdleAfter))
	}
	return " Silence alone never lets it go on: idle_after is not set."
}

// reached finds the record that brought a step's watermark to w: of each source the first that did, and of these the last one.
func (r *Replay) reached(step string, w int64) (rise, bool) {
	var last rise
	found := false
	for _, name := range r.plan.Upstream(step) {
		for i, x := range r.rises {
			if x.source == name && x.watermark >= w {
				if !found || i > last.at {
					last, found = x, true
					last.at = i
				}
				break
			}
		}
	}
	return last, found
}

func (r *Replay) number(f *fed, row int) int { return f.first + row }

// record names a record for people.
func (r *Replay) record(source string, f *fed, row int) string {
	text := fmt.Sprintf("record %d", r.number(f, row))
	if len(r.plan.Sources) > 1 {
		text += " of " + source
	}
	if len(r.inputs[source].files) > 1 {
		text += fmt.Sprintf(" (number %d of %s)", row+1, f.path)
	}
	if t := f.times[row]; t != batch.NoTimestamp {
		text += ", " + moment(t)
	}
	return text
}

// Record answers what became of a source's n-th record (from 1), and why it was late. source may be "" where there is only one.
func (r *Replay) Record(source string, n int) (Answer, error) {
	if source == "" && len(r.plan.Sources) == 1 {
		source = r.plan.Sources[0].Name
	}
	in := r.inputs[source]
	if in == nil {
		var names []string
		for _, s := range r.plan.Sources {
			names = append(names, s.Name)
		}
		return Answer{}, fmt.Errorf("which source's record? There are %s", strings.Join(names, ", "))
	}
	total := 0
	for _, f := range in.files {
		if n >= f.first && n < f.first+len(f.rows) {
			return r.fate(source, f, n-f.first), nil
		}
		total += len(f.rows)
	}
	return Answer{}, fmt.Errorf("source %s was given %s, so there is no record %d", source, plural(total, "record"), n)
}

func (r *Replay) fate(source string, f *fed, row int) Answer {
	a := Answer{}
	a.Headline = capital(r.record(source, f, row)) + ", " + cut(string(f.rows[row]))
	if bad, refused := f.bad[row]; refused {
		a.say("It was refused (%s): %s.", bad.Code, bad.Message)
		return a
	}
	t := f.times[row]
	if t == batch.NoTimestamp && r.world.waits(source, f.path) {
		a.say("It has not been read yet: what stands before it is more than max_drift (%s) ahead of others, which have to catch up or end.",
			config.FormatDuration(r.plan.Source(source).MaxDrift))
		return a
	}
	if t == batch.NoTimestamp {
		a.say("It has no time: it is a header, or a guard holds it until others confirm it.")
		return a
	}
	r.way(&a, f, row)
	return a
}

// Late answers for every late record, in the order in which they came; once for a step to which several rows of it came.
func (r *Replay) Late() []Answer {
	var out []Answer
	for i, l := range r.late {
		if i > 0 && l.file != nil && l == r.late[i-1] {
			continue
		}
		a := Answer{Headline: capital(r.lateName(l))}
		if l.file != nil {
			a.Headline += ", " + cut(string(l.file.rows[l.row]))
		}
		r.whyLate(&a, l)
		out = append(out, a)
	}
	return out
}

// lateName names what was late.
func (r *Replay) lateName(l lateRow) string {
	if l.file == nil {
		return "a row of an earlier step, " + moment(l.time)
	}
	return r.record(l.source, l.file, l.row)
}

func (r *Replay) whyLate(a *Answer, l lateRow) {
	t := l.time
	step := r.plan.Step(l.step)
	spec := step.Window.Spec
	spans := spec.Assign(t, nil)
	needed := int64(math.MinInt64)
	for _, s := range spans {
		needed = max(needed, spec.Explain(s).Drops)
	}
	if len(spans) > 0 {
		s := spans[len(spans)-1]
		for _, o := range spans {
			if o.End > s.End {
				s = o
			}
		}
		a.say("It was late for %s: its last window [%s, %s) was closed when the watermark reached %s%s.", l.step, moment(s.Start), moment(s.End), moment(needed), lateness(spec))
	}
	x, known := r.reached(l.step, needed)
	if known {
		a.say("Brought there by %s%s; when this record came, the watermark stood at %s.", r.record(x.source, x.file, x.row), distance(x, l), moment(l.watermark))
	} else {
		a.say("When it came, the watermark stood at %s.", moment(l.watermark))
	}
	if l.file == nil {
		return
	}
	newest := int64(math.MinInt64)
	for i := range l.row {
		newest = max(newest, l.file.times[i])
	}
	if newest > t {
		behind := time.Duration(newest-t) * time.Millisecond
		a.say("It is %s older than the newest record of its partition before it.", config.FormatDuration(behind))
	}
	if known {
		r.bound(a, x, l, needed)
	}
}

// bound says which bound would have let a late record in, where it is its own partition that went ahead.
func (r *Replay) bound(a *Answer, x rise, l lateRow, needed int64) {
	_, behind, known := r.plan.Source(l.source).Behind()
	if !known || x.file != l.file || l.watermark == batch.EndOfInput {
		return
	}
	name := "delay"
	if r.plan.Source(l.source).Assigner.Style == sdk.Periodic {
		name, behind = "max_out_of_orderness", behind-1
	}
	a.say("With %s = %q instead of %q it would have been in time.", name,
		config.FormatDuration(time.Duration(behind+l.watermark-needed+1)*time.Millisecond), config.FormatDuration(time.Duration(behind)*time.Millisecond))
}

func lateness(s window.Spec) string {
	if s.Lateness == 0 {
		return ""
	}
	return fmt.Sprintf(", its last millisecond and the allowed lateness of %s", config.FormatDuration(time.Duration(s.Lateness)*time.Millisecond))
}

// distance says how long before a late record the watermark was moved, where both are in one file.
func distance(x rise, l lateRow) string {
	if l.file == nil || x.file != l.file || x.row >= l.row {
		return ""
	}
	return fmt.Sprintf(", %s before", plural(l.row-x.row, "record"))
}

func cut(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Standing says where each source and step stands, and what holds it.
func (r *Replay) Standing() []Answer {
	var out []Answer
	status := r.Status()
	for _, s := range status.Sources {
		a := Answer{Headline: fmt.Sprintf("Source %s is %s, with the watermark %s", s.Name, s.State, s.Watermark)}
		for _, p := range s.Partitions {
			a.say("Partition %s is %s, with the watermark %s.", p.Name, p.State, p.Watermark)
		}
		if s.Holds != nil && len(s.Partitions) > 1 {
			a.say("Partition %s holds it; without it the watermark would be %s.", s.Holds.Partition, s.Holds.Without)
		}
		if s.Ignored > 0 {
			a.say("%s would have gone back and %s ignored.", plural(int(s.Ignored), "watermark"), wasWere(s.Ignored))
		}
		out = append(out, a)
	}
	for _, s := range status.Steps {
		a := Answer{Headline: fmt.Sprintf("Step %s stands at the watermark %s", s.Name, s.Watermark)}
		if step := r.plan.Step(s.Name); step != nil && step.Dedup != nil {
			a.say("%s known, %s left out.", plural(int(s.Open), "key"), plural(int(s.Late), "record"))
		} else {
			a.say("%s open, %s late.", plural(int(s.Open), "window"), plural(int(s.Late), "record"))
		}
		for _, in := range s.Inputs {
			if len(s.Inputs) > 1 {
				state := ""
				if in.Idle {
					state = ", idle"
				}
				a.say("Input %s: %s%s.", in.From, in.Watermark, state)
			}
		}
		out = append(out, a)
	}
	return out
}

func wasWere(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
