// Package punctuated is the assigner that decides about a watermark at each record: at every one, at every n-th, or where an
// expression over the record holds. The watermark is that record's timestamp less a delay.
package punctuated

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Config is what stands in the component's time table.
type Config struct {
	When  sdk.Expr      `name:"when" result:"bool" help:"records that carry a watermark; default: all of them"`
	Every int           `name:"every" default:"1" help:"of those records only each n-th, counted in each partition"`
	Delay time.Duration `name:"delay" default:"0s" help:"how far the watermark stays behind the record's timestamp"`
}

// Validate is called when the pipeline file is read.
func (c *Config) Validate() error {
	if c.Every < 1 {
		return sdk.BadOption(fmt.Sprintf("%d is not possible; every = 1 is each record, every = 2 each second one", c.Every), "every")
	}
	return nil
}

// Plugin is the assigner.
func Plugin() sdk.Plugin {
	return sdk.NewBatchAssigner("punctuated", "a watermark is decided at each record", sdk.Punctuated, nil,
		func(c Config) (sdk.BatchAssigner, error) { return New(c), nil }, sdk.Stateful())
}

// Assigner works on one partition.
type Assigner struct {
	when  bool // there is a condition
	every int64
	delay int64 // ms

	counted int64 // records that met the condition since the last watermark; in the checkpoint
	high    int64 // the highest watermark so far
}

var _ sdk.Snapshotter = (*Assigner)(nil)

// New returns an assigner that has seen nothing.
func New(c Config) *Assigner {
	return &Assigner{when: c.When != "", every: int64(max(c.Every, 1)), delay: c.Delay.Milliseconds(), high: batch.NoWatermark}
}

// AssignBatch keeps the timestamps that the records have.
func (p *Assigner) AssignBatch(a *sdk.Assignment) {
	var when *batch.Column
	if p.when {
		if when = a.Column("when"); when == nil {
			return // no record of this batch has what the expression asks for
		}
	}
	counted, high, last := p.counted, p.high, 0
	next := int64(a.Next())
	for i, t := range a.Batch.Times {
		if when != nil && (when.Kinds[i] != batch.Bool || when.Bits[i] == 0) {
			continue
		}
		if t == sdk.NoTimestamp {
			continue
		}
		if counted++; counted < p.every {
			continue
		}
		counted = 0
		w := minus(t, p.delay)
		if w <= high {
			continue
		}
		high, last = w, i+1
		if w >= next {
			next = int64(a.Mark(i+1, sdk.Watermark(w)))
		}
	}
	p.counted, p.high = counted, high
	if last > 0 {
		a.Mark(last, sdk.Watermark(high))
	}
}

// minus is t - d without wrapping at the ends of time.
func minus(t, d int64) int64 {
	switch w := t - d; {
	case d >= 0 && w > t:
		return batch.NoWatermark
	case d < 0 && w < t:
		return batch.EndOfInput
	default:
		return w
	}
}

// Snapshot holds the count and the highest watermark.
func (p *Assigner) Snapshot() ([]byte, error) {
	return binary.AppendVarint(binary.AppendVarint(nil, p.counted), p.high), nil
}

// Restore takes a Snapshot.
func (p *Assigner) Restore(state []byte) error {
	counted, n := binary.Varint(state)
	if n <= 0 {
		return fmt.Errorf("a state of %d bytes is not one of this assigner", len(state))
	}
	high, m := binary.Varint(state[n:])
	if m <= 0 {
		return fmt.Errorf("a state of %d bytes is not one of this assigner", len(state))
	}
	p.counted, p.high = counted, high
	return nil
}
