package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

func (a *app) pluginsDescribeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "describe KIND NAME | PATH",
		Short: "Say what a plugin is, reads and gives, and list its options",
		Long: `Say what a plugin is, what it reads and gives, and list its options with types and defaults.

KIND NAME is a plugin as a pipeline finds it: shipped, or in a --plugin-dir. PATH is any executable; it is started and asked what it serves.`,
		Example: "  tidemark plugins describe source file\n  tidemark plugins describe ./plugins/tidemark-assigner-highest",
		Args:    cobra.RangeArgs(1, 2),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.pluginsDescribe(cmd.Context(), args) },
	}
}

// described is a plugin with what is known about it from outside.
type described struct {
	wire.Description
	Origin   string `json:"origin"`
	Protocol int    `json:"protocol"`
}

func (a *app) pluginsDescribe(ctx context.Context, args []string) error {
	h, err := a.host(logger(a.stderr, "error", false))
	if err != nil {
		return err
	}
	defer h.Close()
	var all []described
	if len(args) == 2 {
		kind, err := pluginKind(args[0])
		if err != nil {
			return err
		}
		found, err := h.Plugins(nil, "").Describe(kind, args[1])
		if err != nil {
			return pluginError(h, kind, args[1], err)
		}
		all = append(all, described{found.Description, found.Origin, wire.ProtocolVersion})
	} else {
		e, err := h.OpenExecutable(ctx, args[0])
		if err != nil {
			return pluginError(h, "", args[0], err)
		}
		defer e.Close()
		for _, p := range e.Plugins {
			all = append(all, described{p.Description(), args[0], wire.ProtocolVersion})
		}
	}
	if a.json {
		a.print(all)
		return nil
	}
	for i, d := range all {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := d.write(a.stdout); err != nil {
			return err
		}
	}
	return nil
}

func pluginKind(text string) (sdk.Kind, error) {
	kinds := wire.Kinds()
	if i := slices.Index(kinds, sdk.Kind(text)); i >= 0 {
		return kinds[i], nil
	}
	return "", &exitError{code: exitConfig, err: fmt.Errorf("%q is no kind of plugin; the kinds are source, assigner, transform, aggregate, window and sink", text)}
}

// pluginError gives a failure about a plugin its code, its hint and exit code 2.
func pluginError(h *host.Host, kind sdk.Kind, name string, err error) error {
	var failed *host.Failure
	switch {
	case errors.As(err, &failed):
		return &problem.Errors{Problems: []problem.Problem{failed.Problem()}}
	case errors.Is(err, host.ErrNotFound):
		names := h.Plugins(nil, "").Names(kind)
		return &exitError{code: exitConfig, err: fmt.Errorf("there is no %s plugin %q; there are %s (more with --plugin-dir)", kind, name, strings.Join(names, ", "))}
	}
	return err
}

// write is the page for people.
func (d described) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "%s %s: %s\n", d.Kind, d.Name, d.Summary)
	fact := func(name, text string) { fmt.Fprintf(w, "  %s\t%s\n", name, text) }
	fact("origin", d.Origin)
	fact("version", or(d.Version, "not stated")+fmt.Sprintf(", plugin protocol %d", d.Protocol))
	for _, f := range d.facts() {
		fact(f[0], f[1])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(d.Options) > 0 {
		fmt.Fprintf(w, "\noptions, %s:\n", d.place())
		writeOptions(w, "", d.Options)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if d.Doc != "" {
		fmt.Fprintf(out, "\n%s\n", strings.TrimSpace(d.Doc))
	}
	return nil
}

// facts are the lines that depend on the kind.
func (d described) facts() (out [][2]string) {
	add := func(name, text string) { out = append(out, [2]string{name, text}) }
	reads := fieldList(d.Fields)
	if d.AllFields {
		reads = "all fields of a record, which is sent whole"
		if d.Kind.OfWindows() {
			reads = "the fields that its arguments name"
		}
	}
	if d.Raw {
		reads = strings.TrimPrefix(reads+", the record's own bytes", ", ")
	}
	switch d.Kind {
	case sdk.KindSource:
		add("gives", or(fieldList(d.Output), "raw records, which the pipeline decodes"))
		if d.NotReplayable {
			add("after a crash", "cannot be asked for the same records again; the daemon keeps a journal of them")
		} else {
			add("after a crash", "goes on behind the last commit")
		}
		if d.HoldsPartitions {
			add("max_drift", "keeps its partitions together")
		}
		if d.TakesRefusals {
			add("refused records", "are told to it, so that it can answer whoever sent them")
		}
		if d.Stdin {
			add("reads", "the standard input of tidemark")
		}
	case sdk.KindAssigner:
		add("style", string(d.Style))
		add("reads", or(reads, "nothing but its options and the timestamp"))
	case sdk.KindTransform:
		add("reads", or(reads, "nothing but its options"))
		add("gives", or(fieldList(d.Output), "fields that are known only while it runs"))
	case sdk.KindAggregate:
		add("reads", or(reads, "nothing but event times"))
		add("gives", "one value for each window ("+string(d.Output[0].Type)+")")
		add("state", "none of its own: the daemon keeps a window's records")
	case sdk.KindWindow:
		add("reads", or(reads, "nothing but event times"))
		add("gives", or(fieldList(d.Output), "fields that are known only while it runs")+", beside the window's keys and bounds")
		add("state", "none of its own: the daemon keeps a window's records")
	case sdk.KindSink:
		add("delivery", string(d.Delivery))
		takes := "columns"
		if d.Text {
			takes = "rows as formatted text"
		}
		add("takes", takes)
	}
	if d.Snapshots && !d.Kind.OfWindows() {
		add("state", "held by checkpoints")
	}
	return out
}

// place says where the options are written.
func (d described) place() string {
	switch d.Kind {
	case sdk.KindAssigner:
		return fmt.Sprintf("in [sources.NAME.time] beside assigner = %q", d.Name)
	case sdk.KindTransform:
		return fmt.Sprintf("in [transforms.NAME] beside plugin = %q", d.Name)
	case sdk.KindAggregate:
		return fmt.Sprintf("in [transforms.NAME.aggregate] as COLUMN = { plugin = %q, … }", d.Name)
	case sdk.KindWindow:
		return fmt.Sprintf("in [transforms.NAME] as function = { plugin = %q, … }", d.Name)
	}
	return fmt.Sprintf("in [%ss.NAME] beside plugin = %q", d.Kind, d.Name)
}

func fieldList(fields []wire.Field) string {
	var out []string
	for _, f := range fields {
		text := f.Name + " (" + string(f.Type)
		if f.Required {
			text += ", required"
		}
		out = append(out, text+")")
	}
	return strings.Join(out, ", ")
}

// writeOptions writes a line for each option; those of a table stand below it under their whole name.
func writeOptions(w io.Writer, prefix string, options []wire.Option) {
	for _, o := range options {
		about := string(o.Type)
		if o.Result != "" && o.Result != wire.AnyCell {
			about += " of " + string(o.Result)
		}
		if len(o.Enum) > 0 {
			about += ": " + strings.Join(o.Enum, " | ")
		}
		value := ""
		switch {
		case o.Required:
			value = "required"
		case o.Default != "":
			value = "default " + o.Default
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", prefix+o.Name, about, value, o.Help)
		writeOptions(w, prefix+o.Name+".", o.Options)
	}
}

func or(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}
