package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Suffix is how the names of files with cases end.
const Suffix = ".test.toml"

// DefaultClock is where the clock of a case stands at the beginning.
var DefaultClock = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Load reads a file of cases. File is nil when nothing sensible could be read; with errors in the list it must not be run.
func Load(path string) (*File, problem.List) {
	doc, list := config.LoadDocument(path)
	if doc == nil {
		return nil, list
	}
	return read(path, doc, list)
}

// Parse is Load for a text that was read elsewhere.
func Parse(path string, data []byte) (*File, problem.List) {
	doc, list := config.ParseDocument(path, data)
	if doc == nil {
		return nil, list
	}
	return read(path, doc, list)
}

// reader turns a document into cases, and collects what is wrong in it.
type reader struct {
	doc  *config.Document
	list problem.List
}

func (r *reader) wrong(code string, at problem.Place, hint, format string, args ...any) {
	r.list.Add(r.doc.Problem(code, at, hint, format, args...))
}

func read(path string, doc *config.Document, list problem.List) (*File, problem.List) {
	r := &reader{doc: doc, list: list}
	f := &File{Path: path, Env: map[string]string{}}
	r.known(doc.Root, "a file of cases", "pipeline", "env", "case")
	f.Pipeline = r.pipeline(path, doc.Root.Get("pipeline"))
	if v := doc.Root.Get("env"); r.is(v, config.KindTable, "env", "a table of strings") {
		for _, k := range v.Table.Keys {
			if e := v.Table.Get(k); r.is(e, config.KindString, k, "a string") {
				f.Env[k] = e.Str
			}
		}
	}
	cases := doc.Root.Get("case")
	if cases == nil && !doc.Broken {
		r.wrong("TM1006", doc.Root.At, "add [[case]]", "there is no case")
	}
	names := map[string]problem.Place{}
	for _, v := range r.tables(cases, "case") {
		c := r.testCase(v)
		if first, twice := names[c.Name]; twice && c.Name != "" {
			r.wrong("TM1003", v.Table.Get("name").At, "give it another name", "there is a case %q at line %d already", c.Name, first.Line)
		}
		names[c.Name] = c.At
		f.Cases = append(f.Cases, c)
	}
	return f, r.list
}

