package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/daemon/transform"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk"
)

func (b *builder) window(t *config.Transform, in Shape) *Window {
	c := t.Window
	w := &Window{Meta: t.Meta, Timezone: c.Timezone, Spec: window.Spec{
		Type: window.Type(c.Type), Size: c.Size, Slide: c.Slide, Gap: c.Gap, MaxLength: c.MaxLength, Offset: c.Offset,
		CalendarN: c.CalendarN, CalendarUnit: window.CalendarUnit(c.CalendarUnit), Location: c.Location,
		SlideN: c.SlideN, SlideUnit: window.CalendarUnit(c.SlideUnit),
		Lateness: t.Lateness, LateEvery: t.LateEvery,
		Trigger: window.TriggerKind(t.Trigger.Type), Count: t.Trigger.Count, Interval: t.Trigger.Interval, Purging: t.Trigger.Purge,
		EarlyEvery: t.Early.Every, EarlyProcessingEvery: t.Early.ProcessingEvery, EarlyCount: t.Early.Count,
	}}
	if c.Type == "cumulative" {
		w.Spec.Slide = c.Step
	}
	if t.Mode != "accumulating" {
		w.Spec.Mode = window.Mode(t.Mode)
	}
	w.Spec.ProcessingTime = b.windowTime(t)
	if c.GapField != "" {
		if _, ok := b.field(c.GapField, t.Value("window", "gap_field"), in, "gap_field"); ok {
			b.expr("", canonical(c.GapField), t.Value("window", "gap_field"), 0, in, transform.TypeNumber, "gap_field")
		}
		w.Spec.GapColumn = c.GapField
	}
	b.checkWindow(t, w)
	for _, n := range t.KeyBy {
		if _, ok := b.field(n.Name, n.Value, in, "key_by"); ok {
			w.Keys = append(w.Keys, n.Name)
		} else {
			w.failed = append(w.failed, n.Name)
		}
	}
	w.incomplete = len(t.Aggregate) < t.Value("aggregate").Len()
	b.aggregates(t, w, in)
	return w
}

// windowTime decides whether a window runs on the clock.
func (b *builder) windowTime(t *config.Transform) (processing bool) {
	use := b.eventTime[t.Name]
	switch t.Window.Time {
	case "processing":
		b.eventTime[t.Name] = timeUse{processing: append(use.event, use.processing...)}
		return true
	case "event":
		if len(use.processing) > 0 {
			b.noEventTime(t, use.processing[0])
		}
		return false
	}
	switch {
	case len(use.processing) > 0 && len(use.event) > 0:
		b.problem("TM3103", t.Place("inputs"), fmt.Sprintf("give %s event time too, or write window = { time = \"processing\", … }", use.processing[0]),
			"the source %q has event time and %q has none, so it is not clear whose time the windows follow", use.event[0], use.processing[0])
	case len(use.processing) > 0:
		for _, name := range use.processing {
			if b.sourceTime(name) == nil {
				// Nobody asked for processing time: it is more likely that the time table was forgotten.
				b.noEventTime(t, name)
				return false
			}
		}
		return true
	}
	return false
}

// sourceTime is the time table of a source, or nil when it has none or is no source.
func (b *builder) sourceTime(name string) *config.Time {
	for _, s := range b.cfg.Sources {
		if s.Name == name {
			return s.Time
		}
	}
	return &config.Time{}
}

func (b *builder) noEventTime(t *config.Transform, source string) {
	if b.cfg.Broken {
		return
	}
	if b.sourceTime(source) != nil {
		b.problem("TM3104", t.Place("window", "time"), "give it event time, or take time away, so that the windows follow the clock",
			"the windows of %q are to follow event time, and the source %q has none", t.Name, source)
		return
	}
	at := t.Place("window")
	for _, s := range b.cfg.Sources {
		if s.Name == source {
			at = s.At
		}
	}
	b.problem("TM3104", at, fmt.Sprintf("add [sources.%s.time] with assigner and timestamp, or assigner = \"processing\" for windows over the clock", source),
		"the windows of %q follow event time, and the source %q says nothing about it", t.Name, source)
}

