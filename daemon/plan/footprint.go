package plan

import (
	"fmt"
	"sort"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
)

// Footprint is what the state of a pipeline depends on. It is stored beside the state, and compared with that of the plan that wants
// to go on from it. It travels as JSON; parts are only ever added.
type Footprint struct {
	Components []Part `json:"components"`
}

// Part is one component with state.
type Part struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "source", "assigner", "window", "dedup", "transform", "sink"
	// Rigid settings give the state its meaning: with other ones it cannot be used. Soft ones only say what happens next.
	Rigid map[string]string `json:"rigid,omitempty"`
	Soft  map[string]string `json:"soft,omitempty"`
}

// Footprint lists the components with state, in the order of the plan.
func (p *Plan) Footprint() Footprint {
	var f Footprint
	for _, s := range p.Sources {
		f.Components = append(f.Components, Part{
			Name: s.Name, Kind: "source",
			Rigid: map[string]string{"plugin": s.Plugin.Name},
			Soft:  map[string]string{"options": string(s.Plugin.Shown), "time": string(s.Rule)},
		})
		if a := s.Assigner; a != nil {
			f.Components = append(f.Components, Part{
				Name: s.Name + ".time", Kind: "assigner",
				Rigid: map[string]string{"plugin": a.Name},
				Soft:  map[string]string{"options": string(a.Shown), "timestamp": timestampText(s)},
			})
		}
	}
	for _, s := range p.Steps {
		switch {
		case s.Window != nil:
			f.Components = append(f.Components, s.Window.part(s.Name))
		case s.Dedup != nil:
			f.Components = append(f.Components, Part{Name: s.Name, Kind: "dedup",
				Rigid: map[string]string{"key_by": strings.Join(s.Dedup.Keys, ", ")},
				Soft:  map[string]string{"within": millis(s.Dedup.Within)}})
		case s.Plugin != nil:
			f.Components = append(f.Components, Part{Name: s.Name, Kind: "transform",
				Rigid: map[string]string{"plugin": s.Plugin.Name},
				Soft:  map[string]string{"options": string(s.Plugin.Shown)}})
		}
	}
	for _, s := range p.Sinks {
		f.Components = append(f.Components, Part{Name: s.Name, Kind: "sink",
			Rigid: map[string]string{"plugin": s.Plugin.Name},
			Soft:  map[string]string{"options": string(s.Plugin.Shown)}})
	}
	return f
}

func timestampText(s *Source) string {
	if s.Timestamp == nil {
		return ""
	}
	return s.Timestamp.Expr + ", " + s.TimeUnit.Unit
}

// part says what a window's state depends on: whatever decides in which window a row was counted, under which key and how.
func (w *Window) part(name string) Part {
	var aggregates []string
	for _, a := range w.Aggregates {
		aggregates = append(aggregates, a.Name+" = "+aggregateText(withoutDefaults(a)))
	}
	s := w.Spec
	return Part{Name: name, Kind: "window",
		Rigid: map[string]string{
			"key_by":    strings.Join(w.Keys, ", "),
			"window":    windowText(w),
			"trigger":   triggerText(s),
			"mode":      string(s.Mode),
			"meta":      fmt.Sprint(w.Meta),
			"aggregate": strings.Join(aggregates, "; "),
		},
		Soft: map[string]string{"allowed_lateness": millis(s.Lateness), "late_firing": millis(s.LateEvery)},
	}
}

// withoutDefaults leaves out a bound that says what the default says.
func withoutDefaults(a aggregate.Spec) aggregate.Spec {
	if f, ok := aggregate.Lookup(a.Func); ok && a.Limit == f.Limit {
		a.Limit = 0
	}
	return a
}

// Fate is what happens to a component's state.
type Fate string

// The fates.
const (
	Keeps  Fate = "keeps state"
	Resets Fate = "resets"
	New    Fate = "starts without state"
)

// Change is a difference between two footprints.
type Change struct {
	Component string `json:"component"`
	Kind      string `json:"kind"`
	Fate      Fate   `json:"fate"`
	What      string `json:"what"` // for people
}

func (c Change) String() string {
	return fmt.Sprintf("%s %s: %s: %s", c.Kind, c.Component, c.Fate, c.What)
}

// Compare says what a change of the pipeline means for its state, component by component; nothing for those that stay as they are. State that
// would be dropped (Resets) must be allowed by name; so nothing is lost by an edit alone.
func Compare(old, new Footprint) []Change {
	var out []Change
	find := func(f Footprint, p Part) *Part {
		for i, q := range f.Components {
			if q.Name == p.Name && q.Kind == p.Kind {
				return &f.Components[i]
			}
		}
		return nil
	}
	for _, p := range old.Components {
		q := find(new, p)
		if q == nil {
			out = append(out, Change{p.Name, p.Kind, Resets, "it is no longer there; " + lost(p.Kind) + " would be dropped"})
			continue
		}
		if diff := differences(p.Rigid, q.Rigid); len(diff) > 0 {
			out = append(out, Change{p.Name, p.Kind, Resets, strings.Join(diff, "; ") + "; " + lost(p.Kind) + " would be dropped"})
		} else if diff := differences(p.Soft, q.Soft); len(diff) > 0 {
			out = append(out, Change{p.Name, p.Kind, Keeps, strings.Join(diff, "; ")})
		}
	}
	for _, p := range new.Components {
		if find(old, p) == nil {
			out = append(out, Change{p.Name, p.Kind, New, "it was not there before"})
		}
	}
	return out
}

func lost(kind string) string {
	switch kind {
	case "source":
		return "its positions"
	case "window":
		return "its open windows"
	case "dedup":
		return "what it has seen"
	case "sink":
		return "its undelivered results"
	}
	return "its state"
}

// differences lists the settings that differ. Settings that only one side has (an older version did not store them) count as empty.
func differences(a, b map[string]string) []string {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	var out []string
	for k := range keys {
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("%s was %s, is %s", k, orNone(a[k]), orNone(b[k])))
		}
	}
	sort.Strings(out)
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
