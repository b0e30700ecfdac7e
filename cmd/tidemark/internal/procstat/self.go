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
	// GCShare is the garbage collector's share of the time that processors were at work, without what it does when there is nothing else
	// to do. GCCycles is how often it has run.
	GCShare  float64 `json:"gc_share"`
	GCCycles uint64  `json:"gc_cycles"`
	CPUs     int     `json:"cpus"` // GOMAXPROCS
	Go       string  `json:"go"`
	Revision string  `json:"revision,omitempty"`
}

// CPUSeconds is all processor time.
func (u Usage) CPUSeconds() float64 { return u.UserSeconds + u.SystemSeconds }

// Self is what this process has used.
func Self() Usage {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:objects"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
	}
	runtime.GC() // the processor classes are counted at the end of a cycle
	metrics.Read(samples)
	u := Usage{
		Allocations: samples[0].Value.Uint64(), AllocatedBytes: samples[1].Value.Uint64(),
		GCCycles: samples[2].Value.Uint64() - 1,
		CPUs:     runtime.GOMAXPROCS(0), Go: runtime.Version(), Revision: revision(),
	}
	seconds := func(i int) float64 { return samples[i].Value.Float64() }
	if busy := seconds(5) - seconds(6); busy > 0 {
		u.GCShare = (seconds(3) - seconds(4)) / busy
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
