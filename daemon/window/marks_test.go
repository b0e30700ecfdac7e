package window

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"pgregory.net/rapid"
)

func TestMarkBuckets(t *testing.T) {
	const never = 1 << 62
	for _, c := range []struct {
		name         string
		spec         Spec
		meta         bool
		size, offset int64
	}{
		{"tumbling", Spec{Type: Tumbling, Size: 5000}, false, 5000, 0},
		{"tumbling, offset", Spec{Type: Tumbling, Size: 5000, Offset: -1000}, false, 5000, 4000},
		{"lateness of another grain", Spec{Type: Tumbling, Size: 5000, Lateness: 2000}, false, 1000, 0},
		{"the current watermark shows in late results", Spec{Type: Tumbling, Size: 5000, Lateness: 5000}, true, 1, 0},
		{"but not when they are collected", Spec{Type: Tumbling, Size: 5000, Lateness: 5000, LateEvery: 500}, true, 500, 0},
		{"sliding", Spec{Type: Sliding, Size: 60_000, Slide: 1000}, false, 1000, 0},
		{"sliding, size no multiple of the slide", Spec{Type: Sliding, Size: 7, Slide: 3}, false, 3, 1},
		{"rows between windows are late by their own time", Spec{Type: Sliding, Size: 3, Slide: 7}, false, 1, 0},
		{"cumulative", Spec{Type: Cumulative, Size: 60_000, Slide: 10_000}, false, 10_000, 0},
		{"early", Spec{Type: Tumbling, Size: 5000, EarlyEvery: 300}, false, 100, 0},
		{"sessions end anywhere", Spec{Type: Session, Gap: 5000}, false, 1, 0},
		{"days", Spec{Type: Tumbling, CalendarN: 1, CalendarUnit: Day}, false, dayMillis, 0},
		{"days of a zone", Spec{Type: Tumbling, CalendarN: 1, CalendarUnit: Day, Location: zone(t, "Europe/Amsterdam")}, false, 1000, 0},
		{"flink's continuous trigger", Spec{Type: Tumbling, Size: 10, Trigger: ContinuousEventTime, Interval: 5}, false, 1, 0},
		{"the clock", Spec{Type: Tumbling, Size: 10, ProcessingTime: true}, true, never, 0},
		{"global", Spec{Type: Global, Trigger: OnCount, Count: 3}, false, never, 0},
		{"global, with the watermark shown", Spec{Type: Global, Trigger: OnCount, Count: 3}, true, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Empty(t, c.spec.Check())
			size, offset := c.spec.MarkBucket(c.meta)
			require.Equal(t, [2]int64{c.size, c.offset}, [2]int64{size, offset})
		})
	}
}

// TestMarksInsideABucketCanBeLeftOut compares an operator that gets every mark with one that gets the first of each bucket only.
func TestMarksInsideABucketCanBeLeftOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		meta := rapid.Bool().Draw(t, "meta")
		aggs := []aggregate.Spec{{Name: "n", Func: "count"}}
		size, offset := spec.MarkBucket(meta)
		every := newRig(t, generalEngine, spec, meta, 1, aggs...)
		first := newRig(t, generalEngine, spec, meta, 1, aggs...)
		every.clock(1)
		first.clock(1)
		bucket := int64(math.MinInt64)
		watermark := int64(-10)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "mark") {
				watermark += rapid.Int64Range(1, 4).Draw(t, "further")
				got := every.advance(watermark)
				if b := floorDiv(watermark+1-offset, size); b > bucket {
					bucket = b
					require.Equal(t, lines(got), lines(first.advance(watermark)))
				} else {
					require.Empty(t, got, "the mark %d made a difference", watermark)
				}
				continue
			}
			row := testRow{key: "a", value: 1, ts: rapid.Int64Range(max(0, watermark-10), max(0, watermark)+20).Draw(t, "ts"), gap: 3}
			require.Equal(t, lines(every.process(row)), lines(first.process(row)))
			require.Equal(t, fmt.Sprint(every.late), fmt.Sprint(first.late))
		}
		require.Equal(t, lines(every.advance(math.MaxInt64)), lines(first.advance(math.MaxInt64)))
	})
}
