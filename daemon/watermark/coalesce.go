package watermark

import "github.com/tidemark-stream/tidemark/sdk/batch"

// Coalescer drops watermark marks that nobody downstream can tell apart.
//
// Downstream, something happens (a window fires, is cleaned up, makes rows late) only when the watermark passes a boundary
// o + k*g - 1. So the first mark that enters a new bucket floor((w+1-o)/g) has to stand at its place, and the others may go,
// except the last of a batch, which keeps the reported watermark fresh. A mark after every row becomes nearly free this way.
//
// Thinning the marks of each partition in the same way beforehand changes nothing: the bucket of a minimum is the minimum of
// the buckets.
type Coalescer struct {
	granularity int64 // 0 or 1: every mark matters
	offset      int64
	next        int64 // the lowest watermark that lies in a later bucket than all marks seen
}

// NewCoalescer keeps one mark a bucket of granularity milliseconds, with boundaries at offset + k*granularity. A granularity below
// 2 keeps every mark.
func NewCoalescer(granularity, offset int64) Coalescer {
	return Coalescer{granularity: granularity, offset: offset, next: batch.NoWatermark}
}

// matters reports whether w enters a new bucket, and remembers it. Calls have rising w.
func (c *Coalescer) matters(w int64) bool {
	if w < c.next {
		return false
	}
	c.next = batch.NextBoundary(w, c.granularity, c.offset)
	return true
}
