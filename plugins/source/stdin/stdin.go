// Package stdin is the source that reads what is piped into the daemon: `zcat old.gz | tidemark run clicks.toml`. It ends with its
// input. It cannot be read twice, so after a crash the journal has to give what was not committed.
package stdin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tidemark-stream/tidemark/plugins/framing"
	"github.com/tidemark-stream/tidemark/plugins/source/stream"
	"github.com/tidemark-stream/tidemark/sdk"
)

// Config has no options.
type Config struct{}

// Plugin is the source.
func Plugin() sdk.Plugin {
	return sdk.NewSource("stdin", "reads standard input", func(Config) (sdk.Source[[]byte], error) { return &source{os.Stdin}, nil }, sdk.Stdin(), sdk.NotReplayable())
}

type source struct{ in *os.File }

const (
	// linger is how long whole records wait for more.
	linger = time.Millisecond
	// look is how often a silent input is left to see whether the source is to stop.
	look = 50 * time.Millisecond
)

// Run reads to the end.
func (s *source) Run(ctx context.Context, out *sdk.SourceContext[[]byte]) error {
	part := out.Partition("stdin")
	st, err := stream.New(part, out.Framing(), framing.Place{}, nil)
	if err != nil {
		return err
	}
	defer st.Drop()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		wait := look
		if st.Waiting() {
			wait = linger
		}
		ready, err := readable(s.in, wait)
		if err != nil {
			return fmt.Errorf("wait for standard input: %w", err)
		}
		if !ready {
			if err := st.Flush(); err != nil {
				return err
			}
			continue
		}
		switch _, err := st.Fill(s.in); {
		case errors.Is(err, io.EOF):
			if err := st.End(framing.KeepLast); err != nil {
				return err
			}
			return part.End()
		case err != nil:
			return fmt.Errorf("read standard input: %w", err)
		}
	}
}
