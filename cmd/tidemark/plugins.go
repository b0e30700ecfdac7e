package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/sdk"
)

func (a *app) pluginsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "List, describe, verify and write plugins",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the plugins that can be used, where they come from, and what hides what",
		Long:    "List the plugins that can be used, where they come from, and what hides what. Executables are started and asked what they serve.",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.pluginsList(cmd) },
	})
	cmd.AddCommand(a.pluginsDescribeCommand(), a.pluginsVerifyCommand(), a.pluginsNewCommand())
	return cmd
}

// notPlugins starts all executables and asks them what they serve: a file may have a plugin's name and be none. Those get a warning.
func notPlugins(ctx context.Context, h *host.Host, entries []host.Entry) []bool {
	broken := make([]bool, len(entries))
	var asked sync.WaitGroup
	for i := range entries {
		e := &entries[i]
		if e.Shipped {
			continue
		}
		asked.Go(func() {
			list, err := h.DescribeFile(ctx, e.Path)
			var failed *host.Failure
			switch {
			case errors.As(err, &failed):
				e.Warning = failed.Detail
			case err != nil:
				e.Warning = err.Error()
			case !slices.ContainsFunc(list, func(d sdk.Description) bool { return d.Kind == e.Kind && d.Name == e.Name }):
				e.Warning = fmt.Sprintf("it serves no %s %s", e.Kind, e.Name)
			default:
				return
			}
			broken[i] = true
		})
	}
	asked.Wait()
	return broken
}

func (a *app) pluginsList(cmd *cobra.Command) error {
	h, err := a.host(logger(a.stderr, "error", false))
	if err != nil {
		return err
	}
	defer h.Close()
	entries := h.Plugins(nil, "").List(cmd.Context())
	broken := notPlugins(cmd.Context(), h, entries)
	if a.json {
		type row struct {
			Kind    string `json:"kind"`
			Name    string `json:"name"`
			Origin  string `json:"origin"`
			Used    bool   `json:"used"` // by pipelines; if it is broken they are refused
			Broken  bool   `json:"broken,omitempty"`
			Why     string `json:"why,omitempty"`
			Warning string `json:"warning,omitempty"`
		}
		rows := []row{}
		for i, e := range entries {
			rows = append(rows, row{string(e.Kind), e.Name, e.Origin(), e.Used, broken[i], e.Why, e.Warning})
		}
		a.print(rows)
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tNAME\tORIGIN\tUSED\tWHY")
	for i, e := range entries {
		used := "yes"
		switch {
		case !e.Used:
			used = "no"
		case broken[i]:
			used = "broken"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.Kind, e.Name, e.Origin(), used, e.Why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range entries { // behind the table, which their length would spoil
		if e.Warning != "" {
			fmt.Fprintf(a.stdout, "%s %s: %s\n", e.Kind, e.Name, e.Warning)
		}
	}
	return nil
}
