package host

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd, bool) {}

func outOfGroup(*exec.Cmd) {}

func killGroup(pid int, _ bool) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func alive(int) bool { return true }
