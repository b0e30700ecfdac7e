package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// WindowQuestion asks why a window of a key has given no result. Ask it before Feed, so that its records can be counted.
type WindowQuestion struct {
	Step  string // "" = the only window step
	Key   string // the values of the key fields, with commas
	Start int64  // of the window, ms; of a session: a moment in it

	step    *plan.Step
	sources int              // that the step reads from
	taken   []takenRow       // the key's rows that have come to the step and were not late, in that order
	late    []lateRow        // of the key's rows
	heard   map[uint32]int64 // the watermark that each source has come to with what has come to the step
}

// takenRow is a row of the key.
type takenRow struct {
	time, gap int64 // ms; gap is that of sessions
	watermark int64 // of the step when it came
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
	q.Step, q.sources = q.step.Name, len(r.plan.Upstream(q.step.Name))
	r.watch = append(r.watch, q)
	return nil
}

// has reports whether a row is of the key.
func (q *WindowQuestion) has(b *batch.Batch, row int) bool {
	return keyText(b, q.step.Window.Keys, row) == q.Key
}

// entered counts the rows of the key that come to the step.
func (q *WindowQuestion) entered(b *batch.Batch) {
	for _, name := range q.step.Window.Keys {
		if b.Column(name) == nil {
			return
		}
	}
	spec := &q.step.Window.Spec
	marks := b.Marks
	q.hear(b.Source, b.Before)
	for _, i := range rowsOf(b) {
		for len(marks) > 0 && int(marks[0].After) <= i {
			q.hear(b.Source, marks[0].Watermark)
			marks = marks[1:]
		}
		if b.Times[i] != batch.NoTimestamp && q.has(b, i) {
			q.taken = append(q.taken, takenRow{b.Times[i], spec.GapOf(b.Column(spec.GapColumn), i), q.watermark()})
		}
	}
	for _, m := range marks {
		q.hear(b.Source, m.Watermark)
	}
}

func (q *WindowQuestion) hear(source uint32, w int64) {
	if q.heard == nil {
		q.heard = map[uint32]int64{}
	}
	if old, known := q.heard[source]; !known || w > old {
		q.heard[source] = w
	}
}

// watermark is the step's, as far as what has come to it tells.
func (q *WindowQuestion) watermark() int64 {
	low := int64(batch.EndOfInput)
	for _, w := range q.heard {
		low = min(low, w)
	}
	if len(q.heard) < q.sources {
		return batch.NoWatermark
	}
	return low
}

// tooLate takes a row out again that has come too late.
func (q *WindowQuestion) tooLate(l lateRow) {
	q.late = append(q.late, l)
	for i := len(q.taken) - 1; i >= 0; i-- {
		if q.taken[i].time == l.time {
			q.taken = append(q.taken[:i], q.taken[i+1:]...)
			return
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
func (r *Replay) span(q *WindowQuestion) (window.Span, error) {
	spec := q.step.Window.Spec
	switch spec.Type {
	case window.Session:
		return r.session(q)
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

// session is the session around a moment: one that is open, as the key's rows make it, or else the last one that has given a result.
func (r *Replay) session(q *WindowQuestion) (window.Span, error) {
	sessions := q.step.Window.Spec.Sessions()
	for _, row := range q.taken {
		sessions.Take(row.time, row.gap, row.watermark)
	}
	sessions.Advance(r.stands(q.Step))
	for _, s := range sessions.Open() {
		if q.Start >= s.Start && q.Start < s.End {
			return s, nil
		}
	}
	var found *window.Span
	for _, row := range r.rowsOfKey(q) {
		if s, ok := row.span(); ok && q.Start >= s.Start && q.Start < s.End {
			found = &s
		}
	}
	if found != nil {
		return *found, nil
	}
	return window.Span{}, fmt.Errorf("no session of the key %s is around %s: no record of it came there in time to the step %s", q.Key, moment(q.Start), q.Step)
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

// results are the rows that a window has given for a key.
func (r *Replay) results(q *WindowQuestion, span window.Span) []string {
	var out []string
	for _, row := range r.rowsOfKey(q) {
		if s, ok := row.span(); q.step.Window.Spec.Type == window.Global || ok && s == span {
			out = append(out, row.text)
		}
	}
	return out
}

// result is a row that a window has given.
type result struct {
	text   string
	fields map[string]any
}

// span is the row's window.
func (r result) span() (s window.Span, ok bool) {
	start, _ := r.fields[window.StartColumn].(string)
	end, _ := r.fields[window.EndColumn].(string)
	from, err := time.Parse(time.RFC3339Nano, start)
	to, err2 := time.Parse(time.RFC3339Nano, end)
	return window.Span{Start: from.UnixMilli(), End: to.UnixMilli()}, err == nil && err2 == nil
}

// rowsOfKey are the rows that a step has given for a key.
func (r *Replay) rowsOfKey(q *WindowQuestion) []result {
	var out []result
	for _, row := range r.world.captures.all(copyName(q.Step, "")) {
		m, ok := parse(row).(map[string]any)
		if !ok {
			continue
		}
		var key []string
		for _, f := range q.step.Window.Keys {
			if s, ok := m[f].(string); ok {
				key = append(key, s)
			} else {
				key = append(key, inJSON(m[f]))
			}
		}
		if strings.Join(key, ",") == q.Key {
			out = append(out, result{row, m})
		}
	}
	return out
}
