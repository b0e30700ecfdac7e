package plan

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/daemon/window"
)

// String is the plan as text: what `tidemark explain` begins with, and what golden tests compare. Nothing that came from the environment is
// in it.
func (p *Plan) String() string {
	w := &printer{}
	w.line(0, "pipeline %s", p.Name)
	if p.Description != "" {
		w.line(1, "%s", p.Description)
	}
	for _, s := range p.Sources {
		w.source(p, s)
	}
	for _, s := range p.Steps {
		w.step(p, s)
	}
	for _, s := range p.Sinks {
		w.sink(s)
	}
	w.line(0, "checkpoint every %s", config.FormatDuration(p.Checkpoint.Interval))
	return w.String()
}

type printer struct{ strings.Builder }

func (w *printer) line(depth int, format string, args ...any) {
	w.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *printer) source(p *Plan, s *Source) {
	w.line(0, "source %s: %s", s.Name, s.Plugin.text())
	if s.Decode != nil {
		w.line(1, "records: %s, framed by %s, at most %s", decodeText(s.Decode), s.Framing, config.FormatSize(s.MaxRecord))
	}
	switch {
	case s.Decode != nil && s.Decode.Whole && len(s.Fields) > 0:
		w.line(1, "reads: the whole record, and of it %s", strings.Join(s.Fields, ", "))
	case s.Decode != nil && s.Decode.Whole:
		w.line(1, "reads: the whole record")
	case len(s.Fields) > 0:
		w.line(1, "reads: %s", strings.Join(s.Fields, ", "))
	default:
		w.line(1, "reads: no field")
	}
	w.time(s)
	w.line(1, "gives: %s", readersText(p, s.Name, Main))
	w.line(1, "errors: %s", readersText(p, s.Name, Errors))
}

func (w *printer) time(s *Source) {
	switch s.Rule {
	case ProcessingTime:
		w.line(1, "time: none; windows over it follow the clock")
		return
	case IngestionTime:
		w.line(1, "time: the clock at arrival; watermarks every %s", config.FormatDuration(s.Interval))
	case SourceTime:
		w.line(1, "time: timestamps and watermarks from the source")
	case AssignerTime:
		if t := s.Timestamp; t != nil {
			unit := s.TimeUnit.Unit
			if s.TimeUnit.Timezone != "" {
				unit += " in " + s.TimeUnit.Timezone
			}
			w.line(1, "timestamp: %s, unit %s", t.Expr, unit)
		} else {
			w.line(1, "timestamp: from the assigner")
		}
		w.line(1, "watermarks: %s", s.Assigner.text())
		for _, c := range s.Assigner.Columns {
			w.line(2, "%s = %s", c.Name, c.Expr)
		}
		if s.Assigner.Style == "periodic" {
			if s.Interval == 0 {
				w.line(2, "after every record")
			} else {
				w.line(2, "every %s by the clock", config.FormatDuration(s.Interval))
			}
		}
	}
	if s.IdleAfter > 0 {
		w.line(1, "a partition that is silent for %s is idle; when all are, the watermark %s", config.FormatDuration(s.IdleAfter), map[string]string{"advance": "advances to the highest", "hold": "stays"}[s.OnAllIdle])
	}
	if s.MaxAhead > 0 {
		w.line(1, "refuses timestamps more than %s ahead of the clock", config.FormatDuration(s.MaxAhead))
	}
	if c := s.Confirm; c != nil {
		w.line(1, "jumps of more than %s wait for %d records or %d partitions", config.FormatDuration(c.Span), c.Records, c.Partitions)
	}
	if s.MaxDrift > 0 {
		w.line(1, "waits while it is more than %s ahead of the slowest source (group %s)", config.FormatDuration(s.MaxDrift), s.DriftGroup)
		if s.HoldsPartitions {
			w.line(1, "so does a partition that is ahead of the slowest one")
		}
	}
	w.line(1, "watermarks that matter: %s", s.Bucket)
}

// String says in words which watermarks matter.
func (b Bucket) String() string {
	switch {
	case b.Size >= never:
		return "the end of input"
	case b.Size <= 1:
		return "all"
	case b.Offset == 0:
		return "one in " + millis(b.Size)
	}
	return fmt.Sprintf("one in %s, offset %s", millis(b.Size), millis(b.Offset))
}

func millis(ms int64) string {
	if ms > int64(1<<62)/int64(time.Millisecond) || ms < -int64(1<<62)/int64(time.Millisecond) {
		return fmt.Sprintf("%dms", ms)
	}
	return config.FormatDuration(time.Duration(ms) * time.Millisecond)
}

