package bench

import (
	"runtime"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
)

// Report is what was measured, as plain data.
type Report struct {
	Machine   Machine          `json:"machine"`
	Begun     time.Time        `json:"begun"`
	Runs      int              `json:"runs"`
	Warmup    int              `json:"warmup"`
	Workloads []WorkloadReport `json:"workloads"`
	Ratios    []Ratio          `json:"ratios,omitempty"`

	peers []string // names of the contestants that are somebody else's
}

// Machine is where it was measured.
type Machine struct {
	CPU    string `json:"cpu,omitempty"`
	CPUs   int    `json:"cpus"`
	Memory int64  `json:"memory_bytes,omitempty"`
	System string `json:"system"`
	Go     string `json:"go"`
}

// WorkloadReport is one workload's share.
type WorkloadReport struct {
	Name        string             `json:"name"`
	Title       string             `json:"title"`
	Records     int64              `json:"records"`
	Bytes       int64              `json:"bytes"`
	Truth       Truth              `json:"truth"` // what one plain thread found, and how fast
	Contestants []ContestantReport `json:"contestants"`
}

// ContestantReport is what a contestant did: medians over the runs that count, lowest and highest.
type ContestantReport struct {
	Name      string `json:"name"`
	PerSecond Spread `json:"records_per_second"`
	CPU       Spread `json:"cpu_seconds_per_million"` // all processes
	Daemon    Spread `json:"daemon_cpu_seconds_per_million"`
	Peak      Spread `json:"peak_daemon_bytes"`
	Plugins   Spread `json:"peak_plugins_bytes"`
	Together  Spread `json:"peak_together_bytes"`
	Allocs    Spread `json:"allocations_per_record"`
	GC        Spread `json:"gc_share_of_cpu"`
	Commits   Spread `json:"checkpoints"`
	CommitP50 Spread `json:"checkpoint_p50_ms"`
	CommitMax Spread `json:"checkpoint_max_ms"`
	CommitMB  Spread `json:"checkpoint_bytes"`
	P50       Spread `json:"latency_p50_ms"`
	P99       Spread `json:"latency_p99_ms"`
	P999      Spread `json:"latency_p99_9_ms"`
	LatestMax Spread `json:"latency_max_ms"`
	// FirstRecord is when the first record was taken after the start. Pause and Standstill are the longest times without input and without
	// anything, see [Progress]; Slowest is the rate of the slowest whole minute, in runs of more than two.
	FirstRecord Spread `json:"first_record_seconds"`
	Pause       Spread `json:"longest_pause_seconds"`
	Standstill  Spread `json:"longest_standstill_seconds"`
	Slowest     Spread `json:"slowest_minute_records_per_second"`
	// Recovered are the figures of runs that were killed, by the moment of the kill.
	Recovered map[Moment]Recovered `json:"recovery,omitempty"`
	// WholeSeconds and WholeCPU are those of a peer's whole process, if the figures above are of its job alone; 0 samples otherwise.
	WholeSeconds Spread   `json:"whole_seconds"`
	WholeCPU     Spread   `json:"whole_cpu_seconds"`
	Samples      []Sample `json:"samples"`
}

// Recovered says how long it took after a kill until records and results went on, in seconds from the new start.
type Recovered struct {
	FirstRecord Spread `json:"first_record_seconds"`
	FirstResult Spread `json:"first_result_seconds"`
}

// Spread is a median with the lowest and highest value. N is 0 when nothing was measured.
type Spread struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spread(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	slices.Sort(values)
	n := len(values)
	return Spread{N: n, Median: (values[(n-1)/2] + values[n/2]) / 2, Min: values[0], Max: values[n-1]}
}

