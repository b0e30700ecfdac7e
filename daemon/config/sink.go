package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/format"
)

// Sink is [sinks.NAME].
type Sink struct {
	Component
	Plugin      string
	Isolation   string // "process", "none" or "" (none for shipped ones)
	Inputs      []Ref
	Options     *Table // the plugin's own
	Delivery    string // "exactly_once", "at_least_once" or "" (the best the sink can)
	Format      string
	FormatSet   bool
	Template    string
	TimeFormat  string
	Columns     []Named
	Delimiter   string // csv
	Batch       SinkBatch
	Retry       Retry
	MaxInFlight int
}

// SinkBatch is [sinks.NAME.batch].
type SinkBatch struct {
	Rows   int
	Bytes  int64
	Linger time.Duration
}

// Retry is [sinks.NAME.retry].
type Retry struct {
	Backoff     time.Duration
	MaxBackoff  time.Duration
	MaxAttempts int // 0 = for ever
	Timeout     time.Duration
}

func readSink(comp Component, r *reader) *Sink {
	r = r.of(comp.table, SectionSink)
	s := &Sink{
		Component: comp, Plugin: r.str("plugin"), Isolation: r.str("isolation"), Inputs: r.refs("inputs"), Delivery: r.str("delivery"),
		Format: r.str("format"), FormatSet: r.has("format"), Template: r.str("template"), TimeFormat: r.str("time_format"), Columns: r.nameList("columns"),
		Delimiter: r.str("delimiter"), MaxInFlight: clampInt(r.integer("max_in_flight")),
	}
	r.notEmpty("delimiter")
	b := r.sub("batch", SectionSinkBatch)
	if b == nil {
		b = r.of(nil, SectionSinkBatch)
	}
	s.Batch = SinkBatch{Rows: clampInt(b.integer("rows")), Bytes: b.size("bytes"), Linger: b.duration("linger")}
	b.done()
	t := r.sub("retry", SectionSinkRetry)
	if t == nil {
		t = r.of(nil, SectionSinkRetry)
	}
	s.Retry = Retry{Backoff: t.duration("backoff"), MaxBackoff: t.duration("max_backoff"), MaxAttempts: clampInt(t.integer("max_attempts")), Timeout: t.duration("timeout")}
	t.ordered("backoff", &s.Retry.Backoff, "max_backoff", &s.Retry.MaxBackoff)
	t.done()
	s.Options = comp.table.without(r.known())

	s.checkFormat(r)
	return s
}

// checkFormat reports what the formatter would not take.
func (s *Sink) checkFormat(r *reader) {
	if v := r.table.Get("format"); v != nil && v.Str != s.Format {
		return // the format is wrong, so nothing can be said about its options
	}
	for _, key := range []string{"template", "delimiter", "columns", "time_format"} {
		formats := map[string]string{"template": "text", "delimiter": "csv", "columns": "json csv", "time_format": "json csv text"}[key]
		if r.has(key) && !strings.Contains(formats, s.Format) {
			hint := fmt.Sprintf("%s is for %s", key, strings.ReplaceAll(formats, " ", " and "))
			if key == "template" {
				hint = `add format = "text"`
			}
			r.report("TM2163", r.table.Get(key).KeyAt, hint, "%s means nothing for format %s", quote(key), quote(s.Format))
			return
		}
	}
	if s.Format == "text" && !r.has("template") {
		if !r.broken {
			r.report("TM1006", r.table.At, `add template = "{{.user}}: {{.events}}"`, `format "text" needs a template`)
		}
		return
	}
	var bad *format.OptionError
	if _, err := format.New(s.FormatOptions()); errors.As(err, &bad) {
		code := map[string]string{"template": "TM2181"}[bad.Option]
		if code == "" {
			code = "TM2121"
		}
		at := r.table.At
		if v := r.table.Get(bad.Option); v != nil {
			at = v.At
		}
		r.report(code, at, bad.Hint, "%s: %s", bad.Option, bad.Message)
	}
}

// FormatOptions is what a formatter of this sink's rows is made with.
func (s *Sink) FormatOptions() format.Options {
	o := format.Options{Format: s.Format, Template: s.Template, TimeFormat: s.TimeFormat, Delimiter: s.Delimiter}
	for _, c := range s.Columns {
		o.Fields = append(o.Fields, c.Name)
	}
	return o
}
