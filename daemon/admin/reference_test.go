package admin

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the reference of the metrics")

// TestReference compares docs/reference/metrics.md with the metrics.
func TestReference(t *testing.T) {
	const path = "../../docs/reference/metrics.md"
	var b strings.Builder
	b.WriteString("# Metrics\n\n<!-- Written by `go test ./daemon/admin -run TestReference -rewrite` from daemon/admin/metrics.go. -->\n\n" +
		"What `/metrics` of [a running daemon](../guide/ask.md) says, beside Go's own (`go_…`, `process_…`). Counters begin anew with the daemon.\n\n" +
		"| metric | kind | labels | what it is |\n| --- | --- | --- | --- |\n")
	row := func(name, kind, help string, labels ...string) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, kind, strings.Join(labels, ", "), help)
	}
	seen := map[string]bool{}
	for _, m := range families {
		require.False(t, seen[m.name], "%s twice", m.name)
		seen[m.name] = true
		kind := "gauge"
		if m.kind == counter {
			kind = "counter"
			require.Regexp(t, `_total$`, m.name)
		}
		require.Regexp(t, `\.$`, m.help, "full sentences")
		row(m.name, kind, m.help, m.labels...)
	}
	row(commitTimesName, "histogram", commitTimesHelp, "pipeline")
	row("tidemark_plugin_PLUGIN_NAME", "as the plugin says", "What a plugin counts; a counter's name ends with `_total`.", "pipeline", "component", "and the plugin's own")
	got := b.String()
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run go test ./daemon/admin -run TestReference -rewrite")
}
