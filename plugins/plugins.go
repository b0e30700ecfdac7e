// Package plugins is the list of the plugins that come with Tidemark. cmd/tidemark hands it to the daemon as a value; nothing registers
// itself. Each plugin stands in a folder of its own below and imports the sdk only, like anybody else's.
package plugins

import (
	"github.com/tidemark-stream/tidemark/plugins/assigner/marker"
	"github.com/tidemark-stream/tidemark/plugins/assigner/periodic"
	"github.com/tidemark-stream/tidemark/plugins/assigner/punctuated"
	filesink "github.com/tidemark-stream/tidemark/plugins/sink/file"
	httpsink "github.com/tidemark-stream/tidemark/plugins/sink/http"
	"github.com/tidemark-stream/tidemark/plugins/sink/postgres"
	"github.com/tidemark-stream/tidemark/plugins/sink/stdout"
	filesource "github.com/tidemark-stream/tidemark/plugins/source/file"
	"github.com/tidemark-stream/tidemark/plugins/source/generate"
	httpsource "github.com/tidemark-stream/tidemark/plugins/source/http"
	"github.com/tidemark-stream/tidemark/plugins/source/socket"
	"github.com/tidemark-stream/tidemark/plugins/source/stdin"
	"github.com/tidemark-stream/tidemark/sdk"
)

// All returns the shipped plugins, by kind in the order of the data, then by name.
func All() []sdk.Plugin {
	return []sdk.Plugin{
		filesource.Plugin(),
		generate.Plugin(),
		httpsource.Plugin(),
		socket.Plugin(),
		stdin.Plugin(),
		marker.Plugin(),
		periodic.Plugin(),
		punctuated.Plugin(),
		filesink.Plugin(),
		httpsink.Plugin(),
		postgres.Plugin(),
		stdout.Plugin(),
	}
}