// pipeline finds the file that the cases test: the one that is named, x.toml for x.test.toml, or pipeline.toml beside it.
func (r *reader) pipeline(path string, v *config.Value) string {
	dir := filepath.Dir(path)
	if v != nil {
		if !r.is(v, config.KindString, "pipeline", "a path") {
			return ""
		}
		file := v.Str
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if _, err := os.Stat(file); err != nil {
			r.wrong("TM1008", v.At, "the path is relative to this file", "the pipeline %q cannot be read: %s", v.Str, strings.TrimPrefix(err.Error(), "stat "+file+": "))
		}
		return file
	}
	own := strings.TrimSuffix(path, Suffix) + ".toml"
	for _, file := range []string{own, filepath.Join(dir, "pipeline.toml")} {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	r.wrong("TM1006", r.doc.Root.At, `add pipeline = "pipeline.toml"`, "it is not clear which pipeline is tested: there is no %s", filepath.Base(own))
	return ""
}

func (r *reader) testCase(v *config.Value) *Case {
	t := v.Table
	c := &Case{At: v.At, Clock: DefaultClock, Order: AsEmitted, Partitions: map[string][]string{}}
	r.known(t, "a case", "name", "clock", "order", "partitions", "steps", "expect")
	if n := t.Get("name"); n == nil {
		r.wrong("TM1006", t.At, `add name = "what must hold"`, "the case has no name")
	} else if r.is(n, config.KindString, "name", "a string") {
		c.Name, c.At = n.Str, n.At
	}
	if x := t.Get("clock"); x != nil {
		if ms, ok := r.moment(x, "clock"); ok {
			c.Clock = time.UnixMilli(ms).UTC()
		}
	}
	c.Order = r.order(t, AsEmitted)
	if p := t.Get("partitions"); r.is(p, config.KindTable, "partitions", `a table, as in { clicks = ["a", "b"] }`) {
		for _, source := range p.Table.Keys {
			c.Partitions[source] = r.texts(p.Table.Get(source), source)
		}
	}
	for _, s := range r.tables(t.Get("steps"), "steps") {
		if step := r.step(s, c.Order); step != nil {
			c.Steps = append(c.Steps, step)
		}
	}
	if e := t.Get("expect"); r.is(e, config.KindTable, "expect", "a table of components") {
		c.Expect = r.expectations(e.Table, c.Order)
	}
	if len(c.Expect) == 0 && !expects(c.Steps) && !r.doc.Broken {
		r.wrong("TM1006", c.At, "add [case.expect], or a step with expect", "the case expects nothing, so it cannot fail")
	}
	return c
}

func expects(steps []*Step) bool {
	for _, s := range steps {
		if len(s.Expect) > 0 {
			return true
		}
	}
	return false
}

// step reads one step: exactly one action, with what belongs to it.
func (r *reader) step(v *config.Value, order Order) *Step {
	t := v.Table
	s := &Step{At: v.At}
	var found []string
	for _, a := range Actions {
		if t.Get(string(a)) != nil {
			found = append(found, string(a))
			s.Action = a
		}
	}
	allowed := map[Action][]string{
		Rows: {"source", "partition", "times"}, Watermark: {"source", "partition"}, Idle: {"source", "partition"}, End: {"source", "partition"}, Expect: {"order"},
	}[s.Action]
	names := make([]string, 0, len(Actions)+4)
	for _, a := range Actions {
		names = append(names, string(a))
	}
	switch len(found) {
	case 0:
		if !r.known(t, "a step", append(names, "source", "partition", "times", "order")...) {
			return nil
		}
		r.wrong("TM1006", v.At, "a step has one of "+strings.Join(names, ", "), "the step does nothing")
		return nil
	case 1:
	default:
		r.wrong("TM2164", t.Get(found[1]).KeyAt, "make two steps of it", "a step does one thing, and this one has %s", strings.Join(found, " and "))
		return nil
	}
	for _, k := range t.Keys {
		if k == string(s.Action) || contains(allowed, k) {
			continue
		}
		hint := "remove it"
		if len(allowed) > 0 {
			hint = "with " + string(s.Action) + " there may be " + strings.Join(allowed, ", ")
		}
		r.wrong("TM1004", t.Get(k).KeyAt, hint, "%q is no key of a step with %s", k, s.Action)
	}
	s.Source, s.Partition = r.text(t, "source"), r.text(t, "partition")
	x := t.Get(string(s.Action))
	switch s.Action {
	case Rows:
		if r.is(x, config.KindList, "rows", "a list of strings or tables") {
			s.Rows = x.List
			for _, row := range s.Rows {
				if row.Kind != config.KindString && row.Kind != config.KindTable {
					r.wrong("TM1005", row.At, "a row is the record's text, or a table of its fields", "a row is %s, which it cannot be", row.Kind)
				}
			}
		}
		if times := t.Get("times"); r.is(times, config.KindList, "times", "a list of times") {
			s.Times = times.List
			if len(s.Times) != len(s.Rows) {
				r.wrong("TM2201", times.At, "give each row its time", "there are %d times for %d rows", len(s.Times), len(s.Rows))
			}
			for _, e := range s.Times {
				r.moment(e, "a time")
			}
		}
	case Watermark:
		s.Watermark, _ = r.moment(x, "watermark")
	case Advance:
		if r.is(x, config.KindString, "advance", `a duration, as in "5s"`) {
			d, err := config.ParseDuration(x.Str)
			if err != nil || d <= 0 {
				r.wrong("TM2101", x.At, `write a number and a unit, as in "5s" or "1h30m"`, "advance %q is no duration of the future", x.Str)
			}
			s.Advance = d
		}
	case Expect:
		if r.is(x, config.KindTable, "expect", "a table of components") {
			s.Expect = r.expectations(x.Table, r.order(t, order))
		}
	default:
		if r.is(x, config.KindBool, string(s.Action), "true") && !x.Bool {
			r.wrong("TM2121", x.At, fmt.Sprintf("write %s = true, or remove the step", s.Action), "%s = false says nothing", s.Action)
		}
	}
	return s
}

func (r *reader) expectations(t *config.Table, order Order) []*Expectation {
	var out []*Expectation
	for _, name := range t.Keys {
		v := t.Get(name)
		if v.Kind != config.KindList && v.Kind != config.KindTable && contains([]string{"name", "clock", "order"}, name) {
			r.wrong("TM1004", v.KeyAt, "put it above [case.expect]: what stands below belongs to that table", "%q is no component", name)
			continue
		}
		e := &Expectation{At: v.KeyAt, Order: order}
		e.Component, e.Port, _ = strings.Cut(name, ".")
		if v.Kind == config.KindTable { // per_user.late = […] without quotes
			for _, port := range v.Table.Keys {
				p := v.Table.Get(port)
				if rows, ok := r.expectedRows(p, name+"."+port); ok {
					out = append(out, &Expectation{Component: name, Port: port, At: p.KeyAt, Rows: rows, Order: order})
				}
			}
			continue
		}
		var ok bool
		if e.Rows, ok = r.expectedRows(v, name); ok {
			out = append(out, e)
		}
	}
	return out
}

func (r *reader) expectedRows(v *config.Value, name string) ([]*config.Value, bool) {
	if !r.is(v, config.KindList, name, "a list of rows") {
		return nil, false
	}
	for _, row := range v.List {
		if row.Kind != config.KindString && row.Kind != config.KindTable {
			r.wrong("TM1005", row.At, "a row is its text, or a table of its fields", "a row is %s, which it cannot be", row.Kind)
		}
	}
	return v.List, true
}

func (r *reader) order(t *config.Table, otherwise Order) Order {
	v := t.Get("order")
	if !r.is(v, config.KindString, "order", `"emitted" or "any"`) {
		return otherwise
	}
	if o := Order(v.Str); o == AsEmitted || o == AnyOrder {
		return o
	}
	r.wrong("TM2121", v.At, `write "emitted" or "any"`, "order cannot be %q", v.Str)
	return otherwise
}

// known reports keys that are none of the given ones, and whether there was none.
func (r *reader) known(t *config.Table, what string, keys ...string) (fine bool) {
	fine = true
	for _, k := range t.Keys {
		if contains(keys, k) {
			continue
		}
		hint := "known are " + strings.Join(sorted(keys), ", ")
		if s := config.Suggest(k, keys); s != "" {
			hint = fmt.Sprintf("did you mean %q?", s)
		}
		r.wrong("TM1004", t.Get(k).KeyAt, hint, "%q is no key of %s", k, what)
		fine = false
	}
	return fine
}

// is reports whether a value is there and of that kind; one of another kind is a mistake.
func (r *reader) is(v *config.Value, kind config.Kind, name, takes string) bool {
	switch {
	case v == nil:
		return false
	case v.Kind == kind:
		return true
	}
	r.wrong("TM1005", v.At, "it takes "+takes, "%s is %s, which it cannot be", name, v.Kind)
	return false
}

func (r *reader) text(t *config.Table, key string) string {
	if v := t.Get(key); r.is(v, config.KindString, key, "a name") {
		return v.Str
	}
	return ""
}

func (r *reader) texts(v *config.Value, name string) []string {
	if !r.is(v, config.KindList, name, "a list of names") {
		return nil
	}
	var out []string
	for _, e := range v.List {
		if r.is(e, config.KindString, name, "a list of names") {
			out = append(out, e.Str)
		}
	}
	return out
}

// tables gives the tables of a list.
func (r *reader) tables(v *config.Value, name string) []*config.Value {
	if !r.is(v, config.KindList, name, "a list of tables") {
		return nil
	}
	var out []*config.Value
	for _, e := range v.List {
		if r.is(e, config.KindTable, name, "a list of tables") {
			out = append(out, e)
		}
	}
	return out
}

// moment reads a time: RFC 3339 in quotes or as TOML has it, or milliseconds since 1970.
func (r *reader) moment(v *config.Value, name string) (int64, bool) {
	ms, ok := momentOf(v)
	if !ok {
		r.wrong("TM2201", v.At, `write "2026-01-01T00:00:00Z", or milliseconds since 1970`, "%s is no time", name)
	}
	return ms, ok
}

func momentOf(v *config.Value) (int64, bool) {
	switch v.Kind {
	case config.KindInt:
		return v.Int, true
	case config.KindTime:
		return v.Time.UnixMilli(), true
	case config.KindString:
		if t, err := time.Parse(time.RFC3339Nano, v.Str); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func sorted(list []string) []string {
	out := append([]string(nil), list...)
	sort.Strings(out)
	return out
}