// checkWindow reports what the operator would not take, at the key it comes from.
func (b *builder) checkWindow(t *config.Transform, w *Window) {
	if t.Window.Type == "" {
		return
	}
	s := w.Spec
	complete := map[string]bool{
		"tumbling": s.Size > 0 || s.CalendarN > 0, "sliding": (s.Size > 0 || s.CalendarN > 0) && (s.Slide > 0 || s.SlideN > 0), "session": s.Gap > 0,
		"cumulative": (s.Size > 0 || s.CalendarN > 0) && (s.Slide > 0 || s.SlideN > 0), "global": true,
	}
	if !complete[t.Window.Type] {
		return // said by package config
	}
	if every := s.Size; s.Type != window.Session && s.Type != window.Global && s.CalendarN == 0 && window.HasSummerTime(s.Location) {
		if s.Type == window.Sliding {
			every = s.Slide
		}
		if every > 3_600_000 || 3_600_000%every != 0 {
			b.warn("TM3108", t.Place("window", "timezone"), `write days, weeks or months, such as "1d", for windows that follow the local clock; of sliding windows both lengths`,
				"windows that begin every %s do so all year, so in summer they begin an hour off in %s", millis(every), t.Window.Timezone)
		}
	}
	if s.Type == window.Global && t.Trigger.Type == "" && s.EarlyEvery == 0 && s.EarlyProcessingEvery == 0 && s.EarlyCount == 0 {
		b.warn("TM3109", t.Place("window"), `add trigger = { type = "count", count = 100, purge = true }, trigger = "end_of_stream" or another one`,
			"a global window has no end, so that without a trigger %q never gives a result", t.Name)
	}
	for _, m := range s.Check() {
		path := windowPath(t, m.Field)
		b.problem("TM2171", t.Place(path...), m.Hint, "%s: %s", path[len(path)-1], m.Message)
	}
}

// windowPath is where a setting of a window.Spec stands in the table of its transform.
func windowPath(t *config.Transform, field string) []string {
	switch field {
	case "allowed_lateness", "mode":
		return []string{field}
	case "late_every":
		return []string{"late_firing"}
	case "trigger":
		if t.Value("trigger", "type") != nil {
			return []string{"trigger", "type"}
		}
		return []string{"trigger"}
	case "count", "interval":
		return []string{"trigger", field}
	case "purging":
		return []string{"trigger", "purge"}
	case "early_every", "early_processing_every", "early_count":
		return []string{"early", strings.TrimPrefix(field, "early_")}
	}
	return []string{"window", field}
}

// aggregates turns calls into aggregate specs, and arguments that are more than a field into computed columns.
func (b *builder) aggregates(t *config.Transform, w *Window, in Shape) {
	taken := map[string]string{window.StartColumn: "the window's start", window.EndColumn: "the window's end"}
	for _, k := range w.Keys {
		taken[k] = "a key field"
	}
	if t.Meta {
		for _, n := range []string{window.WatermarkColumn, window.FiringColumn, window.TimingColumn} {
			taken[n] = "a column of meta"
		}
	}
	if t.Mode == "retracting" {
		taken[window.RetractColumn] = "a column of retracting results"
	}
	for _, n := range t.KeyBy {
		if n.Name == window.StartColumn || n.Name == window.EndColumn {
			b.problem("TM3011", n.Value.At, "rename the field in a map before", "%q is the name of a column of the results already: %s", n.Name, taken[n.Name])
		}
	}
	for _, a := range t.Aggregate {
		var spec aggregate.Spec
		var ok bool
		if a.Plugin != "" {
			spec, ok = b.ofWindow(t, &a, sdk.KindAggregate, w, in)
		} else {
			spec, ok = b.aggregate(a, w, in)
		}
		if !ok {
			w.failed = append(w.failed, a.Name)
			continue
		}
		names := []string{a.Name}
		if layout, err := aggregate.New([]aggregate.Spec{spec}); err == nil {
			names = layout.Columns()
		}
		if a.Plugin != "" {
			names = []string{a.Name}
		}
		clash := false
		for _, n := range names {
			if what, there := taken[n]; there {
				b.problem("TM3011", a.Value.KeyAt, "choose another name", "%q is the name of a column of the results already: %s", n, what)
				clash = true
			}
			taken[n] = "the aggregate " + a.Name
		}
		if !clash {
			w.Aggregates = append(w.Aggregates, spec)
		}
	}
	if f := t.Function; f != nil {
		if spec, ok := b.ofWindow(t, f, sdk.KindWindow, w, in); ok {
			w.Aggregates = append(w.Aggregates, spec)
			b.functionClash(f, w.folded[len(w.folded)-1])
		} else {
			w.incomplete = true
		}
	}
	if layout, err := aggregate.New(w.Aggregates); err == nil {
		w.Columns = window.Columns(w.Spec, layout, w.Env())
	} else if len(w.Aggregates) > 0 {
		b.problem("TM2153", t.Place("aggregate"), "", "aggregate: %s", err)
	}
}

