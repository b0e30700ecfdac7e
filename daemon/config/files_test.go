package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

var rewrite = flag.Bool("rewrite", false, "write what the code gives into testdata and docs")

func testEnv(name string) (string, bool) {
	v, ok := map[string]string{"HOST": "localhost", "EMPTY": ""}[name]
	return v, ok
}

// TestFiles reads each file of testdata and compares the problems with the .want beside it.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.toml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".toml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var l problem.List
			if strings.HasPrefix(name, "daemon-") {
				_, l = ParseDaemon(filepath.Base(file), data, testEnv)
			} else {
				_, l = Parse(filepath.Base(file), data, testEnv)
			}
			var b strings.Builder
			for _, p := range l.All() {
				b.WriteString(p.Error() + "\n")
			}
			want := strings.TrimSuffix(file, ".toml") + ".want"
			if *rewrite {
				require.NoError(t, os.WriteFile(want, []byte(b.String()), 0o644))
			}
			expected, err := os.ReadFile(want)
			require.NoError(t, err)
			require.Equal(t, string(expected), b.String())
		})
	}
}
