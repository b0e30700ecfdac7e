package window

import "math"

// Event time reaches to both ends of int64, and the ends have a meaning (no watermark, end of input). Sums of times therefore never
// wrap: they stop at the ends.

// addSaturating is a+b, or the end of int64 that it would pass.
func addSaturating(a, b int64) int64 {
	s := a + b
	if (a^s)&(b^s) < 0 {
		if a < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	return s
}

// subSaturating is a-b, or the end of int64 that it would pass.
func subSaturating(a, b int64) int64 {
	s := a - b
	if (a^b)&(a^s) < 0 {
		if a < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	return s
}

// mulSaturating is a*b for b > 0, or the end of int64 that it would pass.
func mulSaturating(a, b int64) int64 {
	switch {
	case a > math.MaxInt64/b:
		return math.MaxInt64
	case a < math.MinInt64/b:
		return math.MinInt64
	}
	return a * b
}

// floorMod is the remainder of a division that rounds down, so it is in [0, m) for times before 1970 too (1.2). m > 0.
func floorMod(a, m int64) int64 {
	r := a % m
	if r < 0 {
		r += m
	}
	return r
}

// floorDiv rounds down. m > 0.
func floorDiv(a, m int64) int64 {
	q := a / m
	if a%m < 0 {
		q--
	}
	return q
}

// sinceStart is how far ts lies behind the last boundary offset + k*size. It cannot overflow, whatever ts and offset are.
func sinceStart(ts, offset, size int64) int64 {
	return floorMod(floorMod(ts, size)-floorMod(offset, size), size)
}

// nextMultiple is the smallest multiple of every above t.
func nextMultiple(t, every int64) int64 { return addSaturating(t, every-floorMod(t, every)) }
