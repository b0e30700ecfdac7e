package checkpoint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// ComponentKind says what kind of state a component has.
type ComponentKind string

const (
	SourceComponent ComponentKind = "source" // positions, assigner snapshots
	StageComponent  ComponentKind = "stage"  // entries of an operator
	SinkComponent   ComponentKind = "sink"   // an outbox, numbers
	// TransformComponent is a step that a plugin does, with what the plugin keeps. Nobody knows before a commit whether it keeps anything, so
	// there is no record of the component: it is there when the plugin's state is.
	TransformComponent ComponentKind = "transform"
)

// Component is what the state of a component depends on.
type Component struct {
	Kind     ComponentKind
	Operator uint32 // of a stage: the number of its entries in the store
	Shape    string // state is of use to a component with the same shape only; compared as text
	Words    string // the same for people: "tumbling 5s by user: count()"
}

// Transform is the component of a step that a plugin does.
func Transform(plugin string) Component {
	return Component{Kind: TransformComponent, Shape: plugin, Words: "plugin " + plugin}
}

// Class is what becomes of a component's state when a pipeline is changed.
type Class string

const (
	Keeps   Class = "keeps state"
	New     Class = "new"
	Resets  Class = "resets"  // its state is of no use any more and is dropped
	Removed Class = "removed" // it is gone from the pipeline, and its state with it
)

// Change is what becomes of one component.
type Change struct {
	Name   string
	Class  Class
	Before Component // zero for New
	After  Component // zero for Removed
}

// NeedsConsent is true for changes that drop state: they happen only where the user has named the component.
func (c Change) NeedsConsent() bool { return c.Class == Resets || c.Class == Removed }

// Writes is true for changes that the first commit has to hold before anything else looks into the store.
func (c Change) Writes() bool {
	return c.Class != Keeps && (c.Class != New || c.After.Kind != TransformComponent)
}

// Why says in words what the change is about.
func (c Change) Why() string {
	switch c.Class {
	case Keeps:
		return "unchanged in everything that its state depends on"
	case New:
		if c.After.Kind == TransformComponent {
			return "the state holds nothing of its plugin's; it starts from nothing"
		}
		return "not in the state yet; it starts from nothing"
	case Removed:
		return fmt.Sprintf("its state (%s) is dropped", c.Before.Words)
	}
	if c.Before.Kind != c.After.Kind {
		return fmt.Sprintf("it was a %s and is a %s now", c.Before.Kind, c.After.Kind)
	}
	return fmt.Sprintf("its state was written by %q and is of no use to %q", c.Before.Words, c.After.Words)
}

// Compare says what becomes of each component, ordered by name.
func Compare(before, after map[string]Component) []Change {
	var out []Change
	for name, b := range before {
		a, there := after[name]
		switch {
		case !there:
			out = append(out, Change{name, Removed, b, Component{}})
		case a.Kind == b.Kind && a.Operator == b.Operator && a.Shape == b.Shape:
			out = append(out, Change{name, Keeps, b, a})
		default:
			out = append(out, Change{name, Resets, b, a})
		}
	}
	for name, a := range after {
		if _, there := before[name]; !there {
			out = append(out, Change{name, New, Component{}, a})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Refuse returns an error that names the first change which drops state without consent, or nil. allowed holds the names that the
// user has given (--allow-reset NAME).
func Refuse(dir string, changes []Change, allowed []string) error {
	for _, c := range changes {
		if c.NeedsConsent() && !slices.Contains(allowed, c.Name) {
			return &state.Error{
				Kind: state.Incompatible, Path: dir,
				Summary: fmt.Sprintf("%s %s: %s", c.Name, c.Class, c.Why()),
				Hint:    fmt.Sprintf("to go on without that state, add --allow-reset %s; `tidemark check --against` shows all changes", c.Name),
			}
		}
	}
	return nil
}

// Apply writes changes into d, which must come before all other deltas of the pipeline's first commit: the components as they are now, and
// the removal of the state of those that reset or are removed. What it leaves of s is what the new pipeline starts from.
func Apply(d *state.Delta, s *State, changes []Change) {
	for _, c := range changes {
		if c.NeedsConsent() {
			drop(d, s, c.Name, c.Before)
		}
		n := name(kindComponent, c.Name)
		if c.Class == Removed || c.After.Kind == TransformComponent { // of which there is no record
			d.Remove(n)
			delete(s.Components, c.Name)
			continue
		}
		d.Put(n, c.After.encode())
		s.Components[c.Name] = c.After
	}
}

func drop(d *state.Delta, s *State, component string, was Component) {
	switch was.Kind {
	case SourceComponent:
		d.Remove(name(kindSource, component))
		from := name(kindPartition, component)
		d.RemoveRange(from, keys.After(from))
		delete(s.Snapshot.Sources, component)
	case StageComponent:
		d.Remove(name(kindStage, component))
		d.DropOperator(was.Operator)
		delete(s.Snapshot.Stages, component)
	case TransformComponent:
		d.Remove(TransformName(component))
		d.Remove(name(kindStage, component)) // the inputs' watermarks
		delete(s.Snapshot.Stages, component)
	case SinkComponent:
		for _, from := range sinkRecords(component) {
			d.RemoveRange(from, keys.After(from))
		}
	}
}

// sinkRecords is what the names begin with that package deliver keeps a sink's records under. The outbox was no run at first.
func sinkRecords(sink string) []keys.Name {
	return []keys.Name{name("sink", sink), keys.Run("outbox").Text(sink), name("outbox", sink), name("refused", sink), name("skip", sink)}
}
