package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
)

func (a *app) topCommand() *cobra.Command {
	var t asking
	var every time.Duration
	var count int
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch a running daemon's pipelines",
		Long: `Watch a running daemon's pipelines: the table of status, again and again, until it is interrupted. With --json each look is a line.

The daemon may be stopped and started meanwhile.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return &exitError{code: exitConfig, err: fmt.Errorf("--every %s is too often; 100ms at the least", every)}
			}
			return t.ask(func(c *api.Client) error { return a.top(cmd.Context(), c, every, count) })
		},
	}
	t.add(cmd)
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "how often to look")
	cmd.Flags().IntVar(&count, "count", 0, "end after so many looks; 0 goes on")
	return cmd
}

func (a *app) top(ctx context.Context, c *api.Client, every time.Duration, count int) error {
	screen := false
	if f, ok := a.stdout.(*os.File); ok {
		info, err := f.Stat()
		screen = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 1; ; n++ {
		s, err := c.Status(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && n == 1:
			return err
		case a.json && err == nil:
			text, err := json.Marshal(s)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s\n", text)
		case !a.json:
			a.look(s, err, screen)
		}
		if n == count {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look prints one look: on a screen over the last one.
func (a *app) look(s *api.Status, err error, screen bool) {
	var b strings.Builder
	if screen {
		b.WriteString("\x1b[H\x1b[J") // to the corner, and clear what is below
	}
	if err != nil {
		fmt.Fprintf(&b, "%s: %v\n", time.Now().Format(time.TimeOnly), err)
	} else {
		state := "ready"
		if !s.Ready {
			state = "not ready"
		}
		fmt.Fprintf(&b, "%s  tidemark %s, up %s: %s\n", s.Now.Local().Format(time.TimeOnly), s.Version, span(s.Now.Sub(s.Started)), state)
		a.pipelineTable(&b, s)
		for _, p := range s.Pipelines {
			for _, line := range remarks(&p) {
				fmt.Fprintf(&b, "%s: %s\n", p.Name, line)
			}
		}
	}
	fmt.Fprint(a.stdout, b.String()) // at once, so that a screen does not flicker
}
