package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

func shown(m *Metrics) map[string]float64 {
	out := map[string]float64{}
	for _, x := range m.Read() {
		name := x.Name
		for _, l := range x.Labels {
			name += fmt.Sprintf(" %s=%s", l.Name, l.Value)
		}
		out[name] = x.Value
	}
	return out
}

func TestLabelsTellSeriesApart(t *testing.T) {
	m := &Metrics{}
	m.Add("asked", "", 1, "code", "404", "method", "GET")
	m.Add("asked", "", 2, "method", "GET", "code", "200")
	m.Add("asked", "", 4, "method", "GET", "code", "404")
	m.Add("plain", "", 1)
	m.Set("queue", "", 3, "shard", "\xff")
	require.Equal(t, map[string]float64{"asked code=404 method=GET": 5, "asked code=200 method=GET": 2, "plain": 1, "queue shard=�": 3}, shown(m))
	require.Empty(t, m.Problems())
	var none *Metrics
	none.Add("asked", "", 1, "code", "404")
	none.Set("queue", "", 1)
}

// Labels whose values have no end do not fill anybody's memory, and the log says so, once.
func TestTooManyLabels(t *testing.T) {
	var log bytes.Buffer
	m := &Metrics{Log: hclog.New(&hclog.LoggerOptions{Output: &log, DisableTime: true})}
	for i := range 3 * MaxSeries {
		m.Add("asked", "", 1, "user", fmt.Sprint(i))
		m.Set("queue", "", 1, "user", fmt.Sprint(i))
	}
	m.Add("asked", "", 1, "user", "7")
	m.Add("paths", "", 1, "path", strings.Repeat("x", MaxLabelValue+1))
	got := shown(m)
	require.Len(t, got, 2*MaxSeries+2)
	require.EqualValues(t, 2*MaxSeries, got["asked user=other"])
	require.EqualValues(t, 2, got["asked user=7"], "what is known goes on")
	require.EqualValues(t, 1, got["paths path=other"])
	require.NotContains(t, got, "queue user=other")
	require.Len(t, m.series, 2*MaxSeries, "nothing is remembered of the others")
	require.Equal(t, `[WARN]  a metric has too many labels: metric=asked why="it has more than 100 combinations of labels, or a value of more than 256 bytes; what is beyond is counted as \"other\""
[WARN]  a metric has too many labels: metric=queue why="it has more than 100 combinations of labels, or a value of more than 256 bytes; what is beyond is left out"
[WARN]  a metric has too many labels: metric=paths why="it has more than 100 combinations of labels, or a value of more than 256 bytes; what is beyond is counted as \"other\""
`, log.String())
}

func TestLabelsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		labels []string
		says   string
	}{
		{[]string{"code"}, "asked: labels are names and values in turn, and here are 1 texts"},
		{[]string{"code-of", "1"}, `asked: the label "code-of" is no name: letters, digits and _`},
		{[]string{"pipeline", "1"}, `asked: the label "pipeline" is the daemon's own`},
		{[]string{"__code", "1"}, `asked: the label "__code" is no name: letters, digits and _`},
		{[]string{"a", "1", "a", "2"}, `asked: the label "a" is there twice`},
		{[]string{"method", "GET"}, "asked: it has the labels [method], and before it had [code]"},
		{nil, "asked: it has the labels [], and before it had [code]"},
	} {
		m := &Metrics{}
		m.Add("asked", "", 1, "code", "1")
		m.Add("asked", "", 1, c.labels...)
		m.Add("asked", "", 1, c.labels...)
		require.Equal(t, []string{c.says}, m.Problems(), "once")
		require.Equal(t, map[string]float64{"asked code=1": 1}, shown(m))
	}
}

func BenchmarkCount(b *testing.B) {
	m := &Metrics{}
	b.ReportAllocs()
	for b.Loop() {
		m.Add("asked", "", 1, "code", "404", "method", "GET")
	}
}
