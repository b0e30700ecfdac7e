package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

// program is the built binary at work.
type program struct {
	t        *trial
	cmd      *exec.Cmd
	tmp      string // its directory for temporary files, which tells its processes apart from others
	out, err output
	done     chan struct{}
	code     int
}

// output gathers what a program writes, while others look at it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// lines are the whole lines so far.
func (o *output) lines() []string { return wholeLines(o.String()) }

func wholeLines(text string) []string {
	text = text[:strings.LastIndexByte(text, '\n')+1]
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// tidemark starts the program with any arguments and, as "NAME=value", more environment. It is killed at the end of the test if it still
// runs then.
func (t *trial) tidemark(args []string, env ...string) *program {
	t.Helper()
	return t.launch(binary, args, env...)
}

// launch starts another build of it.
func (t *trial) launch(path string, args []string, env ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(path, args...), tmp: t.TempDir(), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = t.dir, append(append(os.Environ(), "TMPDIR="+p.tmp), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, p.cmd.Start())
	go func() {
		var exit *exec.ExitError
		if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
			p.err.Write([]byte("wait: " + err.Error()))
		}
		p.code = p.cmd.ProcessState.ExitCode()
		close(p.done)
	}()
	t.Cleanup(func() {
		select {
		case <-p.done:
		default:
			p.kill()
		}
		if t.Failed() {
			t.Logf("%v\nstdout: %s\nstderr: %s", args, brief(p.out.String()), brief(p.err.String()))
		}
	})
	return p
}

func brief(text string) string {
	if len(text) > 4000 {
		return text[:2000] + " … " + text[len(text)-2000:]
	}
	return text
}

// start runs a pipeline with state in the folder state, where a later start goes on.
func (t *trial) start(file string, env ...string) *program {
	t.Helper()
	return t.tidemark([]string{"run", "--json", "--state", "state", file}, env...)
}

// run runs a pipeline to its end, which has to be a good one.
func (t *trial) run(file string, env ...string) *program {
	t.Helper()
	p := t.start(file, env...)
	require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
	return p
}

// wait waits for the end and returns the exit code.
func (p *program) wait() int {
	p.t.Helper()
	p.t.until("the program ends", func() bool {
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
	return p.code
}

// stop interrupts the program, which has to end well.
func (p *program) stop() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(p.t, exitOK, p.wait(), "%s", p.err.String())
}

// kill ends it without a warning.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// summary is what the program has printed at its end, in its form for programs.
func (p *program) summary() pipeline.Summary {
	p.t.Helper()
	text := p.err.String()
	from := 0
	if !strings.HasPrefix(text, "{\n") {
		from = strings.LastIndex(text, "\n{\n") + 1
		require.Positive(p.t, from, "no summary: %s", text)
	}
	var s pipeline.Summary
	require.NoError(p.t, json.NewDecoder(strings.NewReader(text[from:])).Decode(&s), "%s", text)
	return s
}

// says requires all texts to stand in what the program has told people.
func (p *program) says(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		require.Contains(p.t, p.err.String(), text)
	}
}

// counted requires numbers of late and of rejected records.
func (p *program) counted(late, rejected int) {
	p.t.Helper()
	s := p.summary()
	require.Equal(p.t, []int64{int64(late), int64(rejected)}, []int64{s.Late, s.Rejected}, "late and rejected")
}
