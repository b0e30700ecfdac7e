// Package marker is the assigner for streams in which some records carry time instead of data: heartbeats, or watermark events that
// a producer mixes in. Their watermark stands in a field, or is their own timestamp, less a delay. They move time and go no
// further, unless keep says so.
//
// Markers may come out of order or be missing: one that is lower than an earlier one changes nothing and is counted; a marker
// without a usable time is refused, and neither stops the stream nor moves time.
package marker

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Config is what stands in the component's time table.
type Config struct {
	sdk.Env
	Marker    sdk.Expr      `name:"marker" required:"true" result:"bool" help:"what makes a record a marker, for instance \"kind == 'heartbeat'\""`
	Watermark sdk.Expr      `name:"watermark" result:"timestamp" help:"a marker's watermark, in the unit of the timestamps; default: the marker's own timestamp"`
	Delay     time.Duration `name:"delay" default:"0s" help:"how far the watermark stays behind what the marker says"`
	Keep      bool          `name:"keep" default:"false" help:"markers are data as well"`
}

// Plugin is the assigner.
func Plugin() sdk.Plugin {
	return sdk.NewBatchAssigner("marker", "watermarks come as records of their own", sdk.Marker, nil,
		func(c Config) (sdk.BatchAssigner, error) { return New(c), nil }, sdk.Stateful())
}

// Reasons of refused markers, stable.
const (
	NoWatermark  = "no_watermark"  // the marker has no time
	BadWatermark = "bad_watermark" // what stands there is not a time
)

// Assigner works on one partition.
type Assigner struct {
	env   sdk.Env
	field bool  // the watermark stands in a field
	delay int64 // ms
	keep  bool

	high int64 // the highest watermark so far; in the checkpoint
}

var _ sdk.Snapshotter = (*Assigner)(nil)

// New returns an assigner that has seen nothing.
func New(c Config) *Assigner {
	return &Assigner{env: c.Env, field: c.Watermark != "", delay: c.Delay.Milliseconds(), keep: c.Keep, high: batch.NoWatermark}
}

// AssignBatch keeps the timestamps that the records have.
func (p *Assigner) AssignBatch(a *sdk.Assignment) {
	marker := a.Column("marker")
	if marker == nil {
		return
	}
	field := a.Column("watermark")
	ignored := 0
	for i, kind := range marker.Kinds {
		if kind != batch.Bool || marker.Bits[i] == 0 {
			continue
		}
		t := a.Batch.Times[i]
		if p.field {
			var code, message string
			if t, code, message = timeIn(a.Batch, field, i); code != "" {
				a.Refuse(i, code, message)
				continue
			}
		} else if t == sdk.NoTimestamp {
			a.Refuse(i, NoWatermark, "the marker has no timestamp")
			continue
		}
		if w := minus(t, p.delay); w > p.high {
			p.high = w
			a.Mark(i+1, sdk.Watermark(w))
		} else if w < p.high {
			ignored++
		}
		if !p.keep {
			a.SetMarker(i)
		}
	}
	if ignored > 0 {
		p.env.Count("markers_ignored_total", "markers that were lower than an earlier one", float64(ignored))
	}
}

// timeIn reads a marker's watermark. The host has turned it into milliseconds; what it could not turn it has left as it was.
func timeIn(b *batch.Batch, c *batch.Column, row int) (t int64, code, message string) {
	if c == nil || c.IsNull(row) {
		return 0, NoWatermark, "the marker has no watermark"
	}
	switch c.Kinds[row] {
	case batch.Time, batch.Int:
		return int64(c.Bits[row]), "", ""
	case batch.String, batch.JSON:
		return 0, BadWatermark, fmt.Sprintf("the marker's watermark %.60q is not a time", b.Text(c.Bits[row]))
	}
	return 0, BadWatermark, fmt.Sprintf("the marker's watermark is a %s, not a time", c.Kinds[row])
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

// Snapshot holds the highest watermark.
func (p *Assigner) Snapshot() ([]byte, error) {
	return binary.LittleEndian.AppendUint64(nil, uint64(p.high)), nil
}

// Restore takes a Snapshot.
func (p *Assigner) Restore(state []byte) error {
	if len(state) != 8 {
		return fmt.Errorf("a state of %d bytes is not one of this assigner", len(state))
	}
	p.high = int64(binary.LittleEndian.Uint64(state))
	return nil
}
