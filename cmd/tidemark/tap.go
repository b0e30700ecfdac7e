package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

func (a *app) tapCommand() *cobra.Command {
	var t asking
	var rate, rows int
	cmd := &cobra.Command{
		Use:   "tap PIPELINE COMPONENT",
		Short: "Show a sample of the rows that pass a source or a sink of a running pipeline",
		Long: `Show a sample of the rows that pass a source (as they came in, with their times) or a sink (as they go to its queue) of a running pipeline, until
it is interrupted. Rows never wait for it: those beyond --rate pass unseen. What a step gives is seen at the sinks that read it.`,
		Example: `  tidemark tap clicks views
  tidemark tap clicks out --rows 5`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.ask(func(c *api.Client) error { return a.tap(cmd.Context(), c, args[0], args[1], rate, rows) })
		},
	}
	t.add(cmd)
	cmd.Flags().IntVar(&rate, "rate", 10, "rows a second at the most")
	cmd.Flags().IntVar(&rows, "rows", 0, "end after so many rows; 0 goes on")
	return cmd
}

func (a *app) tap(ctx context.Context, c *api.Client, name, component string, rate, rows int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := 0
	err := c.Tap(ctx, name, component, rate, func(row pipeline.TapRow) error {
		if a.json {
			text, err := json.Marshal(row)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s\n", text)
		} else if row.EventTime == batch.NoTimestamp { // at sinks: the row says its times itself
			fmt.Fprintln(a.stdout, row.Row)
		} else {
			fmt.Fprintf(a.stdout, "%s  %s\n", row.EventTime, row.Row)
		}
		if seen++; seen == rows {
			cancel()
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}
