package host

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"
)

// GuardCommand is the hidden verb under which the daemon's binary is the guard of its plugins.
const GuardCommand = "guard-plugins"

// guard is a process that ends plugins' process groups when the daemon is gone without having done so, as after SIGKILL. The kernel's
// parent-death signal and the pipe of the sdk end the plugins themselves; what a plugin has started is reached by neither.
//
// The daemon tells it the groups that live: "+PID" and "-PID", a line each. The end of these lines is the end of the daemon: the groups that
// are left are killed, and so is the guard's work done. It is started with the first plugin.
type guard struct {
	path string // "" = no guard
	args []string
	log  hclog.Logger

	mu   sync.Mutex
	cmd  *exec.Cmd
	pipe io.WriteCloser
	over bool // it cannot be started, has failed or was closed
}

// Guard is the guard's side: it returns when in has come to its end and what is left has been killed.
func Guard(in io.Reader) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	live := map[int]bool{}
	for s := bufio.NewScanner(in); s.Scan(); {
		line := s.Text()
		if len(line) < 2 {
			continue
		}
		if pid, err := strconv.Atoi(line[1:]); err == nil && pid > 1 {
			if line[0] == '+' {
				live[pid] = true
			} else {
				delete(live, pid)
			}
		}
	}
	for pid := range live {
		killGroup(pid, true)
	}
}

func (g *guard) tell(sign string, pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || g.path == "" || g.cmd == nil && sign == "-" {
		return
	}
	err := g.start()
	if err == nil {
		_, err = fmt.Fprintf(g.pipe, "%s%d\n", sign, pid)
	}
	if err != nil {
		g.log.Warn("nobody ends what plugins have started if this process is killed", "error", err)
		g.end()
	}
}

// start starts the guard's process if there is none. It is not in our group, so that what ends us does not end it, and it has nothing of
// ours but the pipe.
func (g *guard) start() error {
	if g.cmd != nil {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe to the guard of plugins: %w", err)
	}
	defer r.Close()
	cmd := exec.Command(g.path, g.args...)
	cmd.Stdin, cmd.Env, cmd.Dir = r, []string{}, "/"
	outOfGroup(cmd)
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return fmt.Errorf("start the guard of plugins: %w", err)
	}
	g.cmd, g.pipe = cmd, w
	return nil
}

// end lets the guard end; g.mu is held.
func (g *guard) end() {
	g.over = true
	if g.cmd != nil {
		_ = g.pipe.Close()
		_ = g.cmd.Wait()
		g.cmd = nil
	}
}

func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		g.end()
	}
}
