package pipeline

import (
	"math"

	"github.com/tidemark-stream/tidemark/daemon/transform"
	"github.com/tidemark-stream/tidemark/daemon/window"
)

// dedupOperator runs a dedup step in the shards of a stage that passes rows through: what it takes out goes to Output.Late.
type dedupOperator struct {
	dedup *transform.Dedup
	out   *window.Output
	kept  []uint32
}

var _ window.Spiller = (*dedupOperator)(nil)

func (d *dedupOperator) Process(rows window.Rows) {
	d.kept = d.dedup.Process(rows.Batch, rows.Index, rows.Keys, d.kept[:0])
	k := 0
	for _, r := range rows.Index {
		if k < len(d.kept) && d.kept[k] == r {
			k++
			continue
		}
		d.out.Late = append(d.out.Late, r)
	}
}

func (d *dedupOperator) AdvanceWatermark(w int64)      { d.dedup.AdvanceWatermark(w) }
func (d *dedupOperator) AdvanceProcessingTime(int64)   {}
func (d *dedupOperator) NextProcessingTime() int64     { return math.MaxInt64 }
func (d *dedupOperator) Snapshot(w window.StateWriter) { d.dedup.Snapshot(w) }
func (d *dedupOperator) Restore(time int64, hash uint64, key, value []byte) error {
	return d.dedup.Restore(time, hash, key, value)
}
func (d *dedupOperator) RestoreWatermark(w int64) { d.dedup.RestoreWatermark(w) }
func (d *dedupOperator) Live() int                { return d.dedup.Live() }

func (d *dedupOperator) Attach(s window.Store, share int64) error { return d.dedup.Attach(s, share) }
func (d *dedupOperator) Held() int64                              { return d.dedup.Held() }
func (d *dedupOperator) Shrink()                                  { d.dedup.Shrink() }
func (d *dedupOperator) Err() error                               { return d.dedup.Err() }
