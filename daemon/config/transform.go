package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Transform is [transforms.NAME]. The fields of its type are set, the others zero.
type Transform struct {
	Component
	Type   string // one of Transform…
	Inputs []Ref

	// window
	KeyBy     []Named
	Window    Window
	Aggregate []Aggregate
	Function  *Aggregate // or nil
	Lateness  int64      // ms
	LateEvery int64      // ms; 0 = each late record fires
	Trigger   Trigger
	Early     Early
	Mode      string
	Meta      bool

	Where Named // filter

	// map
	Set    []Named // Name = the new field, Text = its expression
	Rename []Named // Name = the old name, Text = the new one
	Drop   []Named
	Keep   []Named

	Field Named  // unnest
	As    string // unnest
	Index string // unnest

	Within int64 // dedup, ms; its key is KeyBy

	// plugin
	Plugin    string
	Isolation string
	Options   *Table
}

// Window is [transforms.NAME.window]. Lengths are milliseconds of event time.
type Window struct {
	Type         string
	Size         int64
	CalendarN    int    // instead of Size: so many of CalendarUnit
	CalendarUnit string // "d", "w" or "mo"
	SlideN       int    // instead of Slide, or of Step: so many of SlideUnit
	SlideUnit    string
	Slide        int64
	Step         int64
	Gap          int64
	GapField     string
	MaxLength    int64
	Offset       int64
	Timezone     string
	Location     *time.Location // nil = UTC
	Time         string         // "event", "processing" or "" (as the sources say)
}

// Trigger is [transforms.NAME.trigger].
type Trigger struct {
	Type     string // "" = the default of the window's type
	Count    int64
	Interval int64 // ms
	Purge    bool
}

// Early is [transforms.NAME.early]. Zero adds nothing.
type Early struct {
	Every           int64 // ms of event time
	ProcessingEvery int64 // ms
	Count           int64
}

func readTransform(comp Component, r *reader) *Transform {
	t := &Transform{Component: comp}
	common := r.of(comp.table, SectionTransform)
	t.Type = common.str("type")
	section, known := map[string]Section{
		TransformWindow: SectionWindowed, TransformFilter: SectionFilter, TransformMap: SectionMap, TransformUnnest: SectionUnnest,
		TransformDedup: SectionDedup, TransformPlugin: SectionForeign,
	}[t.Type]
	t.Inputs = common.refs("inputs")
	if !known {
		return t
	}
	r = r.of(comp.table, SectionTransform, section)
	switch t.Type {
	case TransformWindow:
		t.readWindowed(r)
	case TransformFilter:
		t.Where = r.named("where")
	case TransformMap:
		t.readMap(r)
	case TransformUnnest:
		t.Field, t.As, t.Index = r.named("field"), r.str("as"), r.str("index")
	case TransformDedup:
		t.KeyBy, t.Within = r.nameList("key_by"), r.millis("within")
	case TransformPlugin:
		t.Plugin, t.Isolation = r.str("plugin"), r.str("isolation")
		t.Options = comp.table.without(r.known())
		r.open = true
	}
	r.done()
	return t
}

func (t *Transform) readWindowed(r *reader) {
	t.KeyBy = r.nameList("key_by")
	if w := r.sub("window", SectionWindow); w != nil {
		t.Window = readWindow(w)
	}
	t.Lateness = r.millis("allowed_lateness")
	t.readLateFiring(r)
	t.readTrigger(r)
	if e := r.sub("early", SectionEarly); e != nil {
		t.Early = Early{Every: e.millis("every"), ProcessingEvery: e.millis("processing_every"), Count: e.integer("count")}
		e.done()
	}
	t.Mode, t.Meta = r.str("mode"), r.boolean("meta")
	t.readAggregates(r)
	t.readFunction(r)
}

func (t *Transform) readLateFiring(r *reader) {
	v, k := r.get("late_firing")
	if v == nil || v.Kind == KindString && v.Str == "each" {
		return
	}
	if v.Kind == KindString && v.Str != "" && (v.Str[0] < '0' || v.Str[0] > '9') && v.Str[0] != '-' {
		r.report("TM2121", v.At, `write "each", or a duration such as "10s"`, "late_firing cannot be %s", quote(v.Str))
		return
	}
	d, ok := r.durationOf(v, k, "late_firing")
	if !ok {
		return
	}
	if d < time.Millisecond || d%time.Millisecond != 0 {
		r.report("TM2102", v.At, `it must be whole milliseconds and longer than zero, or "each"`, "late_firing is %s", v.Str)
		return
	}
	t.LateEvery = d.Milliseconds()
}

