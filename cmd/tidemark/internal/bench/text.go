package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// Write writes the report as tables and a chart.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d cores, %s, %s, %s\n", orUnknown(r.Machine.CPU), r.Machine.CPUs, decimal(float64(r.Machine.Memory)), r.Machine.System, r.Machine.Go)
	fmt.Fprintf(&b, "medians of %d runs (lowest to highest), after %d that did not count, in turn; input in the page cache\n", r.Runs, r.Warmup)
	for i := range r.Workloads {
		r.Workloads[i].write(&b)
	}
	r.writeRatios(&b)
	r.chart(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown processor"
	}
	return s
}

func orUnknownPeer(version string) string {
	if version == "" {
		return "does not say what it is"
	}
	return version
}

func (w *WorkloadReport) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %s\n%s records", w.Name, w.Title, millions(float64(w.Records)))
	if w.Bytes > 0 {
		fmt.Fprintf(b, ", %s", decimal(float64(w.Bytes)))
	}
	fmt.Fprintf(b, ", %s results; one plain thread takes %.2f s (%s records/s)\n", millions(float64(w.Truth.Digest.Rows)), w.Truth.Seconds, millions(float64(w.Records)/w.Truth.Seconds))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")+"\t") }
	row("", "records/s", "", "CPU s/million", "(daemon)", "RSS daemon", "plugins", "all at once", "allocs/record", "GC", "checkpoints", "p50", "max", "written")
	for _, c := range w.Contestants {
		speed, span := millions(c.PerSecond.Median), fmt.Sprintf("%s-%s", millions(c.PerSecond.Min), millions(c.PerSecond.Max))
		if paced(w.Name) {
			speed, span = "paced", ""
		}
		row(c.Name, speed, span, c.CPU.text("%.3f"), c.Daemon.text("%.3f"), c.Peak.bytes(), c.Plugins.bytes(), c.Together.bytes(), c.Allocs.text("%.3g"), c.GC.percent(),
			c.Commits.text("%.0f"), c.CommitP50.text("%.0f ms"), c.CommitMax.text("%.0f ms"), c.CommitMB.bytes())
	}
	_ = t.Flush() // a strings.Builder never fails
	for _, c := range w.Contestants {
		if c.P50.N > 0 {
			fmt.Fprintf(b, "  %s: a result is there after p50 %.1f ms, p99 %.1f ms (%.1f-%.1f), p99.9 %.1f ms, the last ones after %.1f ms\n", c.Name, c.P50.Median, c.P99.Median, c.P99.Min, c.P99.Max, c.P999.Median, c.LatestMax.Median)
		}
		if c.WholeSeconds.N > 0 {
			fmt.Fprintf(b, "  %s: %s; its job alone. The whole process took %.2f s, %.2f s of CPU\n", c.Name, orUnknownPeer(c.version()), c.WholeSeconds.Median, c.WholeCPU.Median)
		}
		if c.FirstRecord.N > 0 {
			fmt.Fprintf(b, "  %s: %s\n", c.Name, c.progressText())
		}
		for _, m := range []Moment{InResults, AtRandom} {
			if r, ok := c.Recovered[m]; ok {
				fmt.Fprintf(b, "  %s, killed %s: first record %s, first new result %s after the new start\n", c.Name, m.words(), r.FirstRecord.seconds(), r.FirstResult.seconds())
			}
		}
	}
}

func (r *Report) writeRatios(b *strings.Builder) {
	if len(r.Ratios) == 0 {
		return
	}
	fmt.Fprintf(b, "\nratios, pair by pair\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, x := range r.Ratios {
		goal := ""
		if x.Goal > 0 {
			goal = fmt.Sprintf("goal %.2f", x.Goal)
			if x.Values.Median < x.Goal {
				goal += ": not reached"
			}
		}
		fmt.Fprintf(t, "%s\t%.2f (%.2f-%.2f)\tper CPU %.2f\t%s\n", x.What, x.Values.Median, x.Values.Min, x.Values.Max, x.CPU.Median, goal)
	}
	_ = t.Flush()
}

// chart draws records a second as bars of one scale.
func (r *Report) chart(b *strings.Builder) {
	const width = 50
	high := 0.0
	for _, w := range r.Workloads {
		if paced(w.Name) {
			continue
		}
		high = math.Max(high, float64(w.Records)/w.Truth.Seconds)
		for _, c := range w.Contestants {
			high = math.Max(high, c.PerSecond.Median)
		}
	}
	if high == 0 {
		return
	}
	fmt.Fprintf(b, "\nrecords/s\n")
	t := tabwriter.NewWriter(b, 0, 0, 1, ' ', 0)
	for _, w := range r.Workloads {
		if paced(w.Name) {
			continue
		}
		for _, c := range w.Contestants {
			if c.PerSecond.N > 0 {
				bar(t, w.Name+" "+c.Name, c.PerSecond.Median, high, width)
			}
		}
		bar(t, w.Name+" one plain thread", float64(w.Records)/w.Truth.Seconds, high, width)
	}
	_ = t.Flush()
}

// bar draws eighths of a character, so that small ones differ, too.
func bar(w io.Writer, name string, value, high float64, width int) {
	eighths := int(math.Round(value / high * float64(width) * 8))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	fmt.Fprintf(w, "%s\t%s %s\n", name, text, millions(value))
}

func (s Spread) text(format string) string {
	if s.N == 0 {
		return "-"
	}
	return fmt.Sprintf(format, s.Median)
}

// seconds writes all of a spread of seconds.
func (s Spread) seconds() string {
	if s.N == 0 {
		return "not seen"
	}
	return fmt.Sprintf("%.3f s (%.3f-%.3f, n=%d)", s.Median, s.Min, s.Max, s.N)
}

func (s Spread) bytes() string {
	if s.N == 0 || s.Median == 0 {
		return "-"
	}
	return decimal(s.Median)
}

func (s Spread) percent() string {
	if s.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*s.Median)
}

// millions writes a number short.
func millions(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.2f M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.1f k", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

func decimal(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.2f GB", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.0f MB", v/1e6)
	}
	return fmt.Sprintf("%.0f kB", v/1e3)
}
