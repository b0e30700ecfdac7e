// Command tidemark-assigner-marked is an assigner plugin in the punctuated style: it decides at each record whether event time
// moves on.
package main

import "github.com/tidemark-stream/tidemark/sdk"

// delay is how far the watermark stays behind the marked event that brings it.
const delay = 3500 // ms

// Event is what the assigner sees of a record: only these fields are sent to it.
type Event struct {
	CreationTime int64 `tidemark:"creation_time,required"` // ms
	Marked       bool  `tidemark:"has_watermark_marker"`
}

// Marked has no state: each event says it all.
type Marked struct{}

// ExtractTimestamp is called for each record.
func (Marked) ExtractTimestamp(e Event, _ int64) int64 { return e.CreationTime }

// CheckAndGetNextWatermark is called right after it. Only marked events move time.
func (Marked) CheckAndGetNextWatermark(e Event, timestamp int64) (sdk.Watermark, bool) {
	return sdk.Watermark(timestamp - delay), e.Marked
}

func plugin() sdk.Plugin {
	return sdk.NewPunctuatedAssigner("marked", "watermark = timestamp - 3.5 s at each marked event",
		func(struct{}) (sdk.PunctuatedAssigner[Event], error) { return Marked{}, nil })
}

func main() { sdk.Serve(plugin()) }
