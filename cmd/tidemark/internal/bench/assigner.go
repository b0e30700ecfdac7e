package bench

import (
	"strconv"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
	"github.com/tidemark-stream/tidemark/sdk"
)

// userEvent is what the assigner of W10 sees: fields, and the whole record as it came in.
type userEvent struct {
	TS    int64   `tidemark:"ts,required"`
	Value float64 `tidemark:"value"`
	Raw   []byte  `tidemark:",raw"`
}

// userAssigner is an assigner as a user would write it, for W10, in the style of one event at a time.
type userAssigner struct {
	max   int64
	large int64 // something beside the time, so that all of the event is read
	bytes int64
}

// bound is that of W10's input.
const bound = 2000 // ms

// ExtractTimestamp remembers the highest time.
func (a *userAssigner) ExtractTimestamp(e userEvent, _ int64) int64 {
	if e.Value > 500 {
		a.large++
	}
	a.bytes += int64(len(e.Raw))
	a.max = max(a.max, e.TS)
	return e.TS
}

// CurrentWatermark stays behind the highest time by the bound.
func (a *userAssigner) CurrentWatermark() sdk.Watermark { return sdk.Watermark(a.max - bound - 1) }

// Snapshot and Restore carry the state through a restart.
func (a *userAssigner) Snapshot() ([]byte, error) { return strconv.AppendInt(nil, a.max, 10), nil }

// Restore takes what Snapshot gave.
func (a *userAssigner) Restore(state []byte) (err error) {
	a.max, err = strconv.ParseInt(string(state), 10, 64)
	return err
}

// UserAssigner is the plugin of W10. The program serves it under [AssignerCommand].
func UserAssigner() sdk.Plugin {
	return sdk.NewPeriodicAssigner(workload.UserAssigner, "watermark = highest ts - 2 s, in Go over whole records",
		func(struct{}) (sdk.PeriodicAssigner[userEvent], error) { return &userAssigner{max: bound + 1}, nil })
}
