package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

func (a *app) statusCommand() *cobra.Command {
	var t asking
	cmd := &cobra.Command{
		Use:   "status [PIPELINE]",
		Short: "Say how a running daemon and its pipelines do",
		Long: `Say how a running daemon and its pipelines do: what they are doing, how many records a second come in, how far event time has come and what it
waits for, when the last commit was made, and what is missing. With a pipeline's name, everything about it: partitions, accounts, sinks, plugin processes.

The daemon is asked through the socket in its state directory. The exit code is 1 when something is missing.`,
		Example: `  tidemark status
  tidemark status --state /var/lib/tidemark clicks`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.ask(func(c *api.Client) error { return a.status(cmd.Context(), c, strings.Join(args, "")) })
		},
	}
	t.add(cmd)
	return cmd
}

func (a *app) status(ctx context.Context, c *api.Client, name string) error {
	if name != "" {
		p, err := c.Pipeline(ctx, name)
		if err != nil {
			return err
		}
		if a.json {
			a.print(p)
		} else {
			a.onePipeline(p)
		}
		return unready(p.Ready)
	}
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if a.json {
		a.print(s)
		return unready(s.Ready)
	}
	ready := "ready"
	if !s.Ready {
		ready = "not ready"
	}
	fmt.Fprintf(a.stdout, "tidemark %s, process %d, up %s: %s\n", s.Version, s.PID, span(s.Now.Sub(s.Started)), ready)
	a.pipelineTable(a.stdout, s)
	for _, p := range s.Pipelines {
		for _, line := range remarks(&p) {
			fmt.Fprintf(a.stdout, "%s: %s\n", p.Name, line)
		}
	}
	for _, r := range s.Refused {
		rest := "it does not run"
		if r.Running {
			rest = "an older version goes on"
		}
		fmt.Fprintf(a.stdout, "refused, %s: %s\n", rest, r.Why)
	}
	return unready(s.Ready)
}

// unready is the exit code of something that is not ready, which has been told.
func unready(ready bool) error {
	if ready {
		return nil
	}
	return &exitError{code: exitFailed, err: fmt.Errorf("not ready"), silent: true}
}

// pipelineTable is a line for each pipeline.
func (a *app) pipelineTable(out io.Writer, s *api.Status) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "PIPELINE\tSTATE\tRECORDS/S\tRECORDS\tWATERMARK\tLAG\tLAST COMMIT\tRESTARTS")
	for _, p := range s.Pipelines {
		lag, commit := "-", "-"
		if p.Lag != nil {
			lag = span(time.Duration(*p.Lag * float64(time.Second)))
		}
		if last := p.Summary.Checkpoints.Last; last != nil {
			commit = fmt.Sprintf("%d, %s ago", last.Number, span(s.Now.Sub(last.At)))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", p.Name, p.Status.State, grouped(int64(p.PerSecond)), grouped(p.Summary.In), p.Watermark, lag, commit, p.Status.Restarts)
	}
	_ = w.Flush()
}

// remarks are what is missing, and what event time waits for.
func remarks(p *api.Pipeline) (lines []string) {
	for _, why := range p.NotReady {
		lines = append(lines, "not ready: "+why)
	}
	for _, s := range p.Status.Sources {
		if s.Waits {
			lines = append(lines, fmt.Sprintf("source %s waits for slower sources of its group (max_drift)", s.Name))
		}
		if s.Holds != nil && stands(p, &s) {
			lines = append(lines, fmt.Sprintf("source %s stands at %s: %s", s.Name, s.Watermark, s.Holds.Why))
		}
	}
	return lines
}

// stands is true when a source's watermark has not risen for longer than it takes between two batches.
func stands(p *api.Pipeline, s *pipeline.SourceStatus) bool {
	for _, part := range s.Partitions {
		if part.Name == s.Holds.Partition {
			return p.Status.Now.Sub(part.Rose) > 5*time.Second
		}
	}
	return true
}

