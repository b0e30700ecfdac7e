//go:build unix && !linux

package host

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a process into a group of its own, see spawn_linux.go. The pipe of the sdk alone ends it with the daemon here.
func ownGroup(cmd *exec.Cmd, group bool) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: group} }
