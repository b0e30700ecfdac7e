package host

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin/runner"
	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// processRunner starts and ends one process for go-plugin. Beyond what go-plugin's own does, it starts from a thread that lasts, keeps the
// process in a group of its own, tells it through a pipe when the daemon dies, cleans standard output before the handshake, and notices
// the end of the process even if one of its children still holds the pipes.
type processRunner struct {
	cmd     *exec.Cmd
	group   bool
	policy  *config.PluginPolicy
	spawner *spawner
	guard   *guard
	clock   clock.Clock

	stdout *io.PipeReader // the handshake
	filter *stdoutFilter
	stderr *stderrTail
	outR   *os.File
	errR   *os.File
	live   *os.File // our end of the liveness pipe

	sockets string   // the folder in which the plugin makes its socket
	memory  *os.File // shared memory for the process to inherit, or nil; closed when the process has been started

	started bool // Start was called; false when go-plugin has given up before
	pid     atomic.Int64
	aborted atomic.Bool
	killed  atomic.Bool   // by us
	exited  chan struct{} // closed when the process has been waited for
	// drained is closed behind it, when nothing is read from the process any more.
	drained chan struct{}
	err     error // of cmd.Wait; valid after exited
	// limitErr is why the limits of the process could not be set; it has been killed then.
	limitErr error
}

var _ runner.Runner = (*processRunner)(nil)

// drainAfterExit is how long the pipes of a dead process may still bring something: what it wrote last is read, and a child that it has
// detached does not hold us up.
const drainAfterExit = 500 * time.Millisecond

// endGrace is how long a process that has closed its standard output may take to end.
const endGrace = 300 * time.Millisecond

func newProcessRunner(cmd *exec.Cmd, group bool, policy *config.PluginPolicy, s *spawner, g *guard, c clock.Clock, log *pluginLog) *processRunner {
	r, w := io.Pipe()
	return &processRunner{cmd: cmd, group: group, policy: policy, spawner: s, guard: g, clock: c, stdout: r, exited: make(chan struct{}), drained: make(chan struct{}),
		filter: &stdoutFilter{out: w, log: log.printed, over: make(chan struct{})}, stderr: &stderrTail{log: log, over: make(chan struct{})}}
}

// Start implements runner.Runner.
func (r *processRunner) Start(context.Context) error {
	r.started = true
	var files [6]*os.File
	for i := 0; i < len(files); i += 2 {
		var err error
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			closeAll(files[:])
			r.never()
			return fmt.Errorf("make a pipe: %w", err)
		}
	}
	r.outR, r.cmd.Stdout = files[0], files[1]
	r.errR, r.cmd.Stderr = files[2], files[3]
	r.cmd.ExtraFiles, r.live = []*os.File{files[4]}, files[5]
	r.cmd.Env = append(r.cmd.Env, wire.LivenessKey+"=3")
	if r.memory != nil {
		r.cmd.ExtraFiles = append(r.cmd.ExtraFiles, r.memory)
		r.cmd.Env = append(r.cmd.Env, wire.MemoryKey+"=4")
	}
	err := r.spawner.start(r.cmd)
	closeAll([]*os.File{files[1], files[3], files[4]})
	if err != nil {
		closeAll([]*os.File{files[0], files[2], files[5]})
		r.never()
		return err
	}
	r.pid.Store(int64(r.cmd.Process.Pid))
	if r.group {
		r.guard.tell("+", r.cmd.Process.Pid)
	}
	if r.aborted.Load() {
		r.kill()
	}
	if err := limit(r.cmd.Process.Pid, r.policy); err != nil {
		r.kill()
		r.limitErr = err
		close(r.filter.over)
		close(r.stderr.over)
		go r.watch()
		<-r.exited
		return fmt.Errorf("set the limits of the process: %w", err)
	}
	go r.filter.run(r.outR)
	go r.stderr.run(r.errR)
	go r.watch()
	return nil
}

// never ends what waits for a process that has not come to life.
func (r *processRunner) never() {
	close(r.exited)
	close(r.drained)
	_ = r.filter.out.Close()
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// watch waits for the end of the process and of what it has started.
func (r *processRunner) watch() {
	waitExit(r.cmd.Process.Pid)
	if r.group {
		killGroup(r.cmd.Process.Pid, true) // the number is still taken, so this reaches nobody else
		r.guard.tell("-", r.cmd.Process.Pid)
	}
	r.err = r.cmd.Wait()
	close(r.exited)
	_ = r.live.Close()
	t := r.clock.NewTimer(drainAfterExit)
	defer t.Stop()
	select {
	case <-r.filter.over:
		select {
		case <-r.stderr.over:
		case <-t.C():
		}
	case <-t.C():
	}
	_ = r.outR.Close()
	_ = r.errR.Close()
	r.stderr.log.end()
	close(r.drained)
}

func (r *processRunner) kill() { killGroup(int(r.pid.Load()), r.group) }

// abort ends a process at any time, even while it is being started.
func (r *processRunner) abort() {
	r.aborted.Store(true)
	if r.pid.Load() != 0 {
		_ = r.Kill(context.Background())
	}
}

// state says how the process ended, once it has.
func (r *processRunner) state() string {
	if s := r.cmd.ProcessState; s != nil {
		return s.String()
	}
	return fmt.Sprint(r.err)
}

// Wait implements runner.Runner.
func (r *processRunner) Wait(context.Context) error {
	<-r.exited
	return nil // how it ended is told by Failure
}

// Kill implements runner.Runner.
func (r *processRunner) Kill(context.Context) error {
	if r.filter.ended() { // it is about to end by itself: how it ends is worth knowing
		t := r.clock.NewTimer(endGrace)
		defer t.Stop()
		select {
		case <-r.exited:
		case <-t.C():
		}
	}
	select {
	case <-r.exited:
	default:
		r.killed.Store(true)
		r.kill()
	}
	return nil
}

func (r *processRunner) Stdout() io.ReadCloser           { return r.stdout }
func (r *processRunner) Stderr() io.ReadCloser           { return io.NopCloser(strings.NewReader("")) } // it is read by us
func (r *processRunner) Name() string                    { return r.cmd.Path }
func (r *processRunner) ID() string                      { return strconv.FormatInt(r.pid.Load(), 10) }
func (r *processRunner) Diagnose(context.Context) string { return "" }

// PluginToHost looks at where a plugin says that it listens. The daemon may be able to open more than the plugin is, and connects to nothing else
// than a socket in the folder that it has made for it.
func (r *processRunner) PluginToHost(network, address string) (string, string, error) {
	if runtime.GOOS == "windows" {
		return network, address, nil
	}
	info, err := os.Lstat(address)
	switch {
	case network != "unix":
		return "", "", fmt.Errorf("it listens on %s %q, and not on a unix socket", network, address)
	case filepath.Dir(filepath.Clean(address)) != r.sockets:
		return "", "", fmt.Errorf("its socket %q does not stand in PLUGIN_UNIX_SOCKET_DIR", address)
	case err != nil:
		return "", "", fmt.Errorf("look at its socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return "", "", fmt.Errorf("%q is no socket", address)
	}
	return network, address, nil
}

func (r *processRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