func (t *Transform) readTrigger(r *reader) {
	v, _ := r.get("trigger")
	if v == nil {
		return
	}
	k := r.of(nil, SectionTrigger).key("type")
	switch v.Kind {
	case KindString:
		if !contains(k.Values, v.Str) {
			r.report("TM2121", v.At, didYouMean(v.Str, k.Values), "trigger cannot be %s", quote(v.Str))
			return
		}
		t.Trigger.Type = v.Str
	case KindTable:
		tr := r.of(v.Table, SectionTrigger)
		t.Trigger = Trigger{Type: tr.str("type"), Count: tr.integer("count"), Interval: tr.millis("interval"), Purge: tr.boolean("purge")}
		tr.done()
	default:
		r.report("TM1005", v.At, `it takes a trigger's type as a string, or a table such as { type = "count", count = 100 }`, "trigger is %s, which it cannot be", v.Kind)
		return
	}
	need := map[string]string{"count": "count", "continuous_event_time": "interval", "continuous_processing_time": "interval"}[t.Trigger.Type]
	if need == "count" && t.Trigger.Count == 0 || need == "interval" && t.Trigger.Interval == 0 {
		if v.Kind == KindString || v.Table.Get(need) == nil {
			r.report("TM1006", v.At, fmt.Sprintf("write trigger = { type = %q, %s = … }", t.Trigger.Type, need), "trigger %s needs %s", quote(t.Trigger.Type), need)
		}
	}
	if v.Kind == KindTable {
		for _, name := range []string{"count", "interval"} {
			if e := v.Table.Get(name); e != nil && name != need && t.Trigger.Type != "" {
				r.report("TM2163", e.KeyAt, "", "%s means nothing for trigger %s", quote(name), quote(t.Trigger.Type))
			}
		}
	}
}

func readWindow(r *reader) Window {
	w := Window{
		Type: r.str("type"), Gap: r.millis("gap"), GapField: r.str("gap_field"),
		MaxLength: r.millis("max_length"), Offset: r.millis("offset"), Timezone: r.str("timezone"), Location: r.location("timezone"), Time: r.str("time"),
	}
	w.readLengths(r)
	r.done()
	if w.Type == "" {
		return w
	}
	// Which keys a type needs and which ones mean something to it.
	need := map[string][]string{"tumbling": {"size"}, "sliding": {"size", "slide"}, "session": {"gap"}, "cumulative": {"size", "step"}}
	may := map[string][]string{
		"tumbling": {"offset", "timezone"}, "sliding": {"offset", "timezone"}, "session": {"gap_field", "max_length"}, "cumulative": {"offset", "timezone"},
	}
	for _, name := range need[w.Type] {
		if !r.has(name) && !r.broken {
			r.report("TM1006", r.table.At, fmt.Sprintf("add %s = %s", name, r.key(name).Example), "a %s window needs %s", w.Type, name)
		}
	}
	for _, name := range r.table.Keys {
		if name == "type" || name == "time" || contains(need[w.Type], name) || contains(may[w.Type], name) || !r.known()[name] {
			continue
		}
		keys := append(append([]string(nil), need[w.Type]...), may[w.Type]...)
		hint := "it takes " + strings.Join(append(keys, "time"), ", ")
		r.report("TM2163", r.table.Get(name).KeyAt, hint, "%s means nothing for a %s window", quote(name), w.Type)
	}
	return w
}

// readLengths takes "5s" as a length, and "1d", "2w" and "1mo" as periods of the calendar where the windows follow that: tumbling and cumulative
// ones by their size, sliding ones where the slide is such a period, too. A sliding window of "1d" that begins every hour has 24 hours.
func (w *Window) readLengths(r *reader) {
	calendar := w.Type == "tumbling" || w.Type == "cumulative"
	size, slide := r.table.Get("size"), r.table.Get("slide")
	if w.Type == "sliding" {
		calendar = isPeriod(size) && isPeriod(slide)
	}
	w.Size, w.CalendarN, w.CalendarUnit = r.length("size", calendar)
	w.Slide, w.SlideN, w.SlideUnit = r.length("slide", calendar)
	var n int
	var unit string
	w.Step, n, unit = r.length("step", calendar && isPeriod(size))
	if w.Type == "cumulative" {
		w.SlideN, w.SlideUnit = n, unit
	}
}

