package conform

import (
	"context"
	"fmt"

	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Settings say how to try an executable.
type Settings struct {
	Args    []string        // for the executable
	Only    string          // "KIND NAME": this plugin of it alone; "" = all of them
	Options sdktest.Options // what the plugins are opened with: at least the required ones
	Records int             // how many records an assigner or a transform is tried with; 0 = the kit's own choice
}

// Report is what was found about one plugin, or about the executable as a whole (then Kind is empty).
type Report struct {
	Kind     wire.Kind         `json:"kind,omitempty"`
	Name     string            `json:"name,omitempty"`
	Passed   []string          `json:"passed"`
	Findings []sdktest.Finding `json:"findings"`
	Notes    []string          `json:"notes"`
	NsPerRow float64           `json:"ns_per_row,omitempty"`
}

// Run tries the executable at path. An error says that it could not be tried: it is a *host.Failure, an [Incomplete], or the context's.
// Sources and sinks do what they do in life: a source reads, a sink writes.
func Run(ctx context.Context, h *host.Host, path string, s Settings) ([]Report, error) {
	e, err := h.OpenExecutable(ctx, path, s.Args...)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	var chosen []wire.Plugin
	var served []string
	for _, p := range e.Plugins {
		d := p.Description()
		id := fmt.Sprintf("%s %s", d.Kind, d.Name)
		served = append(served, id)
		if s.Only == "" || s.Only == id {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return nil, &Incomplete{Only: s.Only, Served: served}
	}
	for _, p := range chosen {
		d := p.Description()
		if missing := missingOptions(d.Options, s.Options); len(missing) > 0 {
			return nil, &Incomplete{Kind: d.Kind, Name: d.Name, Missing: missing}
		}
	}
	reports := []Report{outside(ctx, path, s.Args)}
	for _, p := range chosen {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d := p.Description()
		r := sdktest.Check(p, sdktest.Settings{Options: s.Options, Records: s.Records})
		reports = append(reports, Report{Kind: d.Kind, Name: d.Name, Passed: r.Passed, Findings: r.Findings, Notes: r.Notes, NsPerRow: r.NsPerRow})
	}
	return reports, ctx.Err()
}

func missingOptions(described []wire.Option, given sdktest.Options) (out []wire.Option) {
	for _, o := range described {
		if _, ok := given[o.Name]; o.Required && !ok {
			out = append(out, o)
		}
	}
	return out
}

// Incomplete says what is needed before a plugin can be tried.
type Incomplete struct {
	Kind    wire.Kind
	Name    string
	Missing []wire.Option // required options that were not given
	Only    string        // a plugin that the executable does not serve
	Served  []string
}

func (e *Incomplete) Error() string {
	if len(e.Missing) == 0 {
		return fmt.Sprintf("the executable has no %s; it serves %v", e.Only, e.Served)
	}
	text := fmt.Sprintf("the %s %q cannot be tried without its required options; give", e.Kind, e.Name)
	for _, o := range e.Missing {
		text += fmt.Sprintf(" --option %s=VALUE (%s, %s)", o.Name, o.Type, o.Help)
	}
	return text
}
