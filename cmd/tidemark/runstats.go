package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/bench"
	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/procstat"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
)

// measures are what a run writes down about itself when it is asked to. `bench` asks; the flags are hidden, since nobody else needs them.
type measures struct {
	stats      string // file for what the process has used
	cpuProfile string
	memProfile string
	profile    *os.File
	follower   *bench.Follower
}

func (m *measures) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.stats, "stats", "", "file for the figures of the pipelines and the process, as JSON")
	cmd.Flags().StringVar(&m.cpuProfile, "cpuprofile", "", "file for a profile of the processor time")
	cmd.Flags().StringVar(&m.memProfile, "memprofile", "", "file for a profile of all allocations")
	for _, name := range []string{"stats", "cpuprofile", "memprofile"} {
		_ = cmd.Flags().MarkHidden(name) // an error says that there is no such flag
	}
}

func (m *measures) begin() (err error) {
	if m.cpuProfile == "" {
		return nil
	}
	if m.profile, err = os.Create(m.cpuProfile); err != nil {
		return &exitError{code: exitEnvironment, err: err}
	}
	return pprof.StartCPUProfile(m.profile)
}

// follow begins to look at what the pipelines do.
func (m *measures) follow(pipelines []*pipeline.Pipeline) {
	if m.stats == "" {
		return
	}
	m.follower = bench.Follow(bench.FirstFile(m.stats), func() (records, results int64) {
		for _, p := range pipelines {
			s := p.Summary()
			records, results = records+s.In, results+s.Results+s.Delivered
		}
		return records, results
	})
}

// end writes everything; the pipelines have ended.
func (m *measures) end(summaries []pipeline.Summary) error {
	var progress bench.Progress
	if m.follower != nil {
		var err error
		if progress, err = m.follower.Stop(); err != nil {
			return &exitError{code: exitEnvironment, err: err}
		}
	}
	if m.profile != nil {
		pprof.StopCPUProfile()
		if err := m.profile.Close(); err != nil {
			return fmt.Errorf("profile: %w", err)
		}
	}
	if m.stats != "" {
		data, err := json.MarshalIndent(bench.RunStats{Pipelines: summaries, Process: procstat.Self(), Progress: progress}, "", "  ")
		if err != nil {
			return fmt.Errorf("figures: %w", err)
		}
		if err := os.WriteFile(m.stats, data, 0o644); err != nil {
			return &exitError{code: exitEnvironment, err: err}
		}
	}
	if m.memProfile == "" {
		return nil
	}
	f, err := os.Create(m.memProfile)
	if err != nil {
		return &exitError{code: exitEnvironment, err: err}
	}
	runtime.GC() // so that the profile is complete
	err = pprof.Lookup("allocs").WriteTo(f, 0)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