// onePipeline tells everything about one.
func (a *app) onePipeline(p *api.Pipeline) {
	a.pipelineTable(a.stdout, &api.Status{Now: p.Status.Now, Pipelines: []api.Pipeline{*p}})
	fmt.Fprintf(a.stdout, "file %s, %s for %s\n", p.File, p.Status.State, span(p.Status.Now.Sub(p.Status.Since)))
	for _, line := range remarks(p) {
		fmt.Fprintln(a.stdout, line)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "\nPARTITION\tSTATE\tWATERMARK\tLAST HEARD")
	for _, s := range p.Status.Sources {
		for _, part := range s.Partitions {
			fmt.Fprintf(w, "%s/%s\t%s\t%s\t%s ago\n", s.Name, part.Name, part.State, part.Watermark, span(p.Status.Now.Sub(part.Active)))
		}
	}
	if len(p.Status.Steps) > 0 {
		fmt.Fprintln(w, "\nSTEP\tOPEN WINDOWS\tWATERMARK\tLATE")
		for _, s := range p.Status.Steps {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, grouped(s.Open), s.Watermark, grouped(s.Late))
		}
	}
	fmt.Fprintln(w, "\nPROCESS\tPLUGIN\tPID\tUP")
	for _, proc := range p.Processes {
		fmt.Fprintf(w, "%s\t%s %s\t%d\t%s\n", proc.Component, proc.Kind, proc.Plugin, proc.PID, span(p.Status.Now.Sub(proc.Since)))
	}
	_ = w.Flush()
	fmt.Fprintln(a.stdout)
	for _, b := range p.Summary.Balance {
		fmt.Fprintln(a.stdout, b)
	}
}

// span writes a duration with two units at the most.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + span(-d)
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		d = d.Round(time.Second)
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
	default:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
	if text := d.String(); d%time.Minute != 0 {
		return text
	} else {
		return strings.TrimSuffix(text, "0s")
	}
}

func (a *app) pipelinesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pipelines",
		Short: "List a running daemon's pipelines; stop, drain, resume and restart them",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var ls asking
	list := &cobra.Command{Use: "ls", Short: "List the pipelines", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return ls.ask(func(c *api.Client) error {
			s, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				a.print(s.Pipelines)
				return nil
			}
			a.pipelineTable(a.stdout, s)
			return nil
		})
	}}
	ls.add(list)
	cmd.AddCommand(list)
	for _, v := range []struct{ use, verb, short, done, long string }{
		{"stop", "stop", "Commit and stop pipelines", "has stopped", "Commit what was read, and stop. Windows that are not complete stay in the state; none gives a result for it. The pipeline stays stopped until " +
			"`tidemark pipelines resume`, or until the daemon starts anew."},
		{"drain", "drain", "Bring pipelines to their end: every window gives its result", "has drained", "Stop reading, process what has been read, and then behave as at the end of the input: every window gives its result, also those that are not complete, " +
			"and all results are delivered. The verb returns when the sinks have taken them; if it is interrupted the drain goes on. The pipeline stays ended until `tidemark pipelines resume`, or until the daemon starts anew. " +
			"Time has come to its end for it then, so every record that comes after a resume is late: to go on later, use stop."},
		{"pause", "stop", "The same as stop", "has stopped", ""},
		{"resume", "resume", "Let stopped pipelines go on", "goes on", "Let pipelines go on that were stopped, have ended or have failed for good, from their last commit and with their files as they are now."},
		{"restart", "restart", "Stop pipelines and let them go on", "starts again", "Commit and stop, and go on with the file as it is now. A file with a mistake is refused, and the pipeline runs on as it was."},
	} {
		var t asking
		c := &cobra.Command{Use: v.use + " PIPELINE…", Short: v.short, Long: v.long, Args: cobra.MinimumNArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return t.ask(func(c *api.Client) error {
				for _, name := range args {
					if err := c.Order(cmd.Context(), name, v.verb); err != nil {
						return err
					}
					if !a.json {
						fmt.Fprintf(a.stdout, "%s %s\n", name, v.done)
					}
				}
				return nil
			})
		}}
		t.add(c)
		cmd.AddCommand(c)
	}
	return cmd
}