func (w *printer) step(p *Plan, s *Step) {
	w.line(0, "%s %s: from %s", s.Type, s.Name, inputsText(s.Inputs))
	switch {
	case s.Window != nil:
		w.window(s.Window)
	case s.Filter != nil:
		w.line(1, "where %s", s.Filter.Expr)
	case s.Map != nil:
		for _, c := range s.Map.Set {
			w.line(1, "%s = %s", c.Name, c.Expr)
		}
		for _, r := range s.Map.Rename {
			w.line(1, "rename %s to %s", r.From, r.To)
		}
		if len(s.Map.Drop) > 0 {
			w.line(1, "drop %s", strings.Join(s.Map.Drop, ", "))
		}
		if len(s.Map.Keep) > 0 {
			w.line(1, "keep %s", strings.Join(s.Map.Keep, ", "))
		}
	case s.Unnest != nil:
		w.line(1, "each element of %s as %s", s.Unnest.Field, s.Unnest.As)
		if s.Unnest.Index != "" {
			w.line(1, "with its number as %s", s.Unnest.Index)
		}
	case s.Dedup != nil:
		w.line(1, "by %s within %s", strings.Join(s.Dedup.Keys, ", "), millis(s.Dedup.Within))
	case s.Fold != nil:
		w.line(1, "plugin %s", s.Plugin.text())
		w.line(1, "over the records of each window, %d at most", s.Fold.Limit)
	case s.Plugin != nil:
		w.line(1, "plugin %s", s.Plugin.text())
		for _, c := range s.Plugin.Columns {
			w.line(2, "%s = %s", c.Name, c.Expr)
		}
	}
	w.line(1, "rows: %s", s.Output)
	w.line(1, "gives: %s", readersText(p, s.Name, Main))
	w.line(1, "errors: %s", readersText(p, s.Component(), Errors))
	if s.Window != nil {
		w.line(1, "late: %s", readersText(p, s.Name, Late))
	}
}

func (w *printer) window(win *Window) {
	if len(win.Keys) == 0 {
		w.line(1, "one key for all records")
	} else {
		w.line(1, "by %s", strings.Join(win.Keys, ", "))
	}
	w.line(1, "%s", windowText(win))
	if l := win.Spec.Lateness; l > 0 {
		how := "each late record gives a result"
		if e := win.Spec.LateEvery; e > 0 {
			how = "late records give a result every " + millis(e)
		}
		w.line(1, "late by up to %s is allowed; %s", millis(l), how)
	}
	if t := triggerText(win.Spec); t != "" {
		w.line(1, "%s", t)
	}
	if m := win.Spec.Mode; m != "" {
		w.line(1, "results are %s", m)
	}
	for _, a := range win.Aggregates {
		if a.Func == aggregate.RowsFunc {
			w.line(1, "keeps %s", aggregateText(a))
			continue
		}
		w.line(1, "%s = %s", a.Name, aggregateText(a))
	}
}

func windowText(w *Window) string {
	s := w.Spec
	var t string
	switch s.Type {
	case window.Tumbling:
		t = "tumbling windows of " + millis(s.Size)
		if s.CalendarN > 0 {
			t = fmt.Sprintf("calendar windows of %d%s", s.CalendarN, s.CalendarUnit)
		}
	case window.Sliding:
		t = fmt.Sprintf("sliding windows of %s every %s", length(s.Size, s.CalendarN, s.CalendarUnit), length(s.Slide, s.SlideN, s.SlideUnit))
	case window.Session:
		t = "sessions with a gap of " + millis(s.Gap)
		if s.GapColumn != "" {
			t += " or what " + s.GapColumn + " says"
		}
		if s.MaxLength > 0 {
			t += ", at most " + millis(s.MaxLength)
		}
	case window.Cumulative:
		t = fmt.Sprintf("cumulative windows of up to %s in steps of %s", length(s.Size, s.CalendarN, s.CalendarUnit), length(s.Slide, s.SlideN, s.SlideUnit))
	case window.Global:
		t = "one window for ever"
	}
	if s.Offset != 0 {
		t += ", offset " + millis(s.Offset)
	}
	if w.Timezone != "" && w.Timezone != "UTC" {
		t += " in " + w.Timezone
	}
	if s.ProcessingTime {
		return t + ", by the clock"
	}
	return t + ", by event time"
}

