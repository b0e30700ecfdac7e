package limit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/baseline"
	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/limit"
	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
)

// The prototype is worth nothing as a limit unless it does the whole job.
func TestThePrototypeIsRight(t *testing.T) {
	for _, name := range []string{"w2a", "w2b", "w3"} {
		for _, workers := range []int{1, 2, 3} {
			w, err := workload.Find(name)
			require.NoError(t, err)
			w = w.Small()
			w.Input.Lines = min(w.Input.Lines, 60_000)
			path := input(t, w.Input)
			var want, got baseline.Digest
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, baseline.Totals(bytes.NewReader(data), w.Size.Milliseconds(), w.Bound().Milliseconds(), func(r baseline.Row) { want.Add(&r) }))

			out := filepath.Join(t.TempDir(), "out")
			n, err := limit.Run(limit.Job{Input: path, Output: out, Size: w.Size.Milliseconds(), Bound: w.Bound().Milliseconds(), Workers: workers})
			require.NoError(t, err)
			require.Equal(t, w.Input.Lines, n)
			results, err := os.Open(out)
			require.NoError(t, err)
			defer results.Close()
			require.NoError(t, baseline.ReadResults(results, func(r *baseline.Row) error { got.Add(r); return nil }))
			require.Equal(t, want, got, "%s with %d workers", name, workers)
			require.Equal(t, w.Input.Lines, got.Records)
		}
	}
}

func TestBrokenInputIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		"{\"key\":\"a\",\"ts\":1,\"value\":1.5}":     "no end",
		"[1]\n":                                      "begins with",
		"{\"key\":\"a\",\"ts\":1}\n":                 "without key, ts or value",
		"{\"key\":1,\"ts\":1,\"value\":1}\n":         "no string",
		"{\"key\":\"a\",\"ts\":1,\"value\":1.5} x\n": "after a record",
	} {
		path := filepath.Join(t.TempDir(), "in")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := limit.Run(limit.Job{Input: path, Output: filepath.Join(t.TempDir(), "out"), Size: 5000, Bound: 0})
		require.ErrorContains(t, err, want, text)
	}
}

func input(t testing.TB, in workload.Input) string {
	path := filepath.Join(t.TempDir(), in.FileName())
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, in.Write(f))
	require.NoError(t, f.Close())
	return path
}

func BenchmarkLimit(b *testing.B) {
	w, err := workload.Find("w2b")
	require.NoError(b, err)
	w.Input.Lines = 2_000_000
	path := input(b, w.Input)
	out := filepath.Join(b.TempDir(), "out")
	b.ResetTimer()
	for range b.N {
		_, err := limit.Run(limit.Job{Input: path, Output: out, Size: w.Size.Milliseconds(), Bound: w.Bound().Milliseconds()})
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2e6, "ns/record")
}
