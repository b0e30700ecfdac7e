package plan

import (
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Footprint is what the state of a pipeline depends on. It is stored beside the state, and compared with that of the plan that wants
// to go on from it (package checkpoint compares).
type Footprint struct {
	Components []Part
}

// Part is one component with state.
type Part struct {
	Name string
	Kind string // "source", "window", "dedup", "transform" (if its plugin keeps something), "sink"
	// Rigid settings give the state its meaning: with other ones it cannot be used. Settings that only say what happens next, such as a
	// plugin's options or the allowed lateness, are not among them.
	//
	// NB: stored state knows them as text. One that is added later makes all state written before useless, unless it is left out where it
	// says what went without saying before.
	Rigid map[string]string
}

// OperatorID is the number of a component's entries in the store. It depends on the name alone, so that a pipeline can grow and shrink
// around a component; [Build] refuses two names with one number.
func OperatorID(name string) uint32 { return crc32.ChecksumIEEE([]byte(name)) }

// Footprint lists the components with state, in the order of the plan. An assigner's state goes with its source.
func (p *Plan) Footprint() Footprint {
	var f Footprint
	for _, s := range p.Sources {
		f.Components = append(f.Components, Part{s.Name, "source", map[string]string{"plugin": s.Plugin.Name}})
	}
	for _, s := range p.Steps {
		switch {
		case s.Window != nil:
			f.Components = append(f.Components, s.Window.part(s.Name))
		case s.Dedup != nil:
			f.Components = append(f.Components, Part{s.Name, "dedup", map[string]string{"key_by": strings.Join(s.Dedup.Keys, ", ")}})
		case s.Plugin != nil && s.Fold == nil:
			f.Components = append(f.Components, Part{s.Name, "transform", map[string]string{"plugin": s.Plugin.Name}})
		}
	}
	for _, s := range p.Sinks {
		f.Components = append(f.Components, Part{s.Name, "sink", map[string]string{"plugin": s.Plugin.Name}})
	}
	return f
}

// part says what a window's state depends on: whatever decides in which window a row was counted, under which key and how, and the form
// in which windows are stored, which is the engine's. So a lateness alone can make state useless, where it needs another engine.
func (w *Window) part(name string) Part {
	var aggregates []string
	for _, a := range w.Aggregates {
		name := batch.NotAside(a.Name)
		if name == "" { // no name of a column: see Fold
			name = "function"
		}
		aggregates = append(aggregates, name+" = "+aggregateText(withoutDefaults(a)))
	}
	s := w.Spec
	same := *w // days are 24 h where clocks never change: the same windows, however they are written
	same.Spec = s.Settled()
	return Part{name, "window", map[string]string{
		"key_by":    strings.Join(w.Keys, ", "),
		"window":    windowText(&same),
		"trigger":   triggerText(s),
		"mode":      string(s.Mode),
		"meta":      fmt.Sprint(w.Meta),
		"aggregate": strings.Join(aggregates, "; "),
		"kept_as":   window.StateFormat(s, w.Env()),
	}}
}

// withoutDefaults leaves out a bound that says what the default says.
func withoutDefaults(a aggregate.Spec) aggregate.Spec {
	if f, ok := aggregate.Lookup(a.Func); ok && a.Limit == f.Limit || a.Func == aggregate.RowsFunc && a.Limit == aggregate.DefaultRows {
		a.Limit = 0
	}
	return a
}
