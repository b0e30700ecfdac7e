package bench

import (
	"strconv"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
	"github.com/tidemark-stream/tidemark/sdk"
)

// userAssigner is an assigner as a user would write it, for W10: it knows no fields beforehand, and looks at the whole record.
type userAssigner struct {
	max   int64
	large int64 // records above 500: something beside the time, so that more than one field is read
}

// bound is that of W10's input.
const bound = 2000 // ms

// ExtractTimestamp reads the time of a record and remembers the highest one.
func (a *userAssigner) ExtractTimestamp(r sdk.Record, _ int64) int64 {
	ts, ok := r.Int("ts")
	if !ok {
		return sdk.NoTimestamp
	}
	if value, ok := r.Float("value"); ok && value > 500 {
		a.large++
	}
	a.max = max(a.max, ts)
	return ts
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
		func(struct{}) (sdk.PeriodicAssigner[sdk.Record], error) { return &userAssigner{max: bound + 1}, nil })
}
