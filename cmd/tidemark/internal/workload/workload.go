package workload

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/plugins/source/generate"
)

// Job is what a workload's pipeline computes.
type Job string

// The jobs.
const (
	Totals    Job = "totals"    // count, sum, min and max of value for each key and window
	Count     Job = "count"     // count for each key and window
	Sessions  Job = "sessions"  // count for each session of a key
	Stateless Job = "stateless" // value > 500, three fields and a constant
)

// Way is how a workload's input comes in.
type Way string

// The ways.
const (
	FromFile      Way = "file"      // the file source reads it
	FromSockets   Way = "socket"    // connections bring it as fast as it is taken
	FromGenerator Way = "generator" // the generate source makes it: it is too large for a file
	Paced         Way = "paced"     // a connection brings it in real time
)

// Workload is an input and a job.
type Workload struct {
	Name  string
	Title string // one line
	Input Input
	Job   Job
	Way   Way

	Size  time.Duration // of a window
	Slide time.Duration // of a sliding window; 0: tumbling
	Gap   time.Duration // of a session

	// Assigner is the plugin that says what time it is: "" is the shipped one.
	Assigner string
	// Memory is what all state may take; 0: no limit beside the default.
	Memory int64
	// Kill ends the program with SIGKILL several times in a run, and starts it again.
	Kill bool
	// Connections and Network are for FromSockets.
	Connections int
	Network     string // tcp or unix
}

// Bound is the assigner's bound on out-of-orderness, which is that of the input: no record is late.
func (w Workload) Bound() time.Duration {
	return time.Duration(w.Input.Events.Disorder) * time.Millisecond
}

// UserAssigner is the name of the assigner of W10.
const UserAssigner = "measured"

// SizeSmall is what small workloads are divided by.
const SizeSmall = 100

// All lists the workloads with their full parameters.
func All() []Workload {
	events := generate.DefaultWorkload()
	with := func(keys int, rate float64, change ...func(*generate.Workload)) generate.Workload {
		w := events
		w.Keys, w.Rate = keys, rate
		for _, f := range change {
			f(&w)
		}
		return w
	}
	zipf := func(w *generate.Workload) { w.Skew = 1.1 }
	w2a := Input{Events: with(10_000, 50_000), Lines: 5_000_000, Shape: JSON}
	w2b := Input{Events: with(10_000, 1_000_000), Lines: 30_000_000, Shape: JSON}
	w3 := Input{Events: with(1_000_000, 1_000_000), Lines: 30_000_000, Shape: JSON}
	w4 := Input{Events: with(20_000_000, 300_000), Lines: 200_000_000, Shape: JSON}
	live := Input{Events: with(10_000, 500_000, func(w *generate.Workload) { w.Disorder = 200 }), Lines: 30_000_000, Shape: JSON}
	pairs := Input{Events: with(10_000, 1_000_000), Lines: 50_000_000, Shape: Pairs}
	return []Workload{
		{Name: "w1", Title: "delimited lines over TCP, counts in 5 s windows", Input: pairs, Job: Count, Way: FromSockets, Size: 5 * time.Second, Connections: 1, Network: "tcp"},
		{Name: "w1x4", Title: "the same over four connections", Input: pairs, Job: Count, Way: FromSockets, Size: 5 * time.Second, Connections: 4, Network: "tcp"},
		{Name: "w1unix", Title: "the same over a Unix socket", Input: pairs, Job: Count, Way: FromSockets, Size: 5 * time.Second, Connections: 1, Network: "unix"},
		{Name: "w2a", Title: "JSON, 10,000 keys, 5 s windows, sparse: many small windows", Input: w2a, Job: Totals, Way: FromFile, Size: 5 * time.Second},
		{Name: "w2b", Title: "JSON, 10,000 keys, 5 s windows, dense", Input: w2b, Job: Totals, Way: FromFile, Size: 5 * time.Second},
		{Name: "w3", Title: "JSON, 1,000,000 keys, 5 s windows", Input: w3, Job: Totals, Way: FromFile, Size: 5 * time.Second},
		{
			Name: "w4", Title: "20,000,000 keys, 10 min windows, state larger than memory", Job: Totals, Way: FromGenerator, Size: 10 * time.Minute, Memory: 1 << 30,
			Input: w4,
		},
		{
			Name: "w4zipf", Title: "the same with skewed keys", Job: Totals, Way: FromGenerator, Size: 10 * time.Minute, Memory: 1 << 30,
			Input: Input{Events: with(50_000_000, 300_000, zipf), Lines: 200_000_000, Shape: JSON},
		},
		{Name: "w5", Title: "JSON, 10,000 keys, windows of 60 s that slide by 1 s", Input: w2b, Job: Totals, Way: FromFile, Size: time.Minute, Slide: time.Second},
		{
			Name: "w5many", Title: "the same with 100,000 keys", Job: Totals, Way: FromFile, Size: time.Minute, Slide: time.Second,
			Input: Input{Events: with(100_000, 1_000_000), Lines: 30_000_000, Shape: JSON},
		},
		{
			Name: "w6", Title: "JSON, 1,000,000 skewed keys, sessions with gaps of 30 s", Job: Sessions, Way: FromFile, Gap: 30 * time.Second,
			Input: Input{Events: with(1_000_000, 100_000, zipf), Lines: 20_000_000, Shape: JSON},
		},
		{Name: "w7", Title: "JSON in real time, 1 s windows: how old is a result", Input: live, Job: Totals, Way: Paced, Size: time.Second},
		{Name: "w8", Title: "w3 killed again and again: how long until results go on", Input: w3, Job: Totals, Way: FromFile, Size: 5 * time.Second, Kill: true},
		{Name: "w8large", Title: "w4 killed again and again", Input: w4, Job: Totals, Way: FromGenerator, Size: 10 * time.Minute, Memory: 1 << 30, Kill: true},
		{Name: "w9", Title: "JSON, a filter and a projection, no state", Input: w2a, Job: Stateless, Way: FromFile},
		{Name: "w10", Title: "w2b with an assigner of one's own over whole records", Input: w2b, Job: Totals, Way: FromFile, Size: 5 * time.Second, Assigner: UserAssigner},
	}
}

// Find returns a workload by its name. "w2", "W2B" and the like are understood.
func Find(name string) (Workload, error) {
	var names []string
	for _, w := range All() {
		if strings.EqualFold(w.Name, name) {
			return w, nil
		}
		names = append(names, w.Name)
	}
	if strings.EqualFold(name, "w2") {
		return Find("w2b")
	}
	return Workload{}, fmt.Errorf("there is no workload %q; there are %s", name, strings.Join(names, ", "))
}

// Small is the same workload with a hundredth of the lines at a hundredth of the rate and, where there are many, a hundredth of the keys:
// enough to see that all is right, not how fast it is.
func (w Workload) Small() Workload {
	w.Input.Lines /= SizeSmall
	w.Input.Events.Rate /= SizeSmall
	if w.Input.Events.Keys >= 1_000_000 {
		w.Input.Events.Keys /= SizeSmall
	}
	if w.Slide > 0 { // each key has a result for each slide, however few records there are
		w.Input.Events.Keys /= SizeSmall
	}
	if w.Way == Paced { // in real time it would take as long as the full one
		w.Input.Lines /= 10
	}
	if w.Size >= 10*time.Minute {
		w.Size = w.Size / 10
	}
	return w
}
