package batch

import "math"

// NextBoundary is the lowest watermark above w that lies in another bucket: for which floor((x+1-offset)/bucket) is larger than for w.
// Watermarks between the two cannot make a difference to windows whose ends are all multiples of bucket, shifted by offset. A bucket
// of 1 or less makes every watermark count. The result is at most EndOfInput, which counts always.
func NextBoundary(w, bucket, offset int64) int64 {
	if w >= math.MaxInt64-1 {
		return math.MaxInt64
	}
	if bucket <= 1 || w == NoWatermark {
		return w + 1
	}
	// Work with the distance to the next multiple, which is small, instead of the multiple, which may overflow.
	into := floorMod(floorMod(w, bucket)+1-floorMod(offset, bucket), bucket)
	if step := bucket - into; w <= math.MaxInt64-step {
		return w + step
	}
	return math.MaxInt64
}

func floorMod(a, b int64) int64 {
	if m := a % b; m < 0 {
		return m + b
	} else {
		return m
	}
}
