package socket

import (
	"context"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Plugin is the source.
func Plugin() sdk.Plugin {
	return sdk.NewSource("socket", "reads records from TCP, TLS, Unix or UDP sockets, as client or as listener",
		newSource, sdk.NotReplayable(), sdk.HoldsPartitions())
}

type source struct{ Config }

func newSource(c Config) (sdk.Source[[]byte], error) {
	s := &source{c}
	s.stands(false)
	return s, nil
}

// stands says whether others can connect, or whether the server does answer.
func (s *source) stands(well bool) {
	v := 0.0
	if well {
		v = 1
	}
	if s.Listen != "" {
		s.Gauge(sdk.Listening, "the socket is open", v)
	} else {
		s.Gauge(sdk.Connected, "there is a connection to the server", v)
	}
}

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
