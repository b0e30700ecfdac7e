// Package stdout is the sink that prints rows. It can promise no more than at_least_once: after a crash rows come again.
//
// Rows go out as they are delivered, whole ones at a time, without a buffer of its own; a reader that has gone away ends the pipeline.
package stdout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Config has no options of its own; format, template and time_format are the daemon's.
type Config struct{}

// Plugin is the sink. It prints to the standard output of the process it runs in, so it is run inside the daemon.
func Plugin() sdk.Plugin {
	return sdk.NewSink("stdout", "prints rows", sdk.SinkTraits{Delivery: sdk.AtLeastOnce, Text: true},
		func(context.Context, Config) (sdk.Sink, error) { return &sink{os.Stdout}, nil }, sdk.InDaemon())
}

type sink struct{ out io.Writer }

// Write prints the rows in one piece, so that those of several sinks do not mix within a line.
func (s *sink) Write(_ context.Context, rows sdk.Rows) error {
	if rows.Len() == 0 {
		return nil
	}
	b := rows.Batch
	if _, err := s.out.Write(b.Data[b.Offsets[0]:b.Offsets[b.N]]); err != nil {
		if errors.Is(err, syscall.EPIPE) {
			return sdk.Permanent(errors.New("standard output is closed: whoever read it (head, less) has gone before the end"))
		}
		return sdk.Permanent(fmt.Errorf("write to standard output: %w", err))
	}
	return nil
}

// Close leaves standard output open: it is not ours.
func (s *sink) Close() error { return nil }
