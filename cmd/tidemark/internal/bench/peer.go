package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/baseline"
)

// Peer is a program of somebody else's for the same job: count, sum, min and max per key and tumbling window, of a file. It is told what to
// do by its environment, so that its arguments are its own:
//
//	BENCH_INPUT          path of the input, JSON lines with key, ts (ms) and value
//	BENCH_OUTPUT         an empty directory for the results: JSON lines as the program's own, with key, window_start and window_end (RFC 3339),
//	                     n, sum, min and max, in any number of files; names that begin with "." or "_" do not count
//	BENCH_WINDOW_MS      size of the windows
//	BENCH_BOUND_MS       how much older than the newest event so far an event may be
//	BENCH_CHECKPOINT_MS  how often to make sure of what has been done
//	BENCH_SCRATCH        an empty directory for state, checkpoints and temporary files
//	BENCH_STATS          file for a [JobStats], of a peer that can say more of its work than can be seen from outside
//
// It ends by itself, with 0 if all went well.
type Peer struct {
	Name    string
	Command []string // program and arguments
}

// ParsePeer reads NAME=PROGRAM ARGUMENT… A program without a slash is looked for in PATH; arguments cannot hold spaces.
func ParsePeer(text string) (Peer, error) {
	name, command, _ := strings.Cut(text, "=")
	p := Peer{Name: strings.TrimSpace(name), Command: strings.Fields(command)}
	if p.Name == "" || len(p.Command) == 0 {
		return p, fmt.Errorf("peer %q: write NAME=PROGRAM, or \"NAME=PROGRAM ARGUMENT…\"", text)
	}
	if !validPeer(p.Name) {
		return p, fmt.Errorf("peer %q: a name is made of letters, digits, dots, dashes and plus signs, and is not one of a way to run this program", p.Name)
	}
	path, err := exec.LookPath(p.Command[0])
	if err != nil {
		return p, fmt.Errorf("peer %s: %w", p.Name, err)
	}
	p.Command[0], err = filepath.Abs(path)
	return p, err
}

func validPeer(name string) bool {
	if _, err := ParseMode(name); err == nil || name == "limit" {
		return false
	}
	return strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-+") == ""
}

// JobStats is what a peer says of its job alone, without its start and without passes that only warm it up. It is believed, so that nobody is
// measured by how long a virtual machine takes to start.
type JobStats struct {
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Version    string  `json:"version,omitempty"` // what ran, and with which settings
}

// Whole is a peer's process from its start to its end, where the sample is about its job alone.
type Whole struct {
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Version    string  `json:"version,omitempty"`
}

func (x *child) scratch() string { return filepath.Join(x.dir, "scratch") }

// peerCommand makes the process of a peer, and the directories it may write to.
func (x *child) peerCommand(ctx context.Context) (*exec.Cmd, error) {
	for _, dir := range []string{x.output(), x.scratch()} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, x.c.peer[0], x.c.peer[1:]...)
	cmd.Env = append(os.Environ(),
		"TMPDIR="+x.scratch(),
		"BENCH_INPUT="+x.p.path,
		"BENCH_OUTPUT="+x.output(),
		"BENCH_WINDOW_MS="+strconv.FormatInt(x.p.Size.Milliseconds(), 10),
		"BENCH_BOUND_MS="+strconv.FormatInt(x.p.Bound().Milliseconds(), 10),
		"BENCH_CHECKPOINT_MS="+strconv.FormatInt(x.b.Checkpoint.Milliseconds(), 10),
		"BENCH_SCRATCH="+x.scratch(),
		"BENCH_STATS="+x.stats(),
	)
	cmd.WaitDelay = 10 * time.Second // as in command
	return cmd, nil
}

// readJobStats makes the sample one of the peer's job, if the peer says anything about that.
func (x *child) readJobStats(s *Sample) error {
	data, err := os.ReadFile(x.stats())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var job JobStats
	if err := json.Unmarshal(data, &job); err != nil {
		return fmt.Errorf("%s: what it wrote to BENCH_STATS: %w", x.c.Name, err)
	}
	if job.Seconds <= 0 || job.Seconds > s.Seconds || job.CPUSeconds < 0 {
		return fmt.Errorf("%s: what it wrote to BENCH_STATS cannot be: a job of %.3f s (%.3f s of CPU) in a process of %.3f s", x.c.Name, job.Seconds, job.CPUSeconds, s.Seconds)
	}
	s.Whole = &Whole{Seconds: s.Seconds, CPUSeconds: s.CPUSeconds, Version: job.Version}
	s.Seconds, s.CPUSeconds = job.Seconds, job.CPUSeconds
	return nil
}

// readOutput reads results from a file, or from all files of a directory.
func readOutput(output string, f func(*baseline.Row) error) error {
	return eachFile(output, func(in io.Reader) error { return baseline.ReadResults(in, f) })
}

func eachFile(output string, f func(in io.Reader) error) error {
	return filepath.WalkDir(output, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := path != output && strings.ContainsRune("._", rune(d.Name()[0]))
		switch {
		case hidden && d.IsDir():
			return fs.SkipDir
		case hidden || !d.Type().IsRegular():
			return nil
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		if err := f(in); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		return nil
	})
}
