package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/heap"
	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/state"
)

// runOptions are the flags of `run`.
type runOptions struct {
	state    string
	quiet    bool
	logLevel string
	stop     time.Duration
	reset    []string
	measures measures
}

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run FILE...",
		Short: "Run pipelines in the foreground until their sources end",
		Long: `Run pipelines in the foreground until their sources end, or until it is interrupted: then what was read is committed and the
pipelines stop where they are. With --state they go on from there the next time. A pipeline that fails starts again from its last
commit, but one that cannot even start, because a file is not there or a port is taken, ends.

Each pipeline ends with its figures on stderr: a line for all of it, and for each component what came in and what became of it. When
such an account does not close the program says so and exits with 1. After a failure and a restart the first line counts again what
was read again, and the accounts are those since the restart. With --state they begin anew with each run; a sink's has what was waiting
for it.

Records that cannot be used, and late ones that no sink reads, are set aside in the state as dead letters: without --state they are
counted, and gone at the end. Records that could not be used do not change the exit code, whatever their number; neither does a file
that breaks off (a .gz that was cut, say): what came before the break is used, and the break is a dead letter of its own, told with the
figures.`,
		Example: "  tidemark run examples/quickstart/pipeline.toml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			return a.run(cmd.Context(), args, o)
		},
	}
	cmd.Flags().StringVar(&o.state, "state", "", "directory for state that outlives the run (default: a temporary one)")
	cmd.Flags().StringArrayVar(&o.reset, "allow-reset", nil, "component whose state may be dropped, because the pipeline has changed so that it is of no use any more (may be given several times)")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "no summary")
	cmd.Flags().StringVar(&o.logLevel, "log-level", "warn", "trace, debug, info, warn or error")
	cmd.Flags().DurationVar(&o.stop, "stop-timeout", 30*time.Second, "how long an orderly stop may take")
	o.measures.flags(cmd)
	return cmd
}

func (a *app) run(ctx context.Context, files []string, o runOptions) error {
	if err := o.measures.begin(); err != nil {
		return err
	}
	defer heap.Keep(0)()
	h, err := a.host(logger(a.stderr, o.logLevel, false))
	if err != nil {
		return err
	}
	defer h.Close()
	log := logger(a.stderr, o.logLevel, false)

	dir := o.state
	if dir == "" {
		if dir, err = os.MkdirTemp("", "tidemark-state-"); err != nil {
			return &exitError{code: exitEnvironment, err: err}
		}
		defer os.RemoveAll(dir)
	}
	var pipelines []*pipeline.Pipeline
	var plans []*plan.Plan
	names := map[string]string{}
	for _, file := range files {
		p, view, err := a.load(h, file)
		if err != nil {
			return err
		}
		if other, twice := names[p.Name]; twice && other == file {
			return &exitError{code: exitConfig, err: fmt.Errorf("%s is given twice", file)}
		} else if twice {
			return &exitError{code: exitConfig, err: fmt.Errorf("%s and %s are both named %q; give one of them another name in [pipeline]", other, file, p.Name)}
		}
		names[p.Name] = file
		plans = append(plans, p)
		pipelines = append(pipelines, pipeline.New(p, pipeline.Settings{
			Clock: clock.System(), Plugins: view, StateDir: filepath.Join(dir, p.Name), Ephemeral: o.state == "", Foreground: true, Log: log.With("pipeline", p.Name), StopTimeout: o.stop, AllowReset: o.reset,
		}))
	}
	if err := o.checkReset(plans); err != nil {
		return err
	}
	if o.state != "" {
		defer askable(files, pipelines).serve(dir, h, log)()
	}
	o.measures.follow(pipelines)
	errs := make([]error, len(pipelines))
	var wait sync.WaitGroup
	for i, p := range pipelines {
		wait.Go(func() { errs[i] = p.Run(ctx) })
	}
	if err := a.inTime(ctx, o.stop, func() error { wait.Wait(); return nil }); err != nil {
		return err
	}
	var summaries []pipeline.Summary
	for i, p := range pipelines {
		s := p.Summary()
		summaries = append(summaries, s)
		if errs[i] == nil && p.State() == pipeline.Finished {
			if err := s.Check(); err != nil {
				errs[i] = err
			}
		}
		if errs[i] == nil && o.state == "" {
			if n := undelivered(s); n > 0 {
				errs[i] = fmt.Errorf("%s not delivered, and lost with the temporary state; with --state DIR the next run delivers them", counted(n, "result was", "results were"))
			}
		}
		var start *pipeline.StartError
		if !o.quiet && !errors.As(errs[i], &start) && (errs[i] == nil || s.In > 0) { // there are no figures of what has not begun
			a.summary(s, errs[i] != nil)
			if s.DeadLetters > 0 && o.state == "" && !a.json {
				fmt.Fprintf(a.stderr, "%s: %s; keep them with --state DIR, for `tidemark deadletters`, or give the ports errors and late to a sink\n", s.Pipeline, setAside(s.DeadLetters))
			}
		}
		if errs[i] != nil && len(pipelines) > 1 {
			errs[i] = fmt.Errorf("pipeline %s: %w", s.Pipeline, errs[i])
		}
	}
	return classify(errors.Join(append(errs, o.measures.end(summaries))...))
}

