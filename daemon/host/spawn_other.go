//go:build !linux

package host

import (
	"errors"
	"os/exec"

	"github.com/tidemark-stream/tidemark/daemon/config"
)

// waitExit cannot wait without taking the process away here; Wait does it all.
func waitExit(int) {}

func limit(_ int, p *config.PluginPolicy) error {
	if p != nil && (p.Memory > 0 || p.Files > 0 || p.Processes > 0) {
		return errors.New("limits of memory, files and processes need Linux")
	}
	return nil
}

func runAs(*exec.Cmd, string, string) error {
	return errors.New("running a plugin as another user needs Linux")
}

func otherUser(*exec.Cmd) (uid, gid int, other bool) { return 0, 0, false }
