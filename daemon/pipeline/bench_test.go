package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/plugins/source/generate"
)

// BenchmarkTumbling is the whole way of a record, from a file of JSON lines through windows of 5 s to a sink, with every plugin inside the
// process.
func BenchmarkTumbling(b *testing.B) {
	const records = 1_000_000
	g, err := generate.NewGenerator(generate.Workload{Seed: 1, Keys: 10_000, Rate: 1_000_000, Disorder: 2000, Start: 1_700_000_000_000})
	require.NoError(b, err)
	var data []byte
	for range records {
		data = generate.AppendJSON(data, g.Next())
	}
	path := filepath.Join(b.TempDir(), "events.json")
	require.NoError(b, os.WriteFile(path, data, 0o600))
	text := fmt.Sprintf(`
[sources.e]
plugin = "file"
path = %q
[sources.e.time]
timestamp = "ts"
unit = "ms"
max_out_of_orderness = "2s"
[transforms.per_key]
type = "window"
inputs = ["e"]
key_by = ["key"]
window = { type = "tumbling", size = "5s" }
[transforms.per_key.aggregate]
n = "count()"
sum = "sum(value)"
min = "min(value)"
max = "max(value)"
[sinks.out]
plugin = "capture"
inputs = ["per_key"]
`, path)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		r := newRig(b)
		p := r.pipeline(text)
		require.NoError(b, p.Run(context.Background()))
		require.EqualValues(b, records, p.Summary().In)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}
