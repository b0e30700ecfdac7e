package plugins

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/assigner/marker"
	"github.com/tidemark-stream/tidemark/plugins/assigner/periodic"
	"github.com/tidemark-stream/tidemark/plugins/assigner/punctuated"
	filesink "github.com/tidemark-stream/tidemark/plugins/sink/file"
	filesource "github.com/tidemark-stream/tidemark/plugins/source/file"
	"github.com/tidemark-stream/tidemark/plugins/source/generate"
	httpsource "github.com/tidemark-stream/tidemark/plugins/source/http"
	"github.com/tidemark-stream/tidemark/plugins/source/socket"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

// The shipped plugins pass the kit that their users' plugins are tested with.
func TestConformance(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.log"), filepath.Join(dir, "out.log")
	var lines strings.Builder
	for i := range 500 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	require.NoError(t, os.WriteFile(in, []byte(lines.String()), 0o644))

	t.Run("periodic", func(t *testing.T) {
		sdktest.Conforms(t, periodic.Plugin(), sdktest.Settings{Options: sdktest.Options{"max_out_of_orderness": "1s"}, NoSpeed: true})
	})
	t.Run("punctuated", func(t *testing.T) {
		sdktest.Conforms(t, punctuated.Plugin(), sdktest.Settings{Options: sdktest.Options{"every": 3, "when": "x"}, NoSpeed: true})
	})
	t.Run("marker", func(t *testing.T) {
		sdktest.Conforms(t, marker.Plugin(), sdktest.Settings{Options: sdktest.Options{"marker": "x", "watermark": "y"}, NoSpeed: true})
	})
	t.Run("generate", func(t *testing.T) {
		sdktest.Conforms(t, generate.Plugin(), sdktest.Settings{Options: sdktest.Options{"count": 5000, "partitions": 2},
			Until: sdktest.Until{Rows: 5000}, NoSpeed: true})
	})
	t.Run("file source", func(t *testing.T) {
		sdktest.Conforms(t, filesource.Plugin(), sdktest.Settings{Options: sdktest.Options{"path": []string{in}}, NoSpeed: true})
	})
	t.Run("file source, following", func(t *testing.T) {
		sdktest.Conforms(t, filesource.Plugin(), sdktest.Settings{Options: sdktest.Options{"path": []string{in}, "follow": true},
			Until: sdktest.Until{Rows: 500}, NoSpeed: true})
	})
	t.Run("socket", func(t *testing.T) {
		sdktest.Conforms(t, socket.Plugin(), sdktest.Settings{Options: sdktest.Options{"listen": "127.0.0.1:0"}, Until: sdktest.Until{After: 1}, NoSpeed: true})
	})
	t.Run("http source", func(t *testing.T) {
		sdktest.Conforms(t, httpsource.Plugin(), sdktest.Settings{Options: sdktest.Options{"listen": "127.0.0.1:0"}, Until: sdktest.Until{After: 1}, NoSpeed: true})
	})
	t.Run("file sink", func(t *testing.T) {
		sdktest.Conforms(t, filesink.Plugin(), sdktest.Settings{Options: sdktest.Options{"path": out}, NoSpeed: true, Delivered: func() ([]string, error) {
			b, err := os.ReadFile(out)
			return strings.FieldsFunc(string(b), func(c rune) bool { return c == '\n' }), err
		}})
	})
}
