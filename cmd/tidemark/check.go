package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Check pipeline files without running them",
		Long: `Check pipeline files without running them: the TOML, every key and value, the plugins' options, expressions, the wiring, and whether what
they promise can be kept. Every mistake is told, with its place and how to mend it.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error { return a.check(files) },
	}
}

func (a *app) check(files []string) error {
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
		case err != nil:
			return err
		case !a.json:
			fmt.Fprintf(a.stdout, "%s: ok (%d sources, %d transforms, %d sinks)\n", file, len(p.Sources), len(p.Steps), len(p.Sinks))
		}
	}
	if len(all) > 0 {
		return &problem.Errors{Problems: all}
	}
	if a.json {
		a.print(map[string]any{"problems": []problem.Problem{}})
	}
	return nil
}
