package wire

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// Metric is a counter or a gauge that a plugin keeps.
type Metric struct {
	Name   string  // without the plugin's name; [a-z0-9_]
	Labels []Label // in order of their names
	Help   string
	Gauge  bool // else a counter
	Value  float64
}

// Label tells one series of a metric from another.
type Label struct{ Name, Value string }

const (
	// MaxSeries is how many combinations of labels an instance may have for one metric. What comes beyond is counted under [OtherLabel], or, for
	// gauges, which cannot be added up, left out.
	MaxSeries = 100
	// MaxLabelValue is how long a label's value may be, in bytes. A longer one is an [OtherLabel].
	MaxLabelValue = 256
	// OtherLabel is the value of all labels of what is beyond MaxSeries.
	OtherLabel = "other"
)

// Metrics are the counters and gauges of one instance. Safe for use by several goroutines; a nil *Metrics takes everything and
// keeps nothing.
type Metrics struct {
	Log hclog.Logger // says, once for each metric, what is not kept; nil: nobody is told

	mu       sync.Mutex
	key      []byte
	series   map[string]*Metric // by name and labels as they are given
	families map[string]*family
	list     []*Metric
	problems []string
}

// family is a metric with all its labels' values.
type family struct {
	labels []string // names, in order
	series int
	other  *Metric // beyond MaxSeries; nil for gauges
	full   bool
	wrong  bool // its author has been told that something about it cannot be
}

// Add raises a counter. labels are names and values in turn.
func (m *Metrics) Add(name, help string, n float64, labels ...string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.with(name, help, false, labels); x != nil {
		x.Value += n
	}
}

// Set sets a gauge. labels are names and values in turn.
func (m *Metrics) Set(name, help string, v float64, labels ...string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if x := m.with(name, help, true, labels); x != nil {
		x.Value = v
	}
}

// with finds the series, which is nil if it is not kept. m.mu is held.
func (m *Metrics) with(name, help string, gauge bool, labels []string) *Metric {
	m.key = append(m.key[:0], name...)
	for _, l := range labels {
		m.key = append(append(m.key, 0xff), l...) // no valid text has this byte
	}
	if x, known := m.series[string(m.key)]; known {
		return x
	}
	if m.series == nil {
		m.series, m.families = map[string]*Metric{}, map[string]*family{}
	}
	f := m.families[name]
	sorted, err := labelsOf(labels)
	if err == nil && f != nil && !slices.EqualFunc(sorted, f.labels, func(l Label, name string) bool { return l.Name == name }) {
		err = fmt.Errorf("it has the labels [%s], and before it had [%s]", strings.Join(labelNames(sorted), " "), strings.Join(f.labels, " "))
	}
	if f == nil {
		f = &family{labels: labelNames(sorted)}
		m.families[name] = f
	}
	if err != nil {
		if !f.wrong {
			f.wrong = true
			m.tell("a metric is not kept", name, err.Error())
		}
		return nil // and not remembered: there may be any number of them
	}
	if given := string(m.key); !inOrder(sorted, labels) {
		x := m.with(name, help, gauge, pairsOf(sorted))
		if x != nil && x != f.other {
			m.series[given] = x
		}
		return x
	}
	if f.series == MaxSeries || slices.ContainsFunc(sorted, func(l Label) bool { return len(l.Value) > MaxLabelValue }) {
		return m.beyond(f, name, help, gauge)
	}
	f.series++
	x := &Metric{Name: name, Labels: sorted, Help: help, Gauge: gauge}
	m.series[string(m.key)] = x
	m.list = append(m.list, x)
	return x
}

// beyond is the series for what has no room.
func (m *Metrics) beyond(f *family, name, help string, gauge bool) *Metric {
	if !f.full {
		f.full = true
		then := fmt.Sprintf("what is beyond is counted as %q", OtherLabel)
		if gauge {
			then = "what is beyond is left out"
		}
		m.tell("a metric has too many labels", name, fmt.Sprintf("it has more than %d combinations of labels, or a value of more than %d bytes; %s", MaxSeries, MaxLabelValue, then))
	}
	if f.other == nil && !gauge {
		f.other = &Metric{Name: name, Help: help}
		for _, l := range f.labels {
			f.other.Labels = append(f.other.Labels, Label{l, OtherLabel})
		}
		m.list = append(m.list, f.other)
	}
	return f.other
}

func (m *Metrics) tell(message, name, why string) {
	m.problems = append(m.problems, fmt.Sprintf("%s: %s", name, why))
	if m.Log != nil {
		m.Log.Warn(message, "metric", name, "why", why)
	}
}

var labelRule = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// CheckLabel says what is wrong with the name of a label.
func CheckLabel(name string) error {
	switch {
	case name == "pipeline" || name == "component":
		return fmt.Errorf("the label %q is the daemon's own", name)
	case !labelRule.MatchString(name) || strings.HasPrefix(name, "__"):
		return fmt.Errorf("the label %q is no name: letters, digits and _", name)
	}
	return nil
}

func labelsOf(pairs []string) ([]Label, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("labels are names and values in turn, and here are %d texts", len(pairs))
	}
	var out []Label
	for i := 0; i < len(pairs); i += 2 {
		if err := CheckLabel(pairs[i]); err != nil {
			return nil, err
		}
		out = append(out, Label{pairs[i], strings.ToValidUTF8(pairs[i+1], "\uFFFD")})
	}
	slices.SortFunc(out, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(out); i++ {
		if out[i].Name == out[i-1].Name {
			return nil, fmt.Errorf("the label %q is there twice", out[i].Name)
		}
	}
	return out, nil
}

// inOrder says whether labels were given as they are kept.
func inOrder(sorted []Label, given []string) bool {
	for i, l := range sorted {
		if l.Name != given[2*i] || l.Value != given[2*i+1] {
			return false
		}
	}
	return true
}

func pairsOf(labels []Label) []string {
	var out []string
	for _, l := range labels {
		out = append(out, l.Name, l.Value)
	}
	return out
}

func labelNames(labels []Label) []string {
	var out []string
	for _, l := range labels {
		out = append(out, l.Name)
	}
	return out
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

// Problems are what its author has to mend: a text for each metric that is not kept as it is given.
func (m *Metrics) Problems() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.problems)
}
