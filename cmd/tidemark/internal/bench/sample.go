package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/procstat"
	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
)

// Sample is one run of one contestant.
type Sample struct {
	Round   int     `json:"round"`
	Seconds float64 `json:"seconds"` // of the whole program, from its start to its end
	// CPUSeconds are those of all processes; DaemonSeconds those of the daemon alone, 0 if it does not say.
	CPUSeconds    float64 `json:"cpu_seconds"`
	DaemonSeconds float64 `json:"daemon_cpu_seconds,omitempty"`
	PeakDaemon    int64   `json:"peak_daemon_bytes"`
	PeakPlugins   int64   `json:"peak_plugins_bytes"`
	PeakTogether  int64   `json:"peak_together_bytes,omitempty"` // of all processes at one time, pages that they share once
	// FirstRecord is when the first record was taken, in seconds from the start; 0 if the program does not say.
	FirstRecord float64   `json:"first_record_seconds,omitempty"`
	Stats       *RunStats `json:"stats,omitempty"`
	Latency     *Latency  `json:"latency,omitempty"`
	Recovery    *Recovery `json:"recovery,omitempty"`
	Whole       *Whole    `json:"whole,omitempty"` // of a peer that tells what its job alone took, which then stands above
	OutputHash  uint64    `json:"output_hash,string"`
	Wrong       string    `json:"wrong,omitempty"` // what is wrong with the results

	begun   time.Time
	written int64 // bytes of the output, of a run to compare others with
}

// child is a run of the program in a directory of its own.
type child struct {
	b    *bencher
	p    *prepared
	c    Contestant
	dir  string
	name string // of profiles
}

// newChild writes the pipeline's file. inputs are paths, or addresses to connect to.
func (b *bencher) newChild(p *prepared, c Contestant, round int, inputs []string) (*child, error) {
	dir, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return nil, err
	}
	x := &child{b: b, p: p, c: c, dir: dir, name: fmt.Sprintf("%s-%s-%d", p.Name, strings.ReplaceAll(c.Name, " ", "-"), round)}
	if c.limit || c.peer != nil {
		return x, nil
	}
	r := workload.Run{
		Inputs: inputs, Output: x.output(), InProcess: c.mode.inProcess(), MTLS: c.mode == Encrypted,
		Checkpoint: b.Checkpoint, AtLeastOnce: c.mode == AtLeastOnce, UserPlugin: []string{c.binary, AssignerCommand},
	}
	if c.mode == NoCheckpoint {
		r.Checkpoint = 24 * time.Hour
	}
	return x, os.WriteFile(x.file(), []byte(p.Pipeline(r)), 0o644)
}

func (x *child) output() string { return filepath.Join(x.dir, "results.jsonl") }
func (x *child) file() string   { return filepath.Join(x.dir, "pipeline.toml") }
func (x *child) stats() string  { return filepath.Join(x.dir, "stats.json") }

func (x *child) remove() { _ = os.RemoveAll(x.dir) } // what is left is in a temporary directory

// Hidden verbs that the program serves for its own benchmark.
const (
	AssignerCommand = "bench-assigner"
	LimitCommand    = "bench-limit"
)

// command makes the process of the program itself. With state, its state outlives it.
func (x *child) command(ctx context.Context, state string) *exec.Cmd {
	var args []string
	switch {
	case x.c.limit:
		args = []string{LimitCommand, x.p.path, x.output(), x.p.Size.String(), x.p.Bound().String()}
	default:
		args = []string{"run", x.file(), "--quiet"}
		if x.b.plain[x.c.binary] {
			break
		}
		args = append(args, "--stats", x.stats())
		if x.b.Profiles != "" {
			args = append(args, "--cpuprofile", filepath.Join(x.b.Profiles, x.name+".cpu"), "--memprofile", filepath.Join(x.b.Profiles, x.name+".mem"))
		}
	}
	if state != "" {
		args = append(args, "--state", state)
	}
	cmd := exec.CommandContext(ctx, x.c.binary, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+x.dir)
	if x.c.mode == OneCore {
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1")
	}
	if x.p.Memory > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GOMEMLIMIT=%d", x.p.Memory*3/4)) // the store's cache is outside of it
	}
	cmd.WaitDelay = 10 * time.Second // a plugin that stays behind with our pipe must not hold us
	return cmd
}

// finish starts a process, waits for it, and fills in what it has used. meanwhile runs beside it.
func (x *child) finish(ctx context.Context, cmd *exec.Cmd, meanwhile func(ctx context.Context) error) (s Sample, err error) {
	stderr := &tail{}
	cmd.Stderr = stderr
	s.begun = time.Now()
	if err := cmd.Start(); err != nil {
		return s, err
	}
	w := procstat.Watching(cmd.Process.Pid)
	beside := make(chan error, 1)
	running, ended := context.WithCancel(ctx)
	defer ended()
	go func() {
		var err error
		if meanwhile != nil {
			if err = meanwhile(running); err != nil && running.Err() == nil {
				_ = cmd.Process.Kill() // it would wait for what does not come
			}
		}
		beside <- err
	}()
	err = cmd.Wait()
	s.Seconds = time.Since(s.begun).Seconds()
	ended()
	peaks := w.Stop()
	s.PeakDaemon, s.PeakPlugins, s.PeakTogether = peaks.Process, peaks.Others, peaks.Together
	s.CPUSeconds = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if other := <-beside; other != nil && !errors.Is(other, context.Canceled) {
		if err != nil && !errors.Is(other, errKilled) {
			other = fmt.Errorf("%w\n%s", other, stderr)
		}
		return s, other
	}
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	if err != nil {
		return s, fmt.Errorf("%s %s: %w\n%s", filepath.Base(cmd.Path), strings.Join(cmd.Args[1:], " "), err, stderr)
	}
	if x.c.peer != nil {
		return s, x.readJobStats(&s)
	}
	return s, x.readStats(&s)
}

func (x *child) readStats(s *Sample) error {
	data, err := os.ReadFile(x.stats())
	if err != nil {
		return nil // an older binary, or the prototype
	}
	s.Stats = &RunStats{}
	if err := json.Unmarshal(data, s.Stats); err != nil {
		return fmt.Errorf("figures of the run: %w", err)
	}
	s.DaemonSeconds = s.Stats.Process.CPUSeconds()
	s.PeakDaemon = max(s.PeakDaemon, s.Stats.Process.PeakBytes)
	if at := s.Stats.Progress.FirstRecord; !at.IsZero() {
		s.FirstRecord = at.Sub(s.begun).Seconds()
	}
	return nil
}

// judge checks the results. Results that have the bytes of right ones are right.
func (x *child) judge(s *Sample) (err error) {
	if s.OutputHash, err = hashOutput(x.output()); err != nil {
		return err
	}
	if _, known := x.b.right[x.p.Name][s.OutputHash]; known {
		return nil
	}
	if _, s.Wrong, err = x.p.check(x.output()); err == nil && s.Wrong == "" {
		x.b.right[x.p.Name][s.OutputHash] = struct{}{}
	}
	return err
}

func hashOutput(output string) (uint64, error) {
	h := xxh3.New()
	err := eachFile(output, func(in io.Reader) error {
		_, err := io.Copy(h, in)
		return err
	})
	return h.Sum64(), err
}

// tail keeps the end of what a program has said.
type tail struct{ text []byte }

const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.text) }