func newReport(o Options) *Report {
	r := &Report{Begun: time.Now().UTC(), Runs: o.Runs, Warmup: o.Warmup}
	for _, p := range o.Peers {
		r.peers = append(r.peers, p.Name)
	}
	r.Machine = Machine{CPU: cpuName(), CPUs: runtime.NumCPU(), Memory: memoryBytes(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	return r
}

func (r *Report) add(p *prepared, contestants []Contestant) {
	w := WorkloadReport{Name: p.Name, Title: p.Title, Records: p.Input.Lines, Bytes: p.bytes, Truth: p.Truth}
	for _, c := range contestants {
		w.Contestants = append(w.Contestants, ContestantReport{Name: c.Name})
	}
	r.Workloads = append(r.Workloads, w)
}

func (r *Report) find(name, contestant string) *ContestantReport {
	for i := range r.Workloads {
		for k := range r.Workloads[i].Contestants {
			if c := &r.Workloads[i].Contestants[k]; r.Workloads[i].Name == name && c.Name == contestant {
				return c
			}
		}
	}
	return nil
}

func (r *Report) put(name, contestant string, s Sample) {
	if c := r.find(name, contestant); c != nil {
		c.Samples = append(c.Samples, s)
	}
}

// Finish works out the medians and ratios from the samples.
func (r *Report) Finish() {
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for k := range w.Contestants {
			w.Contestants[k].finish(float64(w.Records))
		}
	}
	r.ratios()
}

// Wrong lists runs with wrong results.
func (r *Report) Wrong() (out []string) {
	for _, w := range r.Workloads {
		for _, c := range w.Contestants {
			for _, s := range c.Samples {
				if s.Wrong != "" {
					out = append(out, w.Name+", "+c.Name+": "+s.Wrong)
				}
			}
		}
	}
	return out
}

// gather is the spread of what f finds in the samples; f says false where there is nothing.
func (c *ContestantReport) gather(f func(s *Sample) (float64, bool)) Spread {
	var values []float64
	for i := range c.Samples {
		if v, ok := f(&c.Samples[i]); ok {
			values = append(values, v)
		}
	}
	return spread(values)
}

func (c *ContestantReport) finish(records float64) {
	stats := func(f func(s *RunStats) float64) Spread {
		return c.gather(func(s *Sample) (float64, bool) {
			if s.Stats == nil || len(s.Stats.Pipelines) != 1 {
				return 0, false
			}
			return f(s.Stats), true
		})
	}
	always := func(f func(s *Sample) float64) Spread {
		return c.gather(func(s *Sample) (float64, bool) { return f(s), true })
	}
	c.PerSecond = always(func(s *Sample) float64 { return records / s.Seconds })
	c.CPU = always(func(s *Sample) float64 { return s.CPUSeconds / records * 1e6 })
	c.Peak = always(func(s *Sample) float64 { return float64(s.PeakDaemon) })
	c.Plugins = always(func(s *Sample) float64 { return float64(s.PeakPlugins) })
	c.Together = always(func(s *Sample) float64 { return float64(s.PeakTogether) })
	c.Daemon = stats(func(s *RunStats) float64 { return s.Process.CPUSeconds() / records * 1e6 })
	c.Allocs = stats(func(s *RunStats) float64 { return float64(s.Process.Allocations) / records })
	c.GC = stats(func(s *RunStats) float64 { return s.Process.GCShare })
	c.Commits = stats(func(s *RunStats) float64 { return float64(s.Pipelines[0].Checkpoints.Count) })
	c.CommitP50 = stats(func(s *RunStats) float64 { return s.Pipelines[0].Checkpoints.P50 })
	c.CommitMax = stats(func(s *RunStats) float64 { return s.Pipelines[0].Checkpoints.Max })
	c.CommitMB = stats(func(s *RunStats) float64 { return float64(s.Pipelines[0].Checkpoints.Bytes) })
	latency := func(f func(l *Latency) float64) Spread {
		return c.gather(func(s *Sample) (float64, bool) {
			if s.Latency == nil {
				return 0, false
			}
			return f(s.Latency), true
		})
	}
	c.P50 = latency(func(l *Latency) float64 { return l.P50 })
	c.P99 = latency(func(l *Latency) float64 { return l.P99 })
	c.P999 = latency(func(l *Latency) float64 { return l.P999 })
	c.LatestMax = latency(func(l *Latency) float64 { return l.Max })
	c.progress()
	for _, m := range []Moment{AtRandom, InResults} {
		r := Recovered{c.recovered(m, func(k Kill) float64 { return k.FirstRecord }), c.recovered(m, func(k Kill) float64 { return k.FirstResult })}
		if r.FirstRecord.N+r.FirstResult.N > 0 {
			if c.Recovered == nil {
				c.Recovered = map[Moment]Recovered{}
			}
			c.Recovered[m] = r
		}
	}
	whole := func(f func(w *Whole) float64) Spread {
		return c.gather(func(s *Sample) (float64, bool) {
			if s.Whole == nil {
				return 0, false
			}
			return f(s.Whole), true
		})
	}
	c.WholeSeconds = whole(func(w *Whole) float64 { return w.Seconds })
	c.WholeCPU = whole(func(w *Whole) float64 { return w.CPUSeconds })
}

// version is what a peer has told of itself.
func (c *ContestantReport) version() string {
	for _, s := range c.Samples {
		if s.Whole != nil {
			return s.Whole.Version
		}
	}
	return ""
}

// paced is whether a workload runs at a rate of its own, so that records per second say nothing.
func paced(name string) bool {
	w, err := workload.Find(name)
	return err == nil && w.Way == workload.Paced
}
