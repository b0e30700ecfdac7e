package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/scenario"
)

// explainOptions are the flags of `explain`.
type explainOptions struct {
	inputs  []string
	windows []string
	step    string
	records []int
	source  string
	late    bool
	state   string
}

func (a *app) explainCommand() *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain FILE",
		Short: "Say in words what a pipeline does, and why it did what it did",
		Long: `Say in words what a pipeline does: its plan, and for each window what must be seen before it gives its result, when its state is
dropped, and what is late.

With --input the file's records go through the pipeline, whose sinks are replaced, and the sources do not end. Then it answers why a
window has not given its result (--window KEY@START), what became of a record (--record N) and why records were late (--late).

With --state the daemon that has the state directory answers for a pipeline that it runs: what the window waits for that a time lies in.`,
		Example: `  tidemark explain examples/quickstart/pipeline.toml
  tidemark explain p.toml --input clicks.json --window alice@2026-01-01T12:00:00Z
  tidemark explain p.toml --input clicks=a.json --input clicks=b.json --late
  tidemark explain clicks --state /var/lib/tidemark --window 2026-01-01T12:00:00Z`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.state != "" {
				return a.explainRunning(cmd.Context(), o.state, args[0], o)
			}
			return a.explain(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.inputs, "input", nil, "a file to be read, as SOURCE=PATH, or PATH where there is one source (may be given several times; each file is a partition)")
	f.StringArrayVar(&o.windows, "window", nil, "why has this window not given its result: KEY@START, several key fields with commas")
	f.StringVar(&o.step, "step", "", "the transform that --window means, where there are several with windows")
	f.IntSliceVar(&o.records, "record", nil, "what became of the N-th record of the input")
	f.StringVar(&o.source, "source", "", "the source that --record means, where there are several")
	f.StringVar(&o.state, "state", "", "ask the daemon with this state directory about its pipeline, whose name stands instead of FILE: what does the window wait for that --window TIME lies in")
	f.BoolVar(&o.late, "late", false, "why was each late record late")
	return cmd
}

func (a *app) explain(ctx context.Context, file string, o explainOptions) error {
	h, err := a.host(logger(a.stderr, "error", false))
	if err != nil {
		return err
	}
	defer h.Close()
	if len(o.inputs) == 0 {
		if len(o.windows)+len(o.records) > 0 || o.late {
			return &exitError{code: exitConfig, err: fmt.Errorf("--window, --record and --late are about records: add --input")}
		}
		p, _, err := a.load(h, file)
		if err != nil {
			return err
		}
		if a.json {
			a.print(map[string]any{"plan": p, "text": p.String(), "windows": p.Explain()})
			return nil
		}
		fmt.Fprint(a.stdout, p.String())
		if words := p.Explain(); words != "" {
			fmt.Fprint(a.stdout, "\n"+words)
		}
		return nil
	}
	r, list, err := scenario.NewReplay(file, scenario.Settings{Open: opener(h)})
	if err := list.Err(); err != nil {
		return err
	}
	if err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	defer r.Close()
	answers, err := a.replay(ctx, r, o)
	if err != nil {
		return err
	}
	if a.json {
		a.print(map[string]any{"answers": answers, "status": r.Status()})
		return nil
	}
	for _, answer := range answers {
		fmt.Fprintln(a.stdout, answer)
	}
	if o.late && len(r.Late()) == 0 {
		fmt.Fprintln(a.stdout, "No record was late.")
	}
	return nil
}

// replay feeds the inputs and collects the answers.
func (a *app) replay(ctx context.Context, r *scenario.Replay, o explainOptions) ([]scenario.Answer, error) {
	wrong := func(err error) error { return &exitError{code: exitConfig, err: err} }
	var questions []*scenario.WindowQuestion
	for _, text := range o.windows {
		q, err := scenario.ParseWindow(text)
		if err != nil {
			return nil, wrong(err)
		}
		q.Step = o.step
		if err := r.Watch(q); err != nil {
			return nil, wrong(err)
		}
		questions = append(questions, q)
	}
	var inputs []scenario.Input
	for _, text := range o.inputs {
		in, err := inputOf(r, text)
		if err != nil {
			return nil, wrong(err)
		}
		inputs = append(inputs, in)
	}
	if err := r.Feed(ctx, inputs...); err != nil {
		return nil, &exitError{code: exitFailed, err: err}
	}
	answers := []scenario.Answer{}
	for _, q := range questions {
		answer, err := r.Window(q)
		if err != nil {
			return nil, wrong(err)
		}
		answers = append(answers, answer)
	}
	for _, n := range o.records {
		answer, err := r.Record(o.source, n)
		if err != nil {
			return nil, wrong(err)
		}
		answers = append(answers, answer)
	}
	if o.late {
		answers = append(answers, r.Late()...)
	}
	if len(questions)+len(o.records) == 0 && !o.late {
		answers = append(answers, r.Standing()...)
	}
	return answers, nil
}

// inputOf takes SOURCE=PATH apart.
func inputOf(r *scenario.Replay, text string) (scenario.Input, error) {
	sources := r.Plan().Sources
	if name, rest, ok := strings.Cut(text, "="); ok && r.Plan().Source(name) != nil {
		return scenario.Input{Source: name, Path: rest}, nil
	}
	if len(sources) == 1 {
		return scenario.Input{Source: sources[0].Name, Path: text}, nil
	}
	var names []string
	for _, s := range sources {
		names = append(names, s.Name)
	}
	return scenario.Input{}, fmt.Errorf("--input %s: write SOURCE=PATH, where SOURCE is one of %s", text, strings.Join(names, ", "))
}