// setAside says what goes with a temporary state.
func setAside(n int64) string {
	if n == 1 {
		return "1 record was set aside, and goes with the temporary state"
	}
	return grouped(n) + " records were set aside, and go with the temporary state"
}

// undelivered is the number of results that no sink has taken.
func undelivered(s pipeline.Summary) (n int64) {
	for _, k := range s.Sinks {
		n += k.Waiting
	}
	return n
}

// check refuses flags whose value would be ignored.
func (o *runOptions) check(cmd *cobra.Command) error {
	if hclog.LevelFromString(o.logLevel) == hclog.NoLevel {
		return &exitError{code: exitConfig, err: fmt.Errorf("--log-level %q is not trace, debug, info, warn or error", o.logLevel)}
	}
	if cmd.Flags().Changed("state") && o.state == "" {
		return &exitError{code: exitConfig, err: errors.New("--state is empty; name a directory, or leave it out for a temporary one")}
	}
	return notAFile(o.state)
}

// classify gives a failure its exit code: what the environment did wrong is 3.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var s *state.Error
	var start *pipeline.StartError
	if errors.As(err, &s) || errors.As(err, &start) || errors.Is(err, os.ErrPermission) {
		return &exitError{code: exitEnvironment, err: err}
	}
	return &exitError{code: exitFailed, err: err}
}

// summary prints a pipeline's figures: a line, one for each component with what came to it and what became of that, and one more for
// whatever deserves attention.
func (a *app) summary(s pipeline.Summary, failed bool) {
	if a.json {
		a.errPrint(s)
		return
	}
	fmt.Fprintf(a.stderr, "%s: %s in, %s fired, %s, %s late, %s dead-lettered, %.2f s, %s/s\n",
		s.Pipeline, counted(s.In, "record", "records"), counted(s.Firings, "window", "windows"), counted(s.Results, "result", "results"),
		grouped(s.Late), grouped(s.DeadLetters), s.Seconds, counted(int64(s.PerSecond), "record", "records"))
	for _, b := range s.Balance {
		rest := ""
		if n := b.UnderWay(); failed && n > 0 {
			rest = fmt.Sprintf(" + %d under way", n)
		}
		fmt.Fprintf(a.stderr, "%s: %s%s\n", s.Pipeline, b, rest)
	}
	for _, line := range s.Remarks() {
		fmt.Fprintf(a.stderr, "%s: %s\n", s.Pipeline, line)
	}
}

// grouped writes a number with commas between groups of three digits.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	if n < 0 {
		return "-" + grouped(-n)
	}
	var b strings.Builder
	for i, c := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}
