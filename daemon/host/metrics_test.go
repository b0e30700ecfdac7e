package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// A plugin can say anything about itself, and nothing about another one; what cannot be shown hides nothing else.
func TestMetricsThatCannotBe(t *testing.T) {
	label := func(name, value string) []wire.Label { return []wire.Label{{Name: name, Value: value}} }
	good := wire.Metric{Name: "good", Labels: label("a", "1"), Value: 1}
	for _, c := range []struct {
		metric wire.Metric
		says   string
	}{
		{wire.Metric{}, "has no name"},
		{wire.Metric{Name: strings.Repeat("x", 1000)}, "has no name, or one of more than 200 bytes"},
		{wire.Metric{Name: "m", Help: "\xff"}, "or a help that is no text"},
		{wire.Metric{Name: "m", Labels: label("component", "another")}, `the label \"component\" is the daemon's own`},
		{wire.Metric{Name: "m", Labels: label("", "x")}, `m: the label \"\" is no name`},
		{wire.Metric{Name: "m", Labels: label("a", "\xff")}, "or its value is no text"},
		{wire.Metric{Name: "m", Labels: append(label("a", "1"), label("a", "2")...)}, "is there twice"},
	} {
		out := &logLines{}
		p := &process{kind: sdk.KindSource, name: "numbers", place: wire.Place{Pipeline: "p", Component: "c"},
			log: hclog.New(&hclog.LoggerOptions{Output: out, DisableTime: true})}
		for range 2 {
			got := p.sane([]wire.InstanceMetric{{Metric: c.metric}, {Metric: good, Kind: sdk.KindSink, Plugin: "postgres", Place: wire.Place{Pipeline: "payments"}}})
			require.Equal(t, []wire.InstanceMetric{{Metric: good, Kind: sdk.KindSource, Plugin: "numbers", Place: p.place}}, got)
		}
		require.Contains(t, out.String(), c.says)
		require.Equal(t, 1, strings.Count(out.String(), "\n"), "it is said once")
	}
}

func TestAProcessHasSoManySeriesAndNoMore(t *testing.T) {
	out := &logLines{}
	p := &process{log: hclog.New(&hclog.LoggerOptions{Output: out, DisableTime: true})}
	var many []wire.InstanceMetric
	for i := range 5000 {
		many = append(many, wire.InstanceMetric{Metric: wire.Metric{Name: fmt.Sprint("m", i)}})
	}
	require.Len(t, p.sane(many), maxProcessSeries)
	require.Contains(t, out.String(), "there are 5000 series, and 1000 are shown")
}
