package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two files, one a day older than the other, read side by side. Without max_drift as much is taken of one as of the other, and all windows of
// the newer day are open until the older one is over. With it the newer file waits, and the results are the same bytes.
func TestFilesOfDifferentAgesStayTogether(t *testing.T) {
	const lines = 500_000 // of about 30 bytes each, far more than is ever on its way
	tr := &trial{t, t.TempDir()}
	for day, name := range []string{"old", "new"} {
		f, err := os.Create(tr.path(name + ".log"))
		require.NoError(t, err)
		w := bufio.NewWriter(f)
		for i := range lines {
			_, err := fmt.Fprintf(w, "%s user%03d %d\n", name, i%200, 1_700_000_000_000+int64(day)*86_400_000+int64(i)*170)
			require.NoError(t, err)
		}
		require.NoError(t, w.Flush())
		require.NoError(t, f.Close())
	}
	run := func(name, drift string) (ahead int, results string) {
		tr.write(name+".toml", fmt.Sprintf(`
[sources.files]
plugin = "file"
path = ["old.log", "new.log"]
decode = { format = "delimited", delimiter = " ", fields = ["file", "user", "ts:int"] }
time = { timestamp = "ts", unit = "ms"%s }
[transforms.files_seen]
type = "map"
inputs = ["files"]
keep = ["file"]
[transforms.minutes]
type = "window"
inputs = ["files"]
key_by = ["user"]
window = { type = "tumbling", size = "1m" }
aggregate = { n = "count()" }
[sinks.order]
plugin = "file"
inputs = ["files_seen"]
path = "%[2]s.seen"
format = "text"
template = "{{.file}}"
[sinks.results]
plugin = "file"
inputs = ["minutes"]
path = "%[2]s.out"
`, drift, name))
		p := tr.tidemark([]string{"run", name + ".toml"})
		<-p.done
		require.Zero(t, p.code, p.err.String())
		order := tr.read(name + ".seen")
		require.Equal(t, lines, strings.Count(order, "new\n"))
		return strings.Count(order[:strings.LastIndex(order, "old\n")], "new\n"), tr.read(name + ".out")
	}
	free, want := run("free", "")
	require.Greater(t, free, lines*9/10, "the files are read side by side")
	kept, got := run("kept", `, max_drift = "10m"`)
	require.Less(t, kept, lines/2, "the newer file waits")
	require.True(t, want == got, "the results are the same")
	t.Logf("records of the newer file before the end of the older one: %d without max_drift, %d with it", free, kept)
}
