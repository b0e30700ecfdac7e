package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

// explainRunning answers for a pipeline that a daemon runs: when a window gives its result, and what it waits for.
func (a *app) explainRunning(ctx context.Context, dir, name string, o explainOptions) error {
	wrong := func(format string, args ...any) error {
		return &exitError{code: exitConfig, err: fmt.Errorf(format, args...)}
	}
	if len(o.inputs)+len(o.records) > 0 || o.late {
		return wrong("--input, --record and --late are about records that are fed; with --state the running pipeline is asked, which keeps none")
	}
	if len(o.windows) == 0 {
		return wrong("say with --window TIME which window of the running pipeline is meant: a moment that lies in it, as 2026-01-31T12:00:00Z")
	}
	t := asking{state: dir}
	return t.ask(func(c *api.Client) error {
		step := o.step
		if step == "" {
			p, err := c.Pipeline(ctx, name)
			if err != nil {
				return err
			}
			if step, err = onlyStep(p); err != nil {
				return err
			}
		}
		answers := []*pipeline.WindowExplanation{}
		for _, text := range o.windows {
			at := text[strings.LastIndexByte(text, '@')+1:] // the key makes no difference to time
			x, err := c.Explain(ctx, name, step, at)
			if err != nil {
				return err
			}
			answers = append(answers, x)
		}
		if a.json {
			a.print(answers)
			return nil
		}
		for _, x := range answers {
			a.windowExplanation(x)
		}
		return nil
	})
}

// onlyStep is the step with windows of a pipeline that has one.
func onlyStep(p *api.Pipeline) (string, error) {
	var names []string
	for _, s := range p.Status.Steps {
		names = append(names, s.Name)
	}
	switch len(names) {
	case 0:
		return "", &exitError{code: exitFailed, err: fmt.Errorf("pipeline %s has no steps with windows at work now; it is %s", p.Name, p.Status.State)}
	case 1:
		return names[0], nil
	}
	return "", &exitError{code: exitConfig, err: errors.New("say with --step which one is meant: " + strings.Join(names, ", "))}
}

func (a *app) windowExplanation(x *pipeline.WindowExplanation) {
	clock := "the watermark"
	if x.ByClock {
		clock = "the clock"
	}
	fmt.Fprintf(a.stdout, "%s: window %s to %s, watermark %s\n", x.Step, x.Start, x.End, x.Watermark)
	if x.Due {
		fmt.Fprintln(a.stdout, "  its result is due: it was given, unless the window had no record")
	} else {
		fmt.Fprintf(a.stdout, "  its result is due when %s has come to %s\n", clock, x.Fires)
	}
	for _, line := range x.Rules {
		fmt.Fprintln(a.stdout, "  "+line)
	}
	for _, line := range x.Waits {
		fmt.Fprintln(a.stdout, "  waits: "+line)
	}
}
