package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
)

// bencher is one benchmark on its way.
type bencher struct {
	Options
	dir   string
	plain map[string]bool                // binaries that cannot write down what they use
	right map[string]map[uint64]struct{} // hashes of outputs that were found right, by workload
	// undisturbed are runs to compare killed ones with, by workload and contestant.
	undisturbed map[string]Sample
}

// Run measures everything. The report is complete as far as it goes; the error says what could not be measured. Wrong results are no error
// but stand in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	b := &bencher{Options: o, dir: o.Dir, plain: map[string]bool{}, right: map[string]map[uint64]struct{}{}, undisturbed: map[string]Sample{}}
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "tidemark-bench-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		b.dir = dir
	}
	var err error
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return nil, err
	}
	if b.Profiles != "" {
		if err := os.MkdirAll(b.Profiles, 0o755); err != nil {
			return nil, err
		}
	}
	for _, binary := range []string{o.Binary, o.Other} {
		if binary != "" {
			b.plain[binary] = !b.measures(ctx, binary)
		}
	}
	report := newReport(o)
	var all []*prepared
	for _, w := range o.Workloads {
		p, err := b.prepare(w)
		if err != nil {
			return report, err
		}
		b.right[w.Name] = map[uint64]struct{}{}
		all = append(all, p)
		report.add(p, o.contestants(w))
	}
	return report, b.rounds(ctx, all, report)
}

// measures is whether a binary can write down what it uses.
func (b *bencher) measures(ctx context.Context, binary string) bool {
	out, _ := exec.CommandContext(ctx, binary, "run", "--stats", os.DevNull).CombinedOutput() // it misses its file; the question is what it says first
	return !strings.Contains(string(out), "unknown flag")
}

func (b *bencher) rounds(ctx context.Context, all []*prepared, report *Report) error {
	var failures []error
	failed := map[string]bool{} // what has failed once is not tried again
	for round := range b.Warmup + b.Runs {
		number := round - b.Warmup + 1 // below 1: it does not count
		for _, p := range all {
			contestants := b.contestants(p.Workload)
			for i := range contestants {
				c := contestants[(i+round)%len(contestants)]
				if failed[p.Name+c.Name] {
					continue
				}
				s, err := b.sample(ctx, p, c, number)
				if ctx.Err() != nil {
					return errors.Join(append(failures, context.Cause(ctx))...)
				}
				if err != nil {
					failed[p.Name+c.Name] = true
					failures = append(failures, fmt.Errorf("%s, %s: %w", p.Name, c.Name, err))
					b.tell("%s, %s: %v", p.Name, c.Name, err)
					continue
				}
				s.Round = number
				b.tell("%s", s.line(p, c))
				if number >= 1 || s.Wrong != "" {
					report.put(p.Name, c.Name, s)
				}
			}
		}
	}
	return errors.Join(failures...)
}

func (b *bencher) sample(ctx context.Context, p *prepared, c Contestant, round int) (Sample, error) {
	switch {
	case p.Way == workload.Paced:
		return b.latency(ctx, p, c, round)
	case p.Kill:
		return b.recovery(ctx, p, c, round)
	case p.Way == workload.FromSockets:
		return b.sockets(ctx, p, c, round)
	}
	x, err := b.newChild(p, c, round, []string{p.path})
	if err != nil {
		return Sample{}, err
	}
	defer x.remove()
	cmd := x.command(ctx, "")
	if c.peer != nil {
		if cmd, err = x.peerCommand(ctx); err != nil {
			return Sample{}, err
		}
	}
	s, err := x.finish(ctx, cmd, nil)
	if err != nil {
		return s, err
	}
	return s, x.judge(&s)
}

func (b *bencher) tell(format string, args ...any) {
	if b.Progress != nil {
		fmt.Fprintf(b.Progress, format+"\n", args...)
	}
}

// line is what is told about a sample at once.
func (s Sample) line(p *prepared, c Contestant) string {
	if s.Wrong != "" {
		return fmt.Sprintf("%s, %s: WRONG RESULTS: %s", p.Name, c.Name, s.Wrong)
	}
	run := fmt.Sprintf("run %d", s.Round)
	if s.Round < 1 {
		run = "warm-up"
	}
	text := fmt.Sprintf("%s, %s, %s: %.2f s, %s records/s", p.Name, c.Name, run, s.Seconds, millions(float64(p.Input.Lines)/s.Seconds))
	if s.Latency != nil {
		text += fmt.Sprintf(", p50 %.1f ms, p99 %.1f ms", s.Latency.P50, s.Latency.P99)
	}
	if s.Recovery != nil {
		for _, k := range s.Recovery.Kills {
			text += fmt.Sprintf("\n  killed %s after %.2f s: first record %.2f s and first new result %.2f s after the new start", k.Moment.words(), k.Lived, k.FirstRecord, k.FirstResult)
		}
	}
	return text
}
