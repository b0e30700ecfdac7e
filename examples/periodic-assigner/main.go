// Command tidemark-assigner-highest is an assigner plugin in the periodic style: the daemon asks it again and again how far event
// time has come.
package main

import (
	"strconv"

	"github.com/tidemark-stream/tidemark/sdk"
)

// maxOutOfOrderness is how much older than the newest event an event may be.
const maxOutOfOrderness = 3500 // ms

// Event is what the assigner sees of a record: only these fields are sent to it.
type Event struct {
	CreationTime int64 `tidemark:"creation_time,required"` // ms
}

// Highest remembers the highest timestamp of one partition.
type Highest struct{ max int64 }

// ExtractTimestamp is called for each record.
func (h *Highest) ExtractTimestamp(e Event, _ int64) int64 {
	h.max = max(h.max, e.CreationTime)
	return e.CreationTime
}

// CurrentWatermark stays behind the highest timestamp by the bound.
func (h *Highest) CurrentWatermark() sdk.Watermark {
	if h.max == sdk.NoTimestamp {
		return sdk.NoWatermark // nothing has been seen
	}
	return sdk.Watermark(max(h.max, sdk.NoTimestamp+maxOutOfOrderness) - maxOutOfOrderness)
}

// Snapshot and Restore carry the state through a restart.
func (h *Highest) Snapshot() ([]byte, error) { return strconv.AppendInt(nil, h.max, 10), nil }

// Restore takes what Snapshot gave.
func (h *Highest) Restore(state []byte) (err error) {
	h.max, err = strconv.ParseInt(string(state), 10, 64)
	return err
}

func plugin() sdk.Plugin {
	return sdk.NewPeriodicAssigner("highest", "watermark = highest creation_time - 3.5 s",
		func(struct{}) (sdk.PeriodicAssigner[Event], error) { return &Highest{max: sdk.NoTimestamp}, nil }, sdk.Stateful())
}

func main() { sdk.Serve(plugin()) }
