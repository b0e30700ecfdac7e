//go:build unix

package host

import (
	"os/exec"
	"syscall"
)

// outOfGroup puts a process into a group of its own that outlives us.
func outOfGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a process and, if it has a group of its own, everything it has started.
func killGroup(pid int, group bool) {
	if group {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// alive is true for a process that runs.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
