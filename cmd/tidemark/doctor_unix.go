//go:build unix

package main

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Open files that a pipeline may need: tables of its store, and the pipes and sockets of its plugins.
const (
	filesAtRest     = 200
	filesOfPipeline = 600
)

// limits looks at what the system lets a process have.
func (d *doctor) limits() {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil {
		pipelines, _ := filepath.Glob(filepath.Join(d.cfg.Pipelines, "*.toml"))
		need := uint64(filesAtRest + filesOfPipeline*len(pipelines))
		if most := uint64(files.Max); most < need {
			d.warn("limits", "%d open files are few for %d pipelines, which may need %d; raise the limit (LimitNOFILE of the service, or ulimit -n)", most, len(pipelines), need)
		} else {
			d.ok("limits", "%d open files", most)
		}
	}
	if d.cfg.Memory == 0 && os.Getenv("GOMEMLIMIT") == "" {
		d.warn("limits", "no memory limit is set; set memory in %s to somewhat less than the machine has for it, so that it collects garbage before it is ended", d.cfg.File)
	}
}
