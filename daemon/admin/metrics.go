package admin

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// metric is one family of metrics.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
	desc       *prometheus.Desc
}

func family(kind prometheus.ValueType, name, help string, labels ...string) *metric {
	name = "tidemark_" + name
	return &metric{name: name, help: help, kind: kind, labels: labels, desc: prometheus.NewDesc(name, help, labels, nil)}
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// The families, in the order of docs/reference/metrics.md.
var (
	buildInfo  = family(gauge, "build_info", "1, with the version of the daemon.", "version")
	refusedNow = family(gauge, "refused_files", "Files of pipelines that cannot be used as they are.")

	pipelineState    = family(gauge, "pipeline_state", "1 for the state that the pipeline is in.", "pipeline", "state")
	pipelineReady    = family(gauge, "pipeline_ready", "1 when nothing is missing; see /readyz.", "pipeline")
	pipelineRestarts = family(gauge, "pipeline_restarts", "Attempts that have failed in a row, as [restart] counts them.", "pipeline")
	pipelineBytes    = family(counter, "pipeline_bytes_total", "Bytes of the records that came in.", "pipeline")
	deadLettered     = family(counter, "dead_letters_total", "Records put aside because nobody reads the port they came out of.", "pipeline")
	pipelineLag      = family(gauge, "watermark_lag_seconds", "How far the watermark is behind the clock. Absent before the first one and at the end of input.", "pipeline", "component")
	pipelineMark     = family(gauge, "watermark_seconds", "The watermark, as seconds since 1970. Absent before the first one and at the end of input.", "pipeline", "component")

	sourceIn       = family(counter, "source_records_total", "Records that came in.", "pipeline", "source")
	sourceOut      = family(counter, "source_passed_on_total", "Records that were given to the steps behind.", "pipeline", "source")
	sourceRejected = family(counter, "source_rejected_total", "Records that could not be decoded or have no usable time.", "pipeline", "source")
	sourceMarkers  = family(counter, "source_markers_total", "Records that carry time instead of data.", "pipeline", "source")
	sourceIgnored  = family(counter, "source_ignored_watermarks_total", "Watermarks that would have gone back.", "pipeline", "source")
	sourceTooFar   = family(counter, "source_watermarks_too_far_ahead_total", "Watermarks further ahead of the clock than max_ahead.", "pipeline", "source")
	sourceDoubted  = family(counter, "source_unconfirmed_watermarks_total", "Watermarks further ahead of the records than confirm_jump that nothing has confirmed.", "pipeline", "source")
	sourceSuspect  = family(counter, "source_suspect_timestamps_total", "Timestamps outside of 1990 to 2100 since some have looked like another unit.", "pipeline", "source")
	sourceParts    = family(gauge, "source_partitions", "Partitions by state: never_seen, active, idle, held, ended.", "pipeline", "source", "state")

	stepIn       = family(counter, "step_rows_in_total", "Rows that came in.", "pipeline", "step")
	stepOut      = family(counter, "step_rows_out_total", "Rows that went on.", "pipeline", "step")
	stepFiltered = family(counter, "step_filtered_total", "Rows that a condition left out.", "pipeline", "step")
	stepRejected = family(counter, "step_rejected_total", "Rows that went to the errors port.", "pipeline", "step")
	stepLate     = family(counter, "step_late_total", "Rows that were late for all their windows.", "pipeline", "step")
	stepSilent   = family(counter, "step_without_window_total", "Rows between two windows.", "pipeline", "step")
	stepFirings  = family(counter, "windows_fired_total", "Windows that have given a result.", "pipeline", "step")
	stepOpen     = family(gauge, "windows_open", "Pairs of key and window that are held.", "pipeline", "step")

	sinkRows    = family(counter, "sink_rows_total", "Rows that the sink has taken.", "pipeline", "sink")
	sinkRefused = family(counter, "sink_refused_total", "Rows that the sink will never take.", "pipeline", "sink")
	sinkWaiting = family(gauge, "sink_waiting_rows", "Rows that the sink has not taken yet.", "pipeline", "sink")

	commitCount = family(counter, "checkpoints_total", "Commits made.", "pipeline")
	commitBytes = family(counter, "checkpoint_bytes_total", "Bytes that commits have written.", "pipeline")
	commitLast  = family(gauge, "checkpoint_last_timestamp_seconds", "When the last commit was made.", "pipeline")
	commitTimes = prometheus.NewDesc(commitTimesName, commitTimesHelp, []string{"pipeline"}, nil)
)

const (
	commitTimesName = "tidemark_checkpoint_duration_seconds"
	commitTimesHelp = "From the order for a barrier to the end of the commit; processing goes on meanwhile."
)

// families lists them all.
var families = []*metric{
	buildInfo, refusedNow, pipelineState, pipelineReady, pipelineRestarts, pipelineBytes,
	deadLettered, pipelineLag, pipelineMark, sourceIn, sourceOut, sourceRejected,
	sourceMarkers, sourceIgnored, sourceTooFar, sourceDoubted, sourceSuspect, sourceParts, stepIn,
	stepOut, stepFiltered, stepRejected, stepLate, stepSilent, stepFirings,
	stepOpen, sinkRows, sinkRefused, sinkWaiting, commitCount, commitBytes,
	commitLast,
}

// collector reads all numbers anew for each scrape, so that nothing is kept twice and nothing is counted on the way of a record.
type collector struct{ s *Server }

// Describe sends nothing: which families there are depends on plugins.
func (collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(to chan<- prometheus.Metric) {
	s := c.s
	put := func(m *metric, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
	}
	all, refused := s.set.Daemon.Pipelines()
	put(buildInfo, 1, s.set.Version)
	put(refusedNow, float64(len(refused)))
	gauges := s.gauges(context.Background())
	for _, p := range all {
		s.collectPipeline(p, gauges, put)
		h := p.CommitTimes()
		buckets := map[float64]uint64{}
		for i, bound := range h.Bounds {
			buckets[bound] = h.Within[i]
		}
		to <- prometheus.MustNewConstHistogram(commitTimes, uint64(h.Count), h.Sum.Seconds(), buckets, p.Name())
	}
	collectPlugins(gauges, to)
}

func (s *Server) collectPipeline(p Pipeline, gauges []wire.InstanceMetric, put func(m *metric, v float64, labels ...string)) {
	name, st, sum := p.Name(), p.Status(), p.Summary()
	put(pipelineState, 1, name, string(st.State))
	put(pipelineReady, truth(len(missing(p.Pipeline, gauges)) == 0), name)
	put(pipelineRestarts, float64(st.Restarts), name)
	put(pipelineBytes, float64(sum.Bytes), name)
	put(deadLettered, float64(sum.DeadLetters), name)
	now := s.set.Clock.Now()
	mark := func(component string, m pipeline.Moment) {
		if lag, ok := lagOf(m, now); ok {
			put(pipelineLag, lag, name, component)
			put(pipelineMark, float64(m)/1000, name, component)
		}
	}
	for _, src := range st.Sources {
		mark(src.Name, src.Watermark)
		states := map[string]int{}
		for _, part := range src.Partitions {
			states[part.State]++
		}
		for state, n := range states {
			put(sourceParts, float64(n), name, src.Name, state)
		}
	}
	for _, step := range st.Steps {
		mark(step.Name, step.Watermark)
	}
	for _, e := range sum.Sources {
		for m, v := range map[*metric]int64{
			sourceIn: e.In, sourceOut: e.Out, sourceRejected: e.Rejected, sourceMarkers: e.Markers,
			sourceIgnored: e.Ignored, sourceTooFar: e.TooFar, sourceDoubted: e.Doubted, sourceSuspect: e.Suspect,
		} {
			put(m, float64(v), name, e.Name)
		}
	}
	for _, e := range sum.Steps {
		for m, v := range map[*metric]int64{
			stepIn: e.In, stepOut: e.Out, stepFiltered: e.Filtered, stepRejected: e.Rejected, stepLate: e.Late, stepSilent: e.Silent,
			stepFirings: e.Firings, stepOpen: e.Open,
		} {
			put(m, float64(v), name, e.Name)
		}
	}
	for _, e := range sum.Sinks {
		put(sinkRows, float64(e.Rows), name, e.Name)
		put(sinkRefused, float64(e.Refused), name, e.Name)
		put(sinkWaiting, float64(e.Waiting), name, e.Name)
	}
	put(commitCount, float64(sum.Checkpoints.Count), name)
	put(commitBytes, float64(sum.Checkpoints.Bytes), name)
	if last := sum.Checkpoints.Last; last != nil {
		put(commitLast, float64(last.At.UnixMilli())/1000, name)
	}
}

// notInNames is what the name of a metric cannot hold.
var notInNames = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// collectPlugins passes on what plugins count: tidemark_plugin_NAME_METRIC. Instances that say the same of the same component are one.
func collectPlugins(gauges []wire.InstanceMetric, to chan<- prometheus.Metric) {
	type key struct{ name, pipeline, component, labels string }
	type family struct {
		help string
		kind prometheus.ValueType
	}
	sums, families, order, labels := map[key]float64{}, map[string]family{}, []key(nil), map[key][]wire.Label{}
	for _, m := range gauges {
		name := "tidemark_plugin_" + notInNames.ReplaceAllString(m.Plugin+"_"+m.Name, "_")
		kind := counter
		if m.Gauge {
			kind = gauge
		} else if !strings.HasSuffix(name, "_total") {
			name += "_total"
		}
		if f, twice := families[name]; twice && f.kind != kind {
			continue // two plugins of one name disagree; the first one is believed
		} else if !twice {
			families[name] = family{m.Help, kind}
		}
		k := key{name, m.Place.Pipeline, m.Place.Component, fmt.Sprintf("%q", m.Labels)}
		if _, twice := sums[k]; !twice {
			order = append(order, k)
			labels[k] = m.Labels
		}
		sums[k] += m.Value
	}
	for _, k := range order {
		f := families[k.name]
		names, values := []string{"pipeline", "component"}, []string{k.pipeline, k.component}
		for _, l := range labels[k] {
			names, values = append(names, l.Name), append(values, l.Value)
		}
		one, err := prometheus.NewConstMetric(prometheus.NewDesc(k.name, f.help, names, nil), f.kind, sums[k], values...)
		if err != nil { // the host has looked at it; this is no reason to keep back the others
			continue
		}
		to <- one
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// newMetrics makes the handler of /metrics.
func (s *Server) newMetrics() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{s}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorLog: s.set.Log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}), ErrorHandling: promhttp.ContinueOnError,
	})
}
