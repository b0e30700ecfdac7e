package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
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
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.pluginsList(cmd) },
	})
	cmd.AddCommand(a.pluginsDescribeCommand(), a.pluginsVerifyCommand(), a.pluginsNewCommand())
	return cmd
}

func (a *app) pluginsList(cmd *cobra.Command) error {
	h, err := a.host(logger(a.stderr, "error", false))
	if err != nil {
		return err
	}
	defer h.Close()
	entries := h.Plugins(nil, "").List(cmd.Context())
	if a.json {
		type row struct {
			Kind    string `json:"kind"`
			Name    string `json:"name"`
			Origin  string `json:"origin"`
			Used    bool   `json:"used"`
			Why     string `json:"why,omitempty"`
			Warning string `json:"warning,omitempty"`
		}
		rows := []row{}
		for _, e := range entries {
			rows = append(rows, row{string(e.Kind), e.Name, e.Origin(), e.Used, e.Why, e.Warning})
		}
		a.print(rows)
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tNAME\tORIGIN\tUSED\tWHY")
	for _, e := range entries {
		used := "yes"
		if !e.Used {
			used = "no"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.Kind, e.Name, e.Origin(), used, e.Why)
		if e.Warning != "" {
			fmt.Fprintf(w, "\t\t%s\t\t\n", "warning: "+e.Warning)
		}
	}
	return w.Flush()
}
