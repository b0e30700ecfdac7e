package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk"
)

// exampleTime is the moment whose window is explained as an example.
var exampleTime = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Explain says in words, window by window, what must be seen before one gives its result, when its state goes and which records are late.
func (p *Plan) Explain() string {
	w := &printer{}
	for _, s := range p.Steps {
		if s.Window != nil {
			w.explain(p, s)
		}
	}
	return w.String()
}

func (w *printer) explain(p *Plan, s *Step) {
	w.line(0, "when windows of %s give results", s.Name)
	spec := s.Window.Spec
	if spec.ProcessingTime {
		w.line(1, "They follow the clock; records and watermarks do not move it.")
	} else {
		w.line(1, "Their time is the watermark of %s.", lowest(p.Streams(s.Name)))
		for _, name := range p.Upstream(s.Name) {
			w.line(1, "%s: %s", name, p.Source(name).Pace())
		}
		w.need(p, s)
	}
	spans := spec.Assign(exampleTime.UnixMilli(), nil)
	if len(spans) == 0 {
		return
	}
	span := spans[0]
	if spec.Type == window.Global {
		w.line(1, "The one window of a key:")
	} else {
		w.line(1, "For instance, the window of a record of %s:", exampleTime.Format(time.RFC3339))
	}
	for _, rule := range spec.Explain(span).Rules {
		w.line(2, "%s", rule)
	}
}

func lowest(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "whichever is lowest among " + strings.Join(names, ", ") + ", idle ones left out"
}

// need says which record lets a window [start, end) go, source by source.
func (w *printer) need(p *Plan, s *Step) {
	if s.Window.Spec.Type == window.Global || s.Window.Spec.Trigger != "" && s.Window.Spec.Trigger != window.OnEventTime {
		return
	}
	for _, name := range p.Upstream(s.Name) {
		src := p.Source(name)
		what, behind, known := src.Behind()
		if !known {
			continue
		}
		// The watermark must reach end - 1 ms.
		text := "the end of the window"
		if behind -= 1; behind > 0 {
			text += " and " + millis(behind)
		} else if behind < 0 {
			text += " less a millisecond"
		}
		w.line(1, "So each partition of %s that is not idle must have shown %s at or after %s.", name, what, text)
	}
}

// Pace says in words how a source's watermark comes about.
func (s *Source) Pace() string {
	text := ""
	switch s.Rule {
	case ProcessingTime:
		return "it has no event time"
	case IngestionTime:
		return "its watermark follows the clock, in steps of " + config.FormatDuration(s.Interval)
	case SourceTime:
		text = "the source says what its watermark is"
	case AssignerTime:
		_, behind, known := s.Behind()
		switch {
		case !known:
			text = fmt.Sprintf("the assigner %s says what each partition's watermark is", s.Assigner.Name)
		case s.Assigner.Style == sdk.Periodic:
			text = "each partition's watermark is its newest timestamp" + less(behind)
		case s.Assigner.Style == sdk.Marker:
			text = "each partition's watermark is what its last marker says" + less(behind)
		default:
			text = "each partition's watermark is the timestamp of the last record that carries one" + less(behind)
		}
	}
	text += "; the source's is the lowest of them"
	if s.IdleAfter > 0 {
		text += ", without those that have been silent for " + config.FormatDuration(s.IdleAfter)
	} else {
		text += ", and a silent partition holds it for ever (idle_after is not set)"
	}
	return text
}

func less(behind int64) string {
	if behind == 0 {
		return ""
	}
	return " less " + millis(behind)
}

// Behind is how far, in ms, a partition's watermark stays behind what it has shown, and what that is: a record, or a record of a certain
// sort. It is not known for assigners that are not shipped.
func (s *Source) Behind() (what string, behind int64, known bool) {
	if s.Assigner == nil || !s.Assigner.Shipped {
		return "", 0, false
	}
	var o struct {
		Bound string `json:"max_out_of_orderness"`
		Delay string `json:"delay"`
		When  string `json:"when"`
		Every int    `json:"every"`
	}
	if json.Unmarshal(s.Assigner.Options, &o) != nil {
		return "", 0, false
	}
	length := func(text string) int64 {
		d, err := config.ParseDuration(text)
		if err != nil {
			return 0
		}
		return d.Milliseconds()
	}
	expr := func(name string) string {
		for _, c := range s.Assigner.Columns {
			if c.Name == name {
				return c.Expr
			}
		}
		return ""
	}
	switch s.Assigner.Style {
	case sdk.Periodic:
		return "a record", length(o.Bound) + 1, true
	case sdk.Punctuated:
		what = "a record"
		if when := expr("when"); when != "" {
			what = "a record with " + when
		}
		if o.Every > 1 {
			what = fmt.Sprintf("every %d. %s", o.Every, strings.TrimPrefix(what, "a "))
		}
		return what, length(o.Delay), true
	case sdk.Marker:
		return "a marker (" + expr("marker") + ")", length(o.Delay), true
	}
	return "", 0, false
}

// Streams lists the sources and steps whose streams a step reads, each with a watermark of its own, in the order of its inputs.
func (p *Plan) Streams(step string) []string {
	var out []string
	s := p.Step(step)
	if s == nil {
		return nil
	}
	for _, in := range s.Inputs {
		if from := p.Step(in.From); from != nil && from.Window == nil && from.Dedup == nil && from.Plugin == nil {
			for _, name := range p.Streams(in.From) {
				if !has(out, name) {
					out = append(out, name)
				}
			}
		} else if !has(out, in.From) {
			out = append(out, in.From)
		}
	}
	return out
}

// Upstream lists the sources that a step's records come from.
func (p *Plan) Upstream(step string) []string {
	var out []string
	for _, s := range p.Streams(step) {
		names := []string{s}
		if p.Step(s) != nil {
			names = p.Upstream(s)
		}
		for _, name := range names {
			if !has(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
