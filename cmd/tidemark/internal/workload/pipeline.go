package workload

import (
	"fmt"
	"strings"
	"time"
)

// Run is what a pipeline's file depends on beside the workload.
type Run struct {
	Inputs     []string // path of the input, or the addresses to connect to: a source for each
	Output     string   // path of the results
	InProcess  bool     // the plugins run inside the daemon
	MTLS       bool     // the connections to the plugins are encrypted
	Checkpoint time.Duration
	// AtLeastOnce delivers results before they are committed.
	AtLeastOnce bool
	// UserPlugin is the executable and arguments of the user's assigner, for workloads that have one.
	UserPlugin []string
}

// Pipeline is the text of the pipeline's file.
func (w Workload) Pipeline(r Run) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# %s: %s", w.Name, w.Title)
	line("[pipeline]\nname = %q\n", w.Name)
	var names []string
	source := map[Way]string{FromFile: "file", FromSockets: "socket", Paced: "socket", FromGenerator: "generate"}[w.Way]
	assigner := "periodic"
	if w.Assigner != "" {
		assigner = w.Assigner
	}
	for i, input := range r.Inputs {
		name := "events"
		if len(r.Inputs) > 1 {
			name = fmt.Sprintf("events%d", i+1)
		}
		names = append(names, name)
		w.source(line, name, source, input, r)
		w.time(line, name, assigner, r)
	}
	result := w.step(line, quoted(names))
	line("[sinks.out]\nplugin = \"file\"\ninputs = [%q]\npath   = %q\nmode   = \"overwrite\"", result, r.Output)
	if r.AtLeastOnce {
		line("delivery = \"at_least_once\"")
	}
	line("\n[checkpoint]\ninterval = %q", r.Checkpoint)
	if w.Memory > 0 {
		line("\n[state]\nmemory = \"%dMiB\"\ncache = \"64MiB\"", w.Memory>>22) // a quarter of what the process may have: a checkpoint holds as much again
	}
	if w.Assigner != "" && len(r.UserPlugin) > 0 {
		line("\n[plugins.assigner-%s]\npath = %q\nargs = [%s]", w.Assigner, r.UserPlugin[0], quoted(r.UserPlugin[1:]))
		if r.MTLS {
			line("mtls = true")
		}
	} else if r.MTLS && w.Job != Stateless {
		line("\n[plugins.assigner-%s]\nmtls = true", assigner)
	}
	if r.MTLS {
		line("\n[plugins.source-%s]\nmtls = true", source)
	}
	return b.String()
}

// source writes one source.
func (w Workload) source(line func(string, ...any), name, plugin, input string, r Run) {
	line("[sources.%s]\nplugin = %q", name, plugin)
	switch w.Way {
	case FromSockets, Paced:
		line("network = %q\naddress = %q\nreconnect = false", w.network(), input)
	case FromGenerator:
		e := w.Input.Events
		line("records = \"events\"\ncount = %d\nkeys = %d\nevent_rate = %s\nstart = %q\ndisorder = \"%dms\"\nseed = %d", w.Input.Lines, e.Keys, float(e.Rate),
			time.UnixMilli(e.Start).UTC().Format(time.RFC3339), e.Disorder, e.Seed)
		if e.Skew != 0 {
			line("skew = %s", float(e.Skew))
		}
	default:
		line("path = %q", input)
	}
	if r.InProcess {
		line("isolation = \"none\"")
	}
	if w.Input.Shape == Pairs {
		line("decode = { format = \"delimited\", fields = [\"key:string\", \"ts:int\"] }\n")
	} else {
		line("decode = { format = \"json\" }\n")
	}
}

// time writes where a source's event time comes from.
func (w Workload) time(line func(string, ...any), name, assigner string, r Run) {
	if w.Job == Stateless {
		return
	}
	line("[sources.%s.time]\nassigner = %q", name, assigner)
	if w.Assigner == "" {
		line("timestamp = \"ts\"\nunit = \"ms\"\nmax_out_of_orderness = \"%dms\"", w.Input.Events.Disorder)
	}
	if r.InProcess && w.Assigner == "" {
		line("isolation = \"none\"")
	}
	line("")
}

// step writes the workload's transforms and returns the name of the last one.
func (w Workload) step(line func(string, ...any), inputs string) string {
	if w.Job == Stateless {
		line("[transforms.large]\ntype   = \"filter\"\ninputs = [%s]\nwhere  = \"value > 500\"\n", inputs)
		line("[transforms.slim]\ntype   = \"map\"\ninputs = [\"large\"]\nset    = { kind = \"'large'\" }\nkeep   = [\"key\", \"ts\", \"value\", \"kind\"]\n")
		return "slim"
	}
	line("[transforms.per_key]\ntype   = \"window\"\ninputs = [%s]\nkey_by = [\"key\"]", inputs)
	switch {
	case w.Gap > 0:
		line("window = { type = \"session\", gap = %q }", seconds(w.Gap))
	case w.Slide > 0:
		line("window = { type = \"sliding\", size = %q, slide = %q }", seconds(w.Size), seconds(w.Slide))
	default:
		line("window = { type = \"tumbling\", size = %q }", seconds(w.Size))
	}
	line("\n[transforms.per_key.aggregate]\nn   = \"count()\"")
	if w.Job == Totals {
		line("sum = \"sum(value)\"\nmin = \"min(value)\"\nmax = \"max(value)\"")
	}
	line("")
	return "per_key"
}

func (w Workload) network() string {
	if w.Network == "" {
		return "tcp"
	}
	return w.Network
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int64(d/time.Second)) }

// float writes a number so that TOML takes it for a float.
func float(f float64) string {
	text := fmt.Sprintf("%g", f)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

func quoted(args []string) string {
	var out []string
	for _, a := range args {
		out = append(out, fmt.Sprintf("%q", a))
	}
	return strings.Join(out, ", ")
}
