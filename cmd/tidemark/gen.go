package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
)

// genOptions are the flags of `gen`. A flag that is not given leaves the workload's own value.
type genOptions struct {
	output   string
	count    int64
	seed     uint64
	keys     int
	rate     float64
	disorder int64
	skew     float64
	start    int64
	pad      int
	shape    string
	pipeline bool
}

func (a *app) genCommand() *cobra.Command {
	var o genOptions
	cmd := &cobra.Command{
		Use:   "gen WORKLOAD",
		Short: "Write the input of a benchmark: deterministic lines, out of order as much as wanted",
		Long: `Write the input of a benchmark to stdout or a file: events of made-up users, out of order, the same ones for ever for the same flags.

` + workloadList() + `
Event i has the time start + i/rate, less up to disorder; one of so many keys; a value with two decimals. Flags change what the workload says.`,
		Example: "  tidemark gen w2a > events.jsonl\n  tidemark gen w2b --count 1000000 --keys 50 -o events.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.gen(cmd, args[0], o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "file to write (default: stdout)")
	f.Int64Var(&o.count, "count", 0, "how many lines")
	f.Uint64Var(&o.seed, "seed", 0, "other seeds give other events")
	f.IntVar(&o.keys, "keys", 0, "how many different keys")
	f.Float64Var(&o.rate, "rate", 0, "events in a second of event time")
	f.Int64Var(&o.disorder, "disorder", 0, "ms by which an event may be older than its place says")
	f.Float64Var(&o.skew, "skew", 0, "0: keys are equally frequent; above 1: Zipf distributed with this exponent")
	f.Int64Var(&o.start, "start", 0, "event time of the first event, ms since 1970")
	f.IntVar(&o.pad, "pad", 0, "bytes of a further field, to make JSON lines longer")
	f.StringVar(&o.shape, "shape", "", "json or pairs")
	f.BoolVar(&o.pipeline, "pipeline", false, "write the pipeline that the benchmark runs on the lines instead of the lines; it reads them from the file that --output names, or events.jsonl")
	return cmd
}

// workloadList tells the workloads apart.
func workloadList() string {
	text := "Workloads:\n"
	for _, w := range workload.All() {
		text += fmt.Sprintf("  %-8s %s\n", w.Name, w.Title)
	}
	return text
}

func (a *app) gen(cmd *cobra.Command, name string, o genOptions) (err error) {
	w, err := workload.Find(name)
	if err != nil {
		return &exitError{code: exitConfig, err: err}
	}
	changed := cmd.Flags().Changed
	in := &w.Input
	if changed("count") {
		if in.Lines = o.count; o.count < 0 {
			return &exitError{code: exitConfig, err: fmt.Errorf("--count %d is negative", o.count)}
		}
	}
	if changed("seed") {
		in.Events.Seed = o.seed
	}
	if changed("keys") {
		in.Events.Keys = o.keys
	}
	if changed("rate") {
		in.Events.Rate = o.rate
	}
	if changed("disorder") {
		in.Events.Disorder = o.disorder
	}
	if changed("skew") {
		in.Events.Skew = o.skew
	}
	if changed("start") {
		in.Events.Start = o.start
	}
	if changed("pad") {
		if in.Pad = o.pad; o.pad < 0 {
			return &exitError{code: exitConfig, err: fmt.Errorf("--pad %d is negative", o.pad)}
		}
	}
	if changed("shape") {
		in.Shape = workload.Shape(o.shape)
	}
	if err := in.Check(); err != nil {
		return &exitError{code: exitConfig, err: err}
	}
	if o.pipeline {
		return a.genPipeline(w, o.output)
	}
	out := a.stdout
	if o.output != "" {
		f, err := os.Create(o.output)
		if err != nil {
			return &exitError{code: exitEnvironment, err: err}
		}
		defer func() {
			if closed := f.Close(); err == nil && closed != nil {
				err = &exitError{code: exitEnvironment, err: closed}
			}
		}()
		out = f
	}
	err = in.Write(out)
	if errors.Is(err, syscall.EPIPE) {
		return nil // `| head` has seen enough
	}
	if err != nil {
		return &exitError{code: exitEnvironment, err: err}
	}
	return nil
}

func (a *app) genPipeline(w workload.Workload, input string) error {
	if input == "" {
		input = "events.jsonl"
	}
	w.Way, w.Assigner = workload.FromFile, ""
	_, err := io.WriteString(a.stdout, w.Pipeline(workload.Run{Inputs: []string{input}, Output: "results.jsonl", Checkpoint: time.Second}))
	return err
}
