package pipeline

import (
	"github.com/tidemark-stream/tidemark/daemon/plan"
)

// path is one reader of a port as batches meet it: a stateless step with its own readers, or an input of a stage or sink. A step that
// reads two sources is on two paths, and what follows it has two inputs: so each stream keeps its order and its watermark.
type path struct {
	step   *plan.Step // stateless, or a window when input counts
	sink   *plan.Sink
	in     plan.Input // what it reads
	input  int        // number of the input at the stage or sink
	main   []*path    // readers of a stateless step
	errors []*path    // readers of a stateless step's errors port
}

// graph is a plan's wiring, path by path.
type graph struct {
	plan    *plan.Plan
	sources map[string]*ports   // by source
	stages  map[string]*ports   // by window step
	inputs  map[string]int      // number of inputs of each stage and sink
	feeds   map[string][]string // which source or stage is behind each of them
}

// ports are the readers of a component that has streams of its own.
type ports struct{ main, errors, late []*path }

func newGraph(p *plan.Plan) *graph {
	g := &graph{plan: p, sources: map[string]*ports{}, stages: map[string]*ports{}, inputs: map[string]int{}, feeds: map[string][]string{}}
	for _, s := range p.Sources {
		g.sources[s.Name] = &ports{main: g.readers(s.Name, s.Name, plan.Main), errors: g.readers(s.Name, s.Name, plan.Errors)}
	}
	for _, s := range p.Steps {
		if joins(s) {
			g.stages[s.Name] = &ports{main: g.readers(s.Name, s.Name, plan.Main), late: g.readers(s.Name, s.Name, plan.Late)}
		}
	}
	return g
}

// joins reports whether a step has inputs where streams come together, and a stream of its own behind it. Others work on each batch
// by itself, wherever it comes from.
func joins(s *plan.Step) bool { return keyed(s) || s.Plugin != nil }

// keyed reports whether a step has state by key, and so shards.
func keyed(s *plan.Step) bool { return s.Window != nil || s.Dedup != nil }

// readers builds the paths from a port. origin is the source or stage whose stream it is.
func (g *graph) readers(origin, from string, port plan.Port) []*path {
	var out []*path
	for _, r := range g.plan.Readers(from, port) {
		p := &path{}
		if r.Sink {
			p.sink = g.sink(r.Name)
			p.in = p.sink.Inputs[r.Input]
		} else {
			p.step = g.plan.Step(r.Name)
			p.in = p.step.Inputs[r.Input]
		}
		if p.sink != nil || joins(p.step) {
			p.input = g.inputs[r.Name]
			g.inputs[r.Name]++
			g.feeds[r.Name] = append(g.feeds[r.Name], origin)
		} else {
			p.main = g.readers(origin, r.Name, plan.Main)
		}
		if p.step != nil {
			p.errors = g.readers(origin, p.step.Component(), plan.Errors)
		}
		out = append(out, p)
	}
	return out
}

func (g *graph) sink(name string) *plan.Sink {
	for _, s := range g.plan.Sinks {
		if s.Name == name {
			return s
		}
	}
	return nil
}
