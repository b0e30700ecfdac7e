// Command tidemark-source-numbers is a source plugin whose records bring their own timestamps, and which says itself how far
// event time has come.
package main

import (
	"context"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Event is a record; the tags name its fields in the pipeline.
type Event struct {
	User  string `tidemark:"user"`
	Time  int64  `tidemark:"ts"` // ms
	Value int64  `tidemark:"value"`
}

// Numbers emits a few events, after each a watermark just below its timestamp, and at last the end of the input.
type Numbers struct{ sdk.Env }

// Config has no options; the embedded Env brings the logger.
type Config struct{ sdk.Env }

// Run is called once. All Collect… and Emit… calls block while the pipeline is busy, and fail when it wants to stop.
func (n *Numbers) Run(_ context.Context, out *sdk.SourceContext[Event]) error {
	events := []Event{{"user1", 1000, 1}, {"user1", 1999, 2}, {"user1", 2000, 3}, {"user1", 2100, 4}, {"user1", 2130, 5}}
	for _, e := range events[out.Count():] { // after a restart, those that are not committed
		if err := out.CollectWithTimestamp(e, e.Time); err != nil {
			return err
		}
		watermark := sdk.Watermark(e.Time - 1)
		if err := out.EmitWatermark(watermark); err != nil {
			return err
		}
		n.Logger().Info("emitted", "event", e, "watermark", watermark)
	}
	return out.EmitWatermark(sdk.EndOfInput)
}

func plugin() sdk.Plugin {
	return sdk.NewSource("numbers", "five events of one user, each followed by a watermark",
		func(c Config) (sdk.Source[Event], error) { return &Numbers{c.Env}, nil })
}

func main() { sdk.Serve(plugin()) }
