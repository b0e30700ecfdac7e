package plan

import (
	"fmt"
	"sort"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk"
)

// Catalog knows the plugins. It is asked while a plan is built, and may start processes to answer.
type Catalog interface {
	// Describe finds a plugin. An error that is [ErrNotFound] says that there is none; any other, that it could not be asked, with a
	// message for people.
	Describe(kind sdk.Kind, name string) (Found, error)
	// Names lists the plugins of a kind, for suggestions.
	Names(kind sdk.Kind) []string
}

// OptionChecker is a [Catalog] that can have a plugin look at its options, too, with the rules that the plugin has beyond its description.
// options is the JSON object the plugin would be started with. Errors that are sdk.OptionErrors are shown at the options' lines.
type OptionChecker interface {
	CheckOptions(kind sdk.Kind, name string, options []byte) error
}

// Found is a plugin that a [Catalog] knows.
type Found struct {
	Description sdk.Description
	Origin      string // where it comes from, for people: "shipped", or the path of its executable
	Shipped     bool
}

// ErrNotFound is what a [Catalog] answers when there is no plugin of that kind and name.
var ErrNotFound = fmt.Errorf("no such plugin")

// Build makes a plan. Problems holds every mistake and warning that was found; with errors among them the plan must not be run, and is there for
// printing only.
func Build(cfg *config.Config, catalog Catalog) (*Plan, problem.List) {
	b := &builder{cfg: cfg, catalog: catalog, ports: map[string]map[Port]Shape{}, broken: map[string]bool{}, eventTime: map[string]timeUse{}, last: map[string]string{}}
	b.plan = &Plan{
		File: cfg.File, Name: cfg.Name, Description: cfg.Description,
		Shards: cfg.Shards, DecodeWorkers: cfg.DecodeWorkers, BatchRows: cfg.BatchRows, BatchBytes: cfg.BatchBytes, Linger: cfg.Linger,
		Checkpoint: cfg.Checkpoint, State: cfg.State, DeadLetters: cfg.DeadLetters, Restart: cfg.Restart, Policies: cfg.Plugins,
	}
	b.graph()
	for _, s := range cfg.Sources {
		b.source(s)
	}
	b.driftGroups()
	for _, t := range b.order {
		b.step(t)
	}
	for _, s := range cfg.Sinks {
		b.sink(s)
	}
	b.policies()
	b.unbounded()
	b.needs()
	b.plan.buckets()
	return b.plan, b.list
}

// unbounded warns about steps that a bound on memory does not hold for.
func (b *builder) unbounded() {
	at := b.cfg.State.MemoryAt
	if at == nil {
		return
	}
	var names []string
	for _, s := range b.plan.Steps {
		if w := s.Window; w != nil && len(w.Spec.Check()) == 0 && window.StaysInMemory(w.Spec, w.Env()) {
			names = append(names, s.Name)
		}
	}
	if len(names) > 0 {
		b.warn("TM3110", *at, "leave room for them beside it, or let windows fire at their end only", "memory does not hold for windows that stay in memory whatever they take: those of %s", list(names))
	}
}

// policies warns about plugins that the file says how to run and that no component uses.
func (b *builder) policies() {
	used := map[string]bool{}
	use := func(p *Plugin) { used[string(p.Kind)+"-"+p.Name] = true }
	for _, s := range b.plan.Sources {
		use(&s.Plugin)
		if s.Assigner != nil {
			use(&s.Assigner.Plugin)
		}
	}
	for _, s := range b.plan.Steps {
		if s.Plugin != nil {
			use(s.Plugin)
		}
	}
	for _, s := range b.plan.Sinks {
		use(&s.Plugin)
	}
	var names []string
	for n := range used {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, p := range b.cfg.Plugins {
		if name := p.Kind + "-" + p.Name; !used[name] {
			b.warn("TM3105", p.At, didYouMean(name, names, "used are"), "no component uses the %s plugin %q", p.Kind, p.Name)
		}
	}
}

// builder is a plan in the making.
type builder struct {
	cfg     *config.Config
	catalog Catalog
	plan    *Plan
	list    problem.List

	order     []*config.Transform       // topological
	ports     map[string]map[Port]Shape // of the components built so far
	broken    map[string]bool           // components with mistakes that make their output unknown
	eventTime map[string]timeUse        // what time the rows of a component have
	last      map[string]string         // the step whose rows come out of a component, where that is another one than the first: see Fold
}

// timeUse is what time rows have, from the sources they come from.
type timeUse struct{ event, processing []string }

func (b *builder) problem(code string, at problem.Place, hint, format string, args ...any) {
	b.list.Add(b.cfg.Problem(code, at, hint, format, args...))
}

func (b *builder) warn(code string, at problem.Place, hint, format string, args ...any) {
	p := b.cfg.Problem(code, at, hint, format, args...)
	p.Severity = problem.Warning
	b.list.Add(p)
}

// didYouMean is the hint for a wrong name: the nearest one, or all of them.
func didYouMean(got string, names []string, what string) string {
	if s := config.Suggest(got, names); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	if len(names) == 0 || len(names) > 40 {
		return ""
	}
	return fmt.Sprintf("%s: %s", what, list(names))
}

func list(names []string) string {
	s := ""
	for i, n := range names {
		if i > 0 {
			s += ", "
		}
		s += n
	}
	return s
}
