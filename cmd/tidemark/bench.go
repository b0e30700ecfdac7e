package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/bench"
	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/limit"
	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
	"github.com/tidemark-stream/tidemark/sdk"
)

// benchOptions are the flags of `bench`.
type benchOptions struct {
	runs, warmup int
	kills        int
	size         string
	lines        int64
	modes        []string
	limit        bool
	vs           string
	peers        []string
	report       string
	dir          string
	profile      string
	checkpoint   time.Duration
	quiet        bool
}

func (a *app) benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [WORKLOAD...]",
		Short: "Measure this program on this machine, and check every result",
		Long: `Run this program on generated inputs as a user would, and measure it: records a second, processor time and peak memory of all processes,
checkpoints, allocations. All contestants take turns, so that ratios compare neighbours. Every run's results are compared with those of a
plain program on one thread; wrong ones make the benchmark fail.

` + workloadList() + `
Without names: w2b, w3, w5, w6 and w9. Inputs are made in a temporary directory, or once and for all in --dir; the full ones take some GB.

A --peer is told what to do by its environment: BENCH_INPUT is the file to read, BENCH_OUTPUT a directory for the results as JSON lines, and
docs/performance.md has the others.`,
		Example: "  tidemark bench w2b --limit\n  tidemark bench --size small\n  tidemark bench w2b --vs ./tidemark-before --dir /var/tmp/bench",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.bench(cmd, args, o) },
	}
	f := cmd.Flags()
	f.IntVar(&o.runs, "runs", 5, "runs that count; figures are their medians")
	f.IntVar(&o.warmup, "warmup", 1, "runs before them that do not")
	f.IntVar(&o.kills, "kills", 4, "how often a run of w8 or w8large is killed")
	f.StringVar(&o.size, "size", "full", "small takes a hundredth of everything: enough to see that all is right")
	f.Int64Var(&o.lines, "lines", 0, "at most so many lines of each workload")
	f.StringSliceVar(&o.modes, "mode", nil, "R: plugins as processes; I: inside the daemon; mtls: R, encrypted; nocp: I without checkpoints; onecore: I on one core; "+
		"alo: R, at least once (default: what is usual for the workload)")
	f.BoolVar(&o.limit, "limit", false, "take turns with a bare prototype of the same job: what this machine can do")
	f.StringVar(&o.vs, "vs", "", "another binary of this program to take turns with")
	f.StringArrayVar(&o.peers, "peer", nil, "NAME=PROGRAM ARGUMENT…: a program of somebody else's that does the job of w2a, w2b and w3, to take turns with; repeatable")
	f.StringVar(&o.report, "report", "", "file for the report as JSON, beside what is printed")
	f.StringVar(&o.dir, "dir", "", "directory that keeps the inputs for the next time")
	f.StringVar(&o.profile, "profile", "", "directory for processor and allocation profiles of the daemon; they cost a few percent")
	f.DurationVar(&o.checkpoint, "checkpoint", time.Second, "how often a run commits")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "do not tell what goes on")
	return cmd
}

func (a *app) bench(cmd *cobra.Command, names []string, o benchOptions) error {
	b, err := o.options(names)
	if err != nil {
		return &exitError{code: exitConfig, err: err}
	}
	if !o.quiet {
		b.Progress = a.stderr
	}
	if o.dir != "" {
		if err := os.MkdirAll(o.dir, 0o755); err != nil {
			return &exitError{code: exitEnvironment, err: err}
		}
	}
	report, failed := bench.Run(cmd.Context(), b)
	if report != nil {
		report.Finish()
		if err := writeReport(o.report, report); err != nil {
			return &exitError{code: exitEnvironment, err: fmt.Errorf("--report: %w", errors.Join(err, failed))}
		}
		if a.json {
			a.print(report)
		} else if err := report.Write(a.stdout); err != nil {
			return &exitError{code: exitEnvironment, err: err}
		}
		for _, wrong := range report.Wrong() {
			failed = errors.Join(failed, fmt.Errorf("wrong results: %s", wrong))
		}
	}
	return failed
}

// writeReport writes the report as JSON, if a file is wanted.
func writeReport(path string, report *bench.Report) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

func (o benchOptions) options(names []string) (b bench.Options, err error) {
	if len(names) == 0 {
		names = []string{"w2b", "w3", "w5", "w6", "w9"}
	}
	if o.kills < 1 {
		return b, fmt.Errorf("--kills %d: a run that is to recover has to be killed", o.kills)
	}
	if o.runs < 1 || o.warmup < 0 {
		return b, fmt.Errorf("--runs %d --warmup %d: at least one run has to count", o.runs, o.warmup)
	}
	for _, name := range names {
		w, err := workload.Find(name)
		if err != nil {
			return b, err
		}
		switch o.size {
		case "full":
		case "small":
			w = w.Small()
		default:
			return b, fmt.Errorf("--size %q is neither full nor small", o.size)
		}
		if o.lines > 0 {
			w.Input.Lines = min(w.Input.Lines, o.lines)
		}
		b.Workloads = append(b.Workloads, w)
	}
	for _, text := range o.modes {
		m, err := bench.ParseMode(text)
		if err != nil {
			return b, err
		}
		b.Modes = append(b.Modes, m)
	}
	for _, text := range o.peers {
		p, err := bench.ParsePeer(text)
		if err != nil {
			return b, fmt.Errorf("--peer: %w", err)
		}
		if slices.ContainsFunc(b.Peers, func(other bench.Peer) bool { return other.Name == p.Name }) {
			return b, fmt.Errorf("--peer: there are two of the name %s", p.Name)
		}
		b.Peers = append(b.Peers, p)
	}
	if b.Binary, err = os.Executable(); err != nil {
		return b, err
	}
	if o.vs != "" {
		if b.Other, err = exec.LookPath(o.vs); err != nil {
			return b, fmt.Errorf("--vs: %w", err)
		}
		if b.Other, err = filepath.Abs(b.Other); err != nil { // runs have folders of their own
			return b, fmt.Errorf("--vs: %w", err)
		}
	}
	b.Kills = o.kills
	b.Limit, b.Runs, b.Warmup, b.Dir, b.Profiles, b.Checkpoint = o.limit, o.runs, o.warmup, o.dir, o.profile, o.checkpoint
	return b, nil
}

// benchParts are the verbs that the benchmark starts this program with; they are of no use to anybody else.
func (a *app) benchParts() []*cobra.Command {
	serve := &cobra.Command{
		Use: bench.AssignerCommand, Hidden: true, Args: cobra.NoArgs, Short: "Serve the assigner of w10 as a plugin",
		Run: func(*cobra.Command, []string) { sdk.Serve(bench.UserAssigner()) },
	}
	prototype := &cobra.Command{
		Use: bench.LimitCommand + " INPUT OUTPUT SIZE BOUND", Hidden: true, Args: cobra.ExactArgs(4), Short: "Do the job of a benchmark with a bare prototype",
		RunE: func(_ *cobra.Command, args []string) error {
			size, err := time.ParseDuration(args[2])
			if err != nil {
				return &exitError{code: exitConfig, err: err}
			}
			bound, err := time.ParseDuration(args[3])
			if err != nil {
				return &exitError{code: exitConfig, err: err}
			}
			_, err = limit.Run(limit.Job{Input: args[0], Output: args[1], Size: size.Milliseconds(), Bound: bound.Milliseconds()})
			return err
		},
	}
	return []*cobra.Command{serve, prototype}
}
