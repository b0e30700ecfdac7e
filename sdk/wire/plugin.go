package wire

import (
	"sync"

	"github.com/hashicorp/go-hclog"
)

// Plugin is what stands behind the wire: the author's half hands it to the server, and the host opens shipped ones of it in its own
// process. Calls may come from several goroutines.
type Plugin interface {
	Description() Description
	CheckOptions(options []byte) error
	OpenSource(SourceOpen, Runtime) (Source, error)
	OpenAssigner(AssignerOpen, Runtime) (Assigner, error)
	OpenSink(SinkOpen, Runtime) (Sink, error)
	OpenTransform(TransformOpen, Runtime) (Transform, error)
	OpenWindows(WindowsOpen, Runtime) (Windows, error)
}

// Runtime is what surrounds an instance.
type Runtime struct {
	Logger  hclog.Logger // nil: nothing is logged
	Metrics *Metrics     // nil: nothing is kept
}

// Metrics are the counters and gauges of one instance. Safe for use by several goroutines; a nil *Metrics takes everything and
// keeps nothing.
type Metrics struct {
	mu   sync.Mutex
	byID map[string]*Metric
	list []*Metric
}

// Add raises a counter.
func (m *Metrics) Add(name, help string, n float64) { m.with(name, help, false, n, true) }

// Set sets a gauge.
func (m *Metrics) Set(name, help string, v float64) { m.with(name, help, true, v, false) }

func (m *Metrics) with(name, help string, gauge bool, v float64, add bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.byID[name]
	if x == nil {
		if m.byID == nil {
			m.byID = map[string]*Metric{}
		}
		x = &Metric{Name: name, Help: help, Gauge: gauge}
		m.byID[name] = x
		m.list = append(m.list, x)
	}
	if add {
		x.Value += v
	} else {
		x.Value = v
	}
}

// Read returns a copy of all of them, in the order of their first use.
func (m *Metrics) Read() []Metric {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Metric, len(m.list))
	for i, x := range m.list {
		out[i] = *x
	}
	return out
}
