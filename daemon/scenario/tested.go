package scenario

import (
	"os"
	"path/filepath"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/sdk"
)

// Open gives the plugins that a pipeline's file may use: dir is the folder of the file.
type Open func(policies []*config.PluginPolicy, dir string) (plan.Catalog, pipeline.Plugins)

// tested is a pipeline's plan, with copies of the ports that are looked at.
type tested struct {
	config  *config.Config
	plan    *plan.Plan
	plugins pipeline.Plugins
}

// copyPlugin is the name of the sink that takes a copy of a port. No executable can have it.
const copyPlugin = "copy of a port"

// copyName is the sink that has a copy of a port. No component's name has a colon.
func copyName(component, port string) string { return "copy:" + component + "." + port }

// port is a component's output.
type port struct{ component, port string }

// build reads a pipeline's file and makes the plan of what is tested.
func build(file string, env map[string]string, copies []port, open Open) (*tested, problem.List) {
	data, err := os.ReadFile(file)
	if err != nil {
		_, list := config.Load(file) // says why
		return nil, list
	}
	cfg, list := config.Parse(file, data, func(name string) (string, bool) {
		if v, ok := env[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	})
	if cfg == nil {
		return nil, list
	}
	for _, c := range copies {
		ref := config.Ref{Component: c.component, Port: c.port}
		cfg.Sinks = append(cfg.Sinks, &config.Sink{
			Component: config.Component{Name: copyName(c.component, c.port)}, Plugin: copyPlugin, Inputs: []config.Ref{ref},
			Format: format.JSON, TimeFormat: format.RFC3339, Batch: config.SinkBatch{Rows: 1000, Bytes: 1 << 20}, MaxInFlight: 1,
		})
	}
	catalog, plugins := open(cfg.Plugins, filepath.Dir(file))
	p, more := plan.Build(cfg, copying{catalog})
	list.Append(more)
	if list.Err() != nil {
		return nil, list
	}
	inside(p)
	return &tested{config: cfg, plan: p, plugins: plugins}, list
}

// inside has shipped plugins run inside the test: they are the same code, and a process would gain nothing.
func inside(p *plan.Plan) {
	for _, s := range p.Sources {
		s.Journaled = false // a script can be read again from anywhere
		if s.Assigner != nil && s.Assigner.Shipped {
			s.Assigner.Isolation = "none"
		}
	}
	for _, s := range p.Steps {
		if s.Plugin != nil && s.Plugin.Shipped {
			s.Plugin.Isolation = "none"
		}
	}
	for _, s := range p.Sinks {
		s.Batch.Linger = 0
	}
}

// copying is a catalog with the sink for copies.
type copying struct{ plan.Catalog }

func (c copying) Describe(kind sdk.Kind, name string) (plan.Found, error) {
	if kind == sdk.KindSink && name == copyPlugin {
		return plan.Found{Shipped: true, Origin: "shipped", Description: sdk.Description{Kind: kind, Name: name, Delivery: sdk.Transactional, Text: true}}, nil
	}
	return c.Catalog.Describe(kind, name)
}

func (c copying) CheckOptions(kind sdk.Kind, name string, options []byte) error {
	if k, ok := c.Catalog.(plan.OptionChecker); ok && name != copyPlugin {
		return k.CheckOptions(kind, name, options)
	}
	return nil
}

// exact reports whether a sink delivers exactly once.
func (t *tested) exact(sink string) bool {
	for _, s := range t.plan.Sinks {
		if s.Name == sink {
			return s.ExactlyOnce
		}
	}
	return false
}

// mixed reports whether rows of a sink come in several ways, so that nothing says which comes first.
func (t *tested) mixed(sink string) bool {
	for _, s := range t.plan.Sinks {
		if s.Name == sink {
			return len(s.Inputs) > 1 || t.ways(s.Inputs[0].From) > 1
		}
	}
	return false
}

// ways counts the streams that come out of a component side by side.
func (t *tested) ways(component string) int {
	s := t.plan.Step(component)
	if s == nil || s.Window != nil || s.Dedup != nil || s.Plugin != nil {
		return 1
	}
	n := 0
	for _, in := range s.Inputs {
		n += t.ways(in.From)
	}
	return n
}
