package pipeline

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/daemon/window"
)

// WindowExplanation says when a window of a step gives its result, and what it waits for.
type WindowExplanation struct {
	Step      string   `json:"step"`
	Start     Moment   `json:"start"`
	End       Moment   `json:"end"`
	ByClock   bool     `json:"by_clock"` // Fires and Drops are times that the clock has to show
	Fires     Moment   `json:"fires"`    // the watermark at which its result is due; none: its end gives none
	Drops     Moment   `json:"drops"`    // the watermark at which its state goes, and from which on its records are late; none: never
	Watermark Moment   `json:"watermark"`
	Due       bool     `json:"due"`   // its result is due already: it has been given, unless the window had no record
	Rules     []string `json:"rules"` // of the window, in words
	Waits     []string `json:"waits"` // what holds the watermark below Fires, source by source
}

// Explain answers for the window of a step that a moment of event time lies in; of several (sliding windows) the one that begins last. It
// waits for nothing that goes on in the pipeline.
func (p *Pipeline) Explain(step string, at int64) (WindowExplanation, error) {
	s := p.plan.Step(step)
	if s == nil || s.Window == nil {
		return WindowExplanation{}, fmt.Errorf("pipeline %s has no windows named %q", p.plan.Name, step)
	}
	spec := s.Window.Spec
	spans := spec.Assign(at, nil)
	if len(spans) == 0 {
		return WindowExplanation{}, fmt.Errorf("no window of %s has the time %s in it", step, watermark.FormatTime(at))
	}
	span := spans[0]
	for _, o := range spans {
		if o.Start > span.Start {
			span = o
		}
	}
	x := spec.Explain(span)
	out := WindowExplanation{Step: step, Start: Moment(span.Start), End: Moment(span.End), ByClock: x.ByClock, Fires: Moment(x.Fires), Drops: Moment(x.Drops), Rules: x.Rules, Watermark: Moment(window.FiresNever)}
	status := p.Status()
	for _, st := range status.Steps {
		if st.Name == step {
			out.Watermark = st.Watermark
		}
	}
	if x.ByClock {
		out.Due = x.Fires != window.FiresNever && status.Now.UnixMilli() >= x.Fires
		return out, nil
	}
	if out.Due = x.Fires != window.FiresNever && int64(out.Watermark) >= x.Fires; out.Due || x.Fires == window.FiresNever {
		return out, nil
	}
	upstream := map[string]bool{}
	for _, name := range p.plan.Upstream(step) {
		upstream[name] = true
	}
	for _, src := range status.Sources {
		if upstream[src.Name] && int64(src.Watermark) < x.Fires {
			out.Waits = append(out.Waits, src.waits())
		}
	}
	return out, nil
}

// waits says what a source's watermark waits for.
func (s *SourceStatus) waits() string {
	text := fmt.Sprintf("source %s (%s) stands at %s", s.Name, s.State, s.Watermark)
	switch {
	case s.Waits:
		text += "; it waits for slower sources of its group (max_drift)"
	case s.Holds != nil:
		text += ": " + s.Holds.Why
	case len(s.Partitions) == 0:
		text += ": it has no partition yet"
	}
	return text
}
