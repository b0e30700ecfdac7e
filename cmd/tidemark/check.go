package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/state"
)

func (a *app) checkCommand() *cobra.Command {
	var against string
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Check pipeline files without running them",
		Long: `Check pipeline files without running them: the TOML, every key and value, the plugins' options, expressions, the wiring, and whether what
they promise can be kept. Mistakes are told together, with their places and how to mend them; what can only be looked at when another one is
mended, such as the options of a plugin that is not there, comes after that.

With --against DIR it says what would become of the state there: which components keep theirs, which begin anew, and which would have to drop it,
which happens only with run --allow-reset NAME.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error { return a.check(files, against) },
	}
	cmd.Flags().StringVar(&against, "against", "", "state directory to compare with")
	return cmd
}

func (a *app) check(files []string, against string) error {
	h, err := a.host(logger(a.stderr, "error", false))
	if err != nil {
		return err
	}
	defer h.Close()
	var all []problem.Problem
	for _, file := range files {
		p, _, err := a.load(h, file)
		var problems *problem.Errors
		switch {
		case errors.As(err, &problems):
			all = append(all, problems.Problems...)
			continue
		case err != nil:
			return err
		case !a.json && against == "":
			fmt.Fprintf(a.stdout, "%s: ok (%s, %s, %s)\n", file, counted(len(p.Sources), "source", "sources"),
				counted(p.Transforms(), "transform", "transforms"), counted(len(p.Sinks), "sink", "sinks"))
		}
		if against != "" {
			if err := a.checkAgainst(p, against); err != nil {
				return err
			}
		}
	}
	if len(all) > 0 {
		return &problem.Errors{Problems: all}
	}
	if a.json && against == "" {
		a.print(map[string]any{"problems": []problem.Problem{}})
	}
	return nil
}

// checkAgainst says what becomes of each component's state. Its exit code is 1 when something needs consent.
func (a *app) checkAgainst(p *plan.Plan, dir string) error {
	return withState(dir, p.Name, func(_ *state.Store, st *checkpoint.State) error {
		type row struct {
			Component string           `json:"component"`
			Class     checkpoint.Class `json:"class"`
			Why       string           `json:"why"`
		}
		rows := []row{}
		consent := 0
		for _, c := range checkpoint.Compare(st.Components, pipeline.Components(p)) {
			rows = append(rows, row{c.Name, c.Class, c.Why()})
			if c.NeedsConsent() {
				consent++
			}
		}
		if a.json {
			a.print(rows)
		} else {
			w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
			for _, r := range rows {
				fmt.Fprintf(w, "%s\t%s\t%s\n", r.Component, r.Class, r.Why)
			}
			if err := w.Flush(); err != nil {
				return err
			}
		}
		if consent > 0 {
			return fmt.Errorf("%s drop state: run refuses without --allow-reset NAME for each", counted(consent, "component would", "components would"))
		}
		return nil
	})
}
