package socket

import (
	"context"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Plugin is the source.
func Plugin() sdk.Plugin {
	return sdk.NewSource("socket", "reads records from TCP, TLS, Unix or UDP sockets, as client or as listener",
		func(c Config) (sdk.Source[[]byte], error) { return &source{c}, nil }, sdk.NotReplayable())
}

type source struct{ Config }

// Run reads until ctx is done, or with reconnect = false until the connection ends.
func (s *source) Run(ctx context.Context, out *sdk.SourceContext[[]byte]) error {
	switch {
	case s.Network == "udp":
		return s.datagrams(ctx, out)
	case s.Listen != "":
		return s.listen(ctx, out)
	default:
		return s.connect(ctx, out)
	}
}
