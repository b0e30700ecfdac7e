package scenario_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/scenario"
	"github.com/tidemark-stream/tidemark/plugins"
	"github.com/tidemark-stream/tidemark/sdk"
)

var rewrite = flag.Bool("rewrite", false, "write the expected output anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type catalog struct{ *host.Plugins }

func (c catalog) Describe(kind sdk.Kind, name string) (plan.Found, error) {
	f, err := c.Plugins.Describe(kind, name)
	return plan.Found(f), err
}

func settings(t testing.TB) scenario.Settings {
	h, err := host.New(host.Settings{Shipped: plugins.All()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return scenario.Settings{Open: func(policies []*config.PluginPolicy, dir string) (plan.Catalog, pipeline.Plugins) {
		view := h.Plugins(policies, dir)
		return catalog{view}, view
	}}
}

func files(t testing.TB, pattern string) []string {
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// TestStories runs the cases of testdata/pass, which are stories about time, and must all hold.
func TestStories(t *testing.T) {
	set := settings(t)
	for _, file := range files(t, "testdata/pass/*.test.toml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r, list := scenario.Run(context.Background(), file, set)
			require.NoError(t, list.Err())
			var out bytes.Buffer
			r.Print(&out, false)
			require.Zero(t, r.Failed(), out.String())
			require.NotEmpty(t, r.Cases)
		})
	}
}

var milliseconds = regexp.MustCompile(`\([0-9.]+ ms\)`)

// TestFailures compares what is printed for cases that fail.
func TestFailures(t *testing.T) {
	set := settings(t)
	for _, file := range files(t, "testdata/fail/*.test.toml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r, list := scenario.Run(context.Background(), file, set)
			require.NoError(t, list.Err())
			var out bytes.Buffer
			r.Print(&out, true)
			golden(t, strings.TrimSuffix(file, ".toml")+".want", milliseconds.ReplaceAllString(out.String(), "(some ms)"))
		})
	}
}

// TestProblems compares what is said about files with mistakes.
func TestProblems(t *testing.T) {
	set := settings(t)
	for _, file := range files(t, "testdata/wrong/*.test.toml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, list := scenario.Run(context.Background(), file, set)
			require.Error(t, list.Err())
			var out strings.Builder
			for _, p := range list.All() {
				out.WriteString(p.Error() + "\n")
			}
			golden(t, strings.TrimSuffix(file, ".toml")+".want", out.String())
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
