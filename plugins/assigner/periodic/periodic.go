// Package periodic is the assigner for records that come out of order by a bounded time: the watermark follows the highest
// timestamp at a fixed distance. With a bound of 0 it is the assigner for ascending timestamps.
//
// The watermark is max timestamp - bound - 1, so that a record as old as the bound allows is still expected: with a bound of 5 s the
// window [0s, 5s) fires when a record of 10 s or later has been seen.
package periodic

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Config is what stands in the component's time table.
type Config struct {
	MaxOutOfOrderness time.Duration `name:"max_out_of_orderness" default:"0s" help:"how much older than the newest record seen so far a record may be; 0s = timestamps ascend"`
}

// Validate is called when the pipeline file is read.
func (c *Config) Validate() error {
	if c.MaxOutOfOrderness < 0 {
		return sdk.BadOption(fmt.Sprintf("%s is negative; write how far back a record may lie, for instance \"5s\"", c.MaxOutOfOrderness), "max_out_of_orderness")
	}
	return nil
}

// Plugin is the assigner.
func Plugin() sdk.Plugin {
	return sdk.NewBatchAssigner("periodic", "the watermark follows the highest timestamp at a fixed distance", sdk.Periodic, nil,
		func(c Config) (sdk.BatchAssigner, error) { return New(c), nil }, sdk.Stateful())
}

// Assigner works on one partition.
type Assigner struct {
	distance int64 // ms between the highest timestamp and the watermark
	max      int64 // in the checkpoint
}

var (
	_ sdk.WatermarkReader = (*Assigner)(nil)
	_ sdk.Snapshotter     = (*Assigner)(nil)
)

// New returns an assigner that has seen nothing.
func New(c Config) *Assigner {
	// A bound below a millisecond is still a bound, so it counts as one.
	bound := int64((c.MaxOutOfOrderness + time.Millisecond - 1) / time.Millisecond)
	return &Assigner{distance: bound + 1, max: sdk.NoTimestamp}
}

// AssignBatch keeps the timestamps that the records have.
func (p *Assigner) AssignBatch(a *sdk.Assignment) {
	high := p.max
	if !a.EveryRecord {
		for _, t := range a.Batch.Times {
			high = max(high, t)
		}
		p.max = high
		return
	}
	// NoTimestamp is below every time, so records without one move nothing.
	next, distance := int64(a.Next()), p.distance
	for i, t := range a.Batch.Times {
		if t > high {
			high = t
			if w := minus(t, distance); w >= next {
				next = int64(a.Mark(i+1, sdk.Watermark(w)))
			}
		}
	}
	p.max = high
	if high != sdk.NoTimestamp {
		a.Mark(a.Batch.Len(), p.CurrentWatermark())
	}
}

// CurrentWatermark is what the highest timestamp says.
func (p *Assigner) CurrentWatermark() sdk.Watermark {
	if p.max == sdk.NoTimestamp {
		return sdk.NoWatermark
	}
	return sdk.Watermark(minus(p.max, p.distance))
}

// minus is t - d without wrapping at the lower end of time.
func minus(t, d int64) int64 {
	if t < sdk.NoTimestamp+d {
		return sdk.NoTimestamp
	}
	return t - d
}

// Snapshot holds the highest timestamp.
func (p *Assigner) Snapshot() ([]byte, error) {
	return binary.LittleEndian.AppendUint64(nil, uint64(p.max)), nil
}

// Restore takes a Snapshot.
func (p *Assigner) Restore(state []byte) error {
	if len(state) != 8 {
		return fmt.Errorf("a state of %d bytes is not one of this assigner", len(state))
	}
	p.max = int64(binary.LittleEndian.Uint64(state))
	return nil
}
