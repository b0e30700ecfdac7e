package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/procstat"
	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

// Options is what is to be measured, and how.
type Options struct {
	Binary    string // the program
	Other     string // another binary of it to compare with, or ""
	Workloads []workload.Workload
	Modes     []Mode // nil: those that a workload is usually measured in
	Limit     bool   // with the prototype
	Peers     []Peer // programs of others for the same job
	Runs      int
	Warmup    int
	Kills     int // of a run that is killed again and again
	// Checkpoint is how often a run commits.
	Checkpoint time.Duration
	// Dir keeps inputs and their truth for the next time; it must exist. "" takes a temporary one.
	Dir string
	// Profiles is a directory for processor and allocation profiles of the daemon, or "".
	Profiles string
	// Progress is told what goes on, a line at a time.
	Progress io.Writer
}

// Mode is how the program runs.
type Mode string

// The modes.
const (
	Processes    Mode = "R"       // source and assigner as processes
	InProcess    Mode = "I"       // all plugins inside the daemon
	Encrypted    Mode = "mtls"    // R over encrypted connections
	NoCheckpoint Mode = "nocp"    // I without checkpoints
	OneCore      Mode = "onecore" // I on one core
	AtLeastOnce  Mode = "alo"     // R, results delivered before they are committed
)

var modes = []Mode{Processes, InProcess, Encrypted, NoCheckpoint, OneCore, AtLeastOnce}

// ParseMode reads a mode.
func ParseMode(text string) (Mode, error) {
	for _, m := range modes {
		if strings.EqualFold(string(m), text) {
			return m, nil
		}
	}
	return "", fmt.Errorf("there is no mode %q; there are R (plugins as processes), I (inside the daemon), mtls (R, encrypted), nocp (I without checkpoints), "+
		"onecore (I on one core), alo (R, at least once)", text)
}

func (m Mode) inProcess() bool { return slices.Contains([]Mode{InProcess, NoCheckpoint, OneCore}, m) }

// usual are the modes of a workload when nothing is said.
func usual(w workload.Workload) []Mode {
	switch {
	case w.Way == workload.Paced:
		return []Mode{AtLeastOnce, Processes}
	case w.Kill, w.Assigner != "":
		return []Mode{Processes}
	}
	return []Mode{Processes, InProcess}
}

// Contestant is a way to do a workload's job.
type Contestant struct {
	Name   string // R, I, limit, other R …, or that of a peer
	binary string
	mode   Mode
	limit  bool
	peer   []string // the command of somebody else's program
}

func (o Options) contestants(w workload.Workload) []Contestant {
	chosen := o.Modes
	if len(chosen) == 0 {
		chosen = usual(w)
	}
	var out []Contestant
	for _, m := range chosen {
		if w.Assigner != "" && m.inProcess() {
			continue // a user's plugin is a process
		}
		out = append(out, Contestant{Name: string(m), binary: o.Binary, mode: m})
		if o.Other != "" {
			out = append(out, Contestant{Name: "other " + string(m), binary: o.Other, mode: m})
		}
	}
	if !plainTotals(w) {
		return out
	}
	if o.Limit {
		out = append(out, Contestant{Name: "limit", binary: o.Binary, limit: true})
	}
	for _, p := range o.Peers {
		out = append(out, Contestant{Name: p.Name, peer: p.Command})
	}
	return out
}

// plainTotals is whether a workload is the one job that the prototype and peers know.
func plainTotals(w workload.Workload) bool {
	return w.Job == workload.Totals && w.Way == workload.FromFile && w.Slide == 0 && !w.Kill && w.Assigner == ""
}

// RunStats is what a run of the program writes down about itself.
type RunStats struct {
	Pipelines []pipeline.Summary `json:"pipelines"`
	Process   procstat.Usage     `json:"process"` // of the daemon alone
	Progress  Progress           `json:"progress"`
}
