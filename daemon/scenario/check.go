package scenario

import (
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// copies lists the ports that a file's cases look at beside the sinks.
func (r *reader) copies(f *File, cfg *config.Config) []port {
	var out []port
	seen := map[port]bool{}
	each(f, func(e *Expectation) {
		p := port{e.Component, e.Port}
		if isSink(cfg, e.Component) && e.Port == "" || seen[p] {
			return
		}
		seen[p] = true
		if r.port(e, cfg) {
			out = append(out, p)
		}
	})
	return out
}

// each calls f with every expectation of a file.
func each(file *File, f func(*Expectation)) {
	for _, c := range file.Cases {
		for _, s := range c.Steps {
			for _, e := range s.Expect {
				f(e)
			}
		}
		for _, e := range c.Expect {
			f(e)
		}
	}
}

func isSink(cfg *config.Config, name string) bool {
	for _, s := range cfg.Sinks {
		if s.Name == name {
			return true
		}
	}
	return false
}

// port reports whether the pipeline has the component and the port that an expectation names.
func (r *reader) port(e *Expectation, cfg *config.Config) bool {
	var names, ports []string
	for _, s := range cfg.Sources {
		names = append(names, s.Name)
		if s.Name == e.Component {
			ports = []string{"", "errors"}
		}
	}
	for _, t := range cfg.Transforms {
		names = append(names, t.Name)
		if t.Name == e.Component {
			ports = []string{"", "errors"}
			if t.Type == "window" {
				ports = append(ports, "late")
			}
		}
	}
	for _, s := range cfg.Sinks {
		names = append(names, s.Name)
		if s.Name == e.Component {
			ports = []string{""}
		}
	}
	switch {
	case ports == nil:
		r.wrong("TM3201", e.At, nearest(e.Component, names), "the pipeline has no component %q", e.Component)
	case !contains(ports, e.Port):
		hint := "it has " + strings.Join(ports[1:], " and ")
		if len(ports) == 1 {
			hint = "a sink has no ports"
		}
		r.wrong("TM3201", e.At, hint, "%s has no port %q", e.Component, e.Port)
	default:
		return true
	}
	return false
}

func nearest(got string, names []string) string {
	if s := config.Suggest(got, names); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	return "there are " + strings.Join(names, ", ")
}

// fit checks a file's steps against the plan, and gives sources that are left out their names.
func (r *reader) fit(f *File, p *plan.Plan) {
	for _, c := range f.Cases {
		for source := range c.Partitions {
			r.source(p, source, c.At)
		}
		for _, s := range c.Steps {
			r.fitStep(s, p)
		}
	}
}

func (r *reader) fitStep(s *Step, p *plan.Plan) {
	switch s.Action {
	case Rows, Watermark, Idle, End:
	default:
		return
	}
	if s.Source == "" && s.Action == End && s.Partition == "" {
		return // all of them
	}
	if s.Source == "" {
		if len(p.Sources) > 1 {
			var names []string
			for _, src := range p.Sources {
				names = append(names, src.Name)
			}
			r.wrong("TM3201", s.At, "add source = one of "+strings.Join(names, ", "), "it is not clear which source is meant")
			return
		}
		s.Source = p.Sources[0].Name
	}
	src := r.source(p, s.Source, s.At)
	if src == nil {
		return
	}
	if s.Action == Watermark && (src.Rule == plan.IngestionTime || src.Rule == plan.ProcessingTime) {
		r.wrong("TM3201", s.At, "write advance = \"5s\" to move the clock on", "the source %q follows the clock, and takes no watermark", s.Source)
	}
	if len(s.Times) > 0 && src.Rule != plan.SourceTime && src.Rule != plan.AssignerTime {
		r.wrong("TM3201", s.At, "remove times", "the source %q follows the clock, and takes no times", s.Source)
	}
	for _, row := range s.Rows {
		if _, err := encodeRow(src, row); err != nil {
			r.wrong("TM3201", row.At, "", "source %s: %s", s.Source, err)
		}
	}
}

func (r *reader) source(p *plan.Plan, name string, at problem.Place) *plan.Source {
	if s := p.Source(name); s != nil {
		return s
	}
	var names []string
	for _, s := range p.Sources {
		names = append(names, s.Name)
	}
	r.wrong("TM3201", at, nearest(name, names), "the pipeline has no source %q", name)
	return nil
}