// isPeriod reports whether a value is a number of days, weeks or months.
func isPeriod(v *Value) bool {
	_, unit := periodOf(v)
	return unit != ""
}

func periodOf(v *Value) (digits, unit string) {
	if v == nil || v.Kind != KindString {
		return "", ""
	}
	for _, unit := range []string{"mo", "d", "w"} {
		if digits, ok := strings.CutSuffix(v.Str, unit); ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return digits, unit
		}
	}
	return "", ""
}

// length reads a length in ms, or n units of the calendar where that is possible.
func (r *reader) length(name string, calendar bool) (millis int64, n int, unit string) {
	v, k := r.get(name)
	if v == nil {
		return 0, 0, ""
	}
	digits, unit := periodOf(v)
	if unit != "" && calendar {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > 12_000 {
			r.report("TM2102", v.At, "write a number from 1 to 12000", "%s is %s", name, v.Str)
			return 0, 0, ""
		}
		return 0, n, unit
	}
	if unit == "mo" {
		r.report("TM2103", v.At, `windows follow the calendar where all their lengths do; otherwise write days or hours, as in "30d"`, "the %s cannot be in months here", name)
		return 0, 0, ""
	}
	d, ok := r.durationOf(v, k, name)
	switch {
	case !ok:
	case d <= 0:
		r.report("TM2102", v.At, "it must be longer than zero", "%s is %s", name, v.Str)
	case d%time.Millisecond != 0:
		r.report("TM2102", v.At, "event time is counted in whole milliseconds", "%s is %s, which is no whole number of milliseconds", name, v.Str)
	default:
		return d.Milliseconds(), 0, ""
	}
	return 0, 0, ""
}

func (t *Transform) readMap(r *reader) {
	t.Set = r.texts("set")
	t.Rename = r.texts("rename")
	t.Drop, t.Keep = r.nameList("drop"), r.nameList("keep")
	if len(t.Drop) > 0 && len(t.Keep) > 0 {
		r.report("TM2164", r.table.Get("keep").KeyAt, "drop says what goes, keep what stays; one of them is enough", "drop and keep exclude each other")
	}
	if !r.broken && !r.has("set") && !r.has("rename") && !r.has("drop") && !r.has("keep") {
		r.report("TM1006", r.table.At, `add set, rename, drop or keep`, "the map does nothing")
	}
}

// named reads a string with its place.
func (r *reader) named(name string) Named {
	s := r.str(name)
	return Named{Name: name, Text: s, Value: r.table.Get(name)}
}

// texts reads a table of strings, in the order of the file.
func (r *reader) texts(name string) []Named {
	v, k := r.get(name)
	if v == nil {
		return nil
	}
	if v.Kind != KindTable {
		r.wrongType(v, k)
		return nil
	}
	var out []Named
	for _, key := range v.Table.Keys {
		e := v.Table.Get(key)
		if e.Kind != KindString {
			r.report("TM1005", e.At, "it takes a string", "%s.%s is %s, which it cannot be", name, key, e.Kind)
			continue
		}
		out = append(out, Named{Name: key, Text: e.Str, Value: e})
	}
	return out
}

// nameList reads a list of different names.
func (r *reader) nameList(name string) []Named {
	var out []Named
	seen := map[string]bool{}
	for _, v := range r.strings(name) {
		if v.Str == "" {
			r.report("TM2123", v.At, "", "%s holds an empty name", name)
			continue
		}
		if seen[v.Str] {
			r.report("TM2124", v.At, "", "%s holds %s twice", name, quote(v.Str))
			continue
		}
		seen[v.Str] = true
		out = append(out, Named{Name: v.Str, Text: v.Str, Value: v})
	}
	return out
}

// refs reads names of inputs.
func (r *reader) refs(name string) []Ref {
	var out []Ref
	seen := map[string]bool{}
	for _, v := range r.strings(name) {
		comp, port, _ := strings.Cut(v.Str, ".")
		ref := Ref{Component: comp, Port: port, At: v.At}
		if seen[ref.String()] {
			r.report("TM2124", v.At, "", "%s holds %s twice", name, quote(v.Str))
			continue
		}
		seen[ref.String()] = true
		out = append(out, ref)
	}
	if v := r.table.Get(name); v != nil && v.Kind == KindList && len(v.List) == 0 {
		r.report("TM2123", v.At, "name the component that it reads", "%s is empty", name)
	}
	return out
}
