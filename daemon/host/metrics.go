package host

import (
	"context"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// maxProcessSeries is how many series a process may have: more than the sdk lets an instance of a few metrics have, and few enough for whoever
// stores them.
const maxProcessSeries = 1000

// Metrics reads the counters and gauges of all instances. A process that does not answer until ctx is done is left out.
func (h *Host) Metrics(ctx context.Context) []wire.InstanceMetric {
	h.mu.Lock()
	var running []*process
	for p := range h.processes {
		if p.ready.Load() {
			running = append(running, p)
		}
	}
	var out []wire.InstanceMetric
	for _, i := range h.inner {
		for _, m := range i.metrics.Read() {
			out = append(out, wire.InstanceMetric{Metric: m, Kind: i.kind, Plugin: i.name, Place: i.place})
		}
	}
	h.mu.Unlock()
	answers := make([][]wire.InstanceMetric, len(running))
	var wg sync.WaitGroup
	for i, p := range running {
		wg.Go(func() {
			list, err := p.wire.Metrics(ctx)
			if err != nil && ctx.Err() == nil && !p.closing.Load() {
				p.oddMetrics("they cannot be read: " + err.Error())
			}
			answers[i] = p.sane(list)
		})
	}
	wg.Wait()
	for _, a := range answers {
		out = append(out, a...)
	}
	return out
}

// sane is what is shown of what a process says about itself: whose metrics they are is known here better than there, and what cannot be shown,
// or is too much, is left out, which the log says once.
func (p *process) sane(list []wire.InstanceMetric) []wire.InstanceMetric {
	out := list[:0]
	for _, m := range list {
		if err := checkMetric(m.Metric); err != nil {
			p.oddMetrics(err.Error())
			continue
		}
		if len(out) == maxProcessSeries {
			p.oddMetrics(fmt.Sprintf("there are %d series, and %d are shown", len(list), maxProcessSeries))
			break
		}
		m.Kind, m.Plugin, m.Place = p.kind, p.name, p.place
		out = append(out, m)
	}
	return out
}

func checkMetric(m wire.Metric) error {
	if m.Name == "" || len(m.Name) > 200 || len(m.Help) > 1000 || !utf8.ValidString(m.Help) {
		return fmt.Errorf("%.40q has no name, or one of more than 200 bytes, or a help that is no text of at most 1,000", m.Name)
	}
	seen := map[string]bool{}
	for _, l := range m.Labels {
		if err := wire.CheckLabel(l.Name); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if seen[l.Name] || len(l.Value) > wire.MaxLabelValue || !utf8.ValidString(l.Value) {
			return fmt.Errorf("%s: the label %q is there twice, or its value is no text of at most %d bytes", m.Name, l.Name, wire.MaxLabelValue)
		}
		seen[l.Name] = true
	}
	return nil
}

// oddMetrics says once for each process what is wrong with its metrics.
func (p *process) oddMetrics(why string) {
	if p.oddMetric.CompareAndSwap(false, true) {
		p.log.Warn("some metrics of the plugin are not shown", "why", why)
	}
}