func (b *builder) aggregate(a config.Aggregate, w *Window, in Shape) (aggregate.Spec, bool) {
	spec := aggregate.Spec{Name: a.Name, Func: a.Func}
	f, ok := aggregate.Lookup(a.Func)
	if !ok {
		var names []string
		for _, f := range aggregate.Funcs() {
			names = append(names, f.Name)
		}
		hint := didYouMean(a.Func, names, "there are")
		if has(b.catalog.Names(sdk.KindAggregate), a.Func) {
			hint = fmt.Sprintf(`write "plugin:%s(…)" for the aggregate of a plugin`, a.Func)
		}
		b.problem("TM2152", a.At, hint, "%s: there is no aggregate %q", a.Name, a.Func)
		return spec, false
	}
	args := a.Args
	wrong := func(at problem.Place, format string, v ...any) (aggregate.Spec, bool) {
		b.problem("TM2153", at, "write "+signature(f), "%s: %s", a.Name, fmt.Sprintf(format, v...))
		return spec, false
	}
	least, most := 0, 0
	if f.Arg {
		most++
		if !f.Optional {
			least++
		}
	}
	if f.P || f.K {
		most++
		least++
	}
	if f.Limit > 0 {
		most++
	}
	switch {
	case len(args) < least:
		return wrong(a.At, "%s takes %s, not %d", a.Func, arguments(least, most), len(args))
	case len(args) > most:
		return wrong(args[most].At, "%s takes %s, not %d", a.Func, arguments(least, most), len(args))
	}
	if f.Arg && len(args) > 0 {
		name, typ, ok := b.argument(a, args[0], w, in)
		if !ok {
			return spec, false
		}
		if f.Numbers && (typ == "string" || typ == "timestamp" || typ == "list" || typ == "object") {
			hint := "count, min, max, first, last and collect take any value"
			if typ == "string" {
				hint = fmt.Sprintf("a text that is a number can be converted: %s(float(%s))", a.Func, args[0].Text)
			}
			b.problem("TM2153", args[0].At, hint, "%s: %s takes numbers, and %s is of type %s", a.Name, a.Func, args[0].Text, typ)
			return spec, false
		}
		spec.Arg, args = name, args[1:]
	}
	if f.P {
		p, err := strconv.ParseFloat(args[0].Text, 64)
		if err != nil || !(p >= 0 && p <= 1) {
			return wrong(args[0].At, "the quantile is a number from 0 to 1, not %s", args[0].Text)
		}
		spec.P, args = p, args[1:]
	}
	if f.K {
		k, err := strconv.Atoi(args[0].Text)
		if err != nil || k < 1 {
			return wrong(args[0].At, "how many values is a whole number above 0, not %s", args[0].Text)
		}
		spec.K, args = k, args[1:]
	}
	if f.Limit > 0 && len(args) > 0 {
		n, err := strconv.Atoi(args[0].Text)
		if err != nil || n < 1 {
			return wrong(args[0].At, "the bound is a whole number above 0, not %s", args[0].Text)
		}
		spec.Limit = n
	}
	if err := spec.Check(); err != nil {
		return wrong(a.At, "%s", err)
	}
	return spec, true
}

// argument gives the column that an aggregate reads, the field itself or a computed one, and the type of its values.
func (b *builder) argument(a config.Aggregate, arg config.Arg, w *Window, in Shape) (column, typ string, ok bool) {
	name := "=" + arg.Text
	what := a.Name
	if what == "" {
		what = "function"
	}
	col, typ, ok := b.expr(name, arg.Text, arg.Value, arg.Offset, in, transform.TypeAny, what)
	if !ok {
		return "", "", false
	}
	if col.Field != "" {
		return col.Field, typ, true
	}
	for _, c := range w.Computed {
		if c.Name == name {
			return name, typ, true
		}
	}
	w.Computed = append(w.Computed, col)
	return name, typ, true
}

func arguments(least, most int) string {
	switch {
	case most == 0:
		return "no argument"
	case least == most && most == 1:
		return "1 argument"
	case least == most:
		return fmt.Sprintf("%d arguments", most)
	}
	return fmt.Sprintf("%d to %d arguments", least, most)
}

// signature shows how a function is called.
func signature(f aggregate.Func) string {
	var args []string
	if f.Arg {
		args = append(args, "x")
	}
	if f.P {
		args = append(args, "0.99")
	}
	if f.K {
		args = append(args, "10")
	}
	call := func(args []string) string { return f.Name + "(" + strings.Join(args, ", ") + ")" }
	s := call(args)
	if f.Optional {
		s = call(nil) + " or " + s
	}
	if f.Limit > 0 {
		s += " or, with a bound, " + call(append(args, strconv.Itoa(f.Limit)))
	}
	return s
}

// windowShape is the shape of a window's results.
func windowShape(w *Window, in Shape) Shape {
	var out Shape
	for _, name := range w.Columns {
		f := Field{name, "any"}
		switch name {
		case window.StartColumn, window.EndColumn, window.WatermarkColumn:
			f.Type = "timestamp"
		case window.FiringColumn:
			f.Type = "int"
		case window.TimingColumn:
			f.Type = "string"
		case window.RetractColumn:
			f.Type = "bool"
		}
		if has(w.Keys, name) {
			f.Type, _ = in.find(name)
		}
		for _, a := range w.Aggregates {
			if a.Name == name && (a.Func == "count" || a.Func == "count_distinct") {
				f.Type = "int"
			}
		}
		out.Fields = append(out.Fields, f)
	}
	for _, name := range w.failed {
		out.Fields = append(out.Fields, Field{name, "any"})
	}
	out.Unknown = w.incomplete || len(w.Columns) == 0
	return out
}
