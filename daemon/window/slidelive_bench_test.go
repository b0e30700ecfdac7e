package window

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// BenchmarkLiveSliding counts what windows of 60 s that slide by 1 s hold when 10,000 keys have rows in each of 60 seconds.
func BenchmarkLiveSliding(b *testing.B) {
	const keys, seconds = 10_000, 60
	layout, err := aggregate.New([]aggregate.Spec{{Name: "n", Func: "count"}})
	require.NoError(b, err)
	p := newPanes(Spec{Type: Sliding, Size: 60_000, Slide: 1000}, layout, Env{KeyFields: []string{"key"}}, &Output{Results: batch.Get()})
	rows := batch.Get()
	rows.N = keys
	column := rows.AddColumn("key")
	index := make([]uint32, keys)
	for i := range keys {
		rows.SetText(column, i, batch.String, fmt.Sprintf("user-%08d", i))
		index[i] = uint32(i)
	}
	rows.Times = make([]int64, keys)
	var hashed rowkey.Keys
	hashed.Compute(rows, []string{"key"})
	for s := range int64(seconds) {
		for i := range rows.Times {
			rows.Times[i] = s * 1000
		}
		p.Process(Rows{Batch: rows, Index: index, Keys: &hashed})
	}
	require.EqualValues(b, math.MinInt64, p.watermark)
	b.ReportAllocs()
	for b.Loop() {
		if n := p.Live(); n != keys*(seconds+59) {
			b.Fatalf("%d pairs of a key and a window", n)
		}
	}
}