// length is a length in ms, or in units of the calendar.
func length(ms int64, n int, unit window.CalendarUnit) string {
	if n > 0 {
		return fmt.Sprintf("%d%s of the calendar", n, unit)
	}
	return millis(ms)
}

func triggerText(s window.Spec) string {
	var parts []string
	switch s.Trigger {
	case "":
	case window.OnCount:
		parts = append(parts, fmt.Sprintf("a result at every %d records", s.Count))
	case window.ContinuousEventTime:
		parts = append(parts, "a result every "+millis(s.Interval)+" of event time")
	case window.ContinuousProcessingTime:
		parts = append(parts, "a result every "+millis(s.Interval)+" by the clock")
	case window.OnEndOfInput:
		parts = append(parts, "a result at the end of input")
	case window.Never:
		parts = append(parts, "no result by itself")
	default:
		parts = append(parts, "trigger "+string(s.Trigger))
	}
	if s.EarlyEvery > 0 {
		parts = append(parts, "early results every "+millis(s.EarlyEvery)+" of event time")
	}
	if s.EarlyProcessingEvery > 0 {
		parts = append(parts, "early results every "+millis(s.EarlyProcessingEvery)+" by the clock")
	}
	if s.EarlyCount > 0 {
		parts = append(parts, fmt.Sprintf("early results every %d records", s.EarlyCount))
	}
	if s.Purging {
		parts = append(parts, "a result empties the window")
	}
	return strings.Join(parts, "; ")
}

// aggregateText writes a call as it stands in a file.
func aggregateText(a aggregate.Spec) string {
	var args []string
	if a.Arg != "" {
		args = append(args, strings.TrimPrefix(a.Arg, "="))
	}
	for _, arg := range a.Args {
		args = append(args, strings.TrimPrefix(arg, "="))
	}
	if f, _ := aggregate.Lookup(a.Func); f.P {
		args = append(args, fmt.Sprint(a.P))
	}
	if a.K > 0 {
		args = append(args, fmt.Sprint(a.K))
	}
	if a.Limit > 0 {
		args = append(args, fmt.Sprint(a.Limit))
	}
	return a.Func + "(" + strings.Join(args, ", ") + ")"
}

func (w *printer) sink(s *Sink) {
	w.line(0, "sink %s: %s, from %s", s.Name, s.Plugin.text(), inputsText(s.Inputs))
	if s.ExactlyOnce {
		w.line(1, "exactly once, after the commit (%s)", s.Capability)
	} else {
		w.line(1, "at least once")
	}
	if s.Text {
		o := s.Format
		text := o.Format
		if o.Format == format.Text {
			text += fmt.Sprintf(" %q", o.Template)
		}
		if o.TimeFormat != "" && o.TimeFormat != format.RFC3339 {
			text += ", times as " + o.TimeFormat
		}
		w.line(1, "rows as %s", text)
	} else {
		w.line(1, "rows as columns")
	}
	if len(s.Format.Fields) > 0 {
		w.line(1, "fields: %s", strings.Join(s.Format.Fields, ", "))
	}
}

// text is a plugin with its options in the order of their names.
func (p *Plugin) text() string {
	t := p.Name
	var m map[string]json.RawMessage
	if json.Unmarshal(p.Shown, &m) == nil && len(m) > 0 {
		var parts []string
		for k, v := range m {
			parts = append(parts, k+"="+string(v))
		}
		sort.Strings(parts)
		t += " (" + strings.Join(parts, ", ") + ")"
	}
	switch {
	case p.Isolation == "none":
		t += ", in the daemon"
	case p.Origin != "" && !p.Shipped:
		t += ", " + p.Origin
	}
	return t
}

func decodeText(s *decode.Spec) string {
	t := s.Format
	var parts []string
	for _, d := range s.Declared {
		part := d.Name
		if d.Type != decode.TypeDynamic {
			part += ":" + d.Type.String()
		}
		if d.Unit != "" {
			part += ":" + d.Unit
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		t += " (" + strings.Join(parts, ", ") + ")"
	}
	return t
}

func inputsText(inputs []Input) string {
	var parts []string
	for _, in := range inputs {
		parts = append(parts, in.String())
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func readersText(p *Plan, name string, port Port) string {
	var parts []string
	for _, r := range p.Readers(name, port) {
		parts = append(parts, r.Name)
	}
	switch {
	case len(parts) > 0:
		return "to " + strings.Join(parts, ", ")
	case port == Main:
		return "to nobody"
	}
	return "to the dead letters"
}
