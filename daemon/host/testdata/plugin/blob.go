package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk"
)

type blobConfig struct {
	Rows int `name:"rows" default:"1200"`
}

// blob gives the same lines for ever, as fast as they are taken: for benchmarks.
var blob = sdk.NewSource("blob", "the same lines for ever", func(c blobConfig) (sdk.Source[[]byte], error) { return blobSource(c), nil })

type blobSource blobConfig

func (s blobSource) Run(_ context.Context, out *sdk.SourceContext[[]byte]) error {
	var data []byte
	offsets := []uint32{0}
	for i := range s.Rows {
		data = fmt.Appendf(data, `{"key":"user-%08d","ts":%d,"region":"eu-west-1","type":"login","value":88.04,"seq":%d}`+"\n", i*7919%10_000, 1_700_000_000_000+i, 10_000_000+i)
		offsets = append(offsets, uint32(len(data)))
	}
	p := out.Partition("p")
	position := bytes.Repeat([]byte("p"), 40)
	for {
		b := sdk.NewBatch()
		b.N, b.Trailer = s.Rows, 1
		b.Data, b.Offsets, b.Position = append(b.Data, data...), append(b.Offsets, offsets...), append(b.Position, position...)
		if err := p.Send(b); err != nil {
			return err
		}
	}
}

// highest is an assigner over whole columns, for benchmarks: the timestamps are taken as they are.
var highest = sdk.NewBatchAssigner("highest", "bounded out of orderness over columns", sdk.Periodic, nil,
	func(boundedConfig) (sdk.BatchAssigner, error) { return &highestAssigner{sdk.NoWatermark}, nil })

type highestAssigner struct{ high sdk.Watermark }

func (h *highestAssigner) CurrentWatermark() sdk.Watermark { return h.high }

func (h *highestAssigner) AssignBatch(a *sdk.Assignment) {
	next, high := int64(a.Next()), int64(h.high)
	for i, t := range a.Batch.Times {
		if w := t - 2001; w > high {
			if high = w; w >= next {
				next = int64(a.Mark(i+1, sdk.Watermark(w)))
			}
		}
	}
	a.Mark(a.Batch.Len(), sdk.Watermark(high))
	h.high = sdk.Watermark(high)
}
