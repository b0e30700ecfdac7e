package procstat

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Usage is what a process has used since it began.
type Usage struct {
	UserSeconds   float64 `json:"user_seconds"`
	SystemSeconds float64 `json:"system_seconds"`
	PeakBytes     int64   `json:"peak_bytes"` // resident memory; 0: not known
	// Allocations and AllocatedBytes are those of the heap.
	Allocations    uint64 `json:"allocations"`
	AllocatedBytes uint64 `json:"allocated_bytes"`
	// GCSeconds is processor time of the garbage collector, GCCycles how often it has run.
	GCSeconds float64 `json:"gc_seconds"`
	GCCycles  uint64  `json:"gc_cycles"`
	CPUs      int     `json:"cpus"` // GOMAXPROCS
	Go        string  `json:"go"`
	Revision  string  `json:"revision,omitempty"`
}

// CPUSeconds is all processor time.
func (u Usage) CPUSeconds() float64 { return u.UserSeconds + u.SystemSeconds }

// Self is what this process has used.
func Self() Usage {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:objects"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	runtime.GC() // the processor classes are counted at the end of a cycle
	metrics.Read(samples)
	u := Usage{
		Allocations: samples[0].Value.Uint64(), AllocatedBytes: samples[1].Value.Uint64(),
		GCSeconds: samples[2].Value.Float64(), GCCycles: samples[3].Value.Uint64() - 1,
		CPUs: runtime.GOMAXPROCS(0), Go: runtime.Version(), Revision: revision(),
	}
	u.UserSeconds, u.SystemSeconds = times()
	u.PeakBytes = peak("self")
	return u
}

// revision is the commit that the program was built from, with a plus if the tree had changes.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var rev, dirty string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+"
			}
		}
	}
	return rev + dirty
}
