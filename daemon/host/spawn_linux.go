package host

import (
	"os/exec"
	"strconv"
	"syscall"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"golang.org/x/sys/unix"
)

// ownGroup puts a process into a group of its own: an interrupt from the terminal does not reach it before the daemon has drained, and
// the whole group can be killed. A process that reads the terminal must stay in the daemon's group, or the terminal stops it.
func ownGroup(cmd *exec.Cmd, group bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: group, Pdeathsig: syscall.SIGKILL}
}

// waitExit waits until a process has ended, and leaves it there, so that its number cannot be given to another one yet.
func waitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// limit sets the resource limits of a process that has just been started.
func limit(pid int, p *config.PluginPolicy) error {
	if p == nil {
		return nil
	}
	for _, l := range []struct {
		resource int
		value    int64
	}{{unix.RLIMIT_DATA, p.Memory}, {unix.RLIMIT_NOFILE, int64(p.Files)}, {unix.RLIMIT_NPROC, int64(p.Processes)}} {
		if l.value > 0 {
			v := unix.Rlimit{Cur: uint64(l.value), Max: uint64(l.value)}
			if err := unix.Prlimit(pid, l.resource, &v, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// runAs lets a process run as another user; only root may.
func runAs(cmd *exec.Cmd, uid, gid string) error {
	u, err := strconv.ParseUint(uid, 10, 32)
	if err != nil {
		return err
	}
	g, err := strconv.ParseUint(gid, 10, 32)
	if err != nil {
		return err
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(u), Gid: uint32(g)}
	return nil
}

// otherUser says as whom a process will run, if not as the daemon's user.
func otherUser(cmd *exec.Cmd) (uid, gid int, other bool) {
	c := cmd.SysProcAttr.Credential
	if c == nil {
		return 0, 0, false
	}
	return int(c.Uid), int(c.Gid), true
}
