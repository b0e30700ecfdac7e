package aggregate

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/zeebo/xxh3"
)

// hasText is true for kinds whose bits are a reference.
func hasText(k batch.Kind) bool { return k == batch.String || k == batch.JSON }

// rank orders values of different kinds, see the package's page.
func rank(k batch.Kind) int {
	switch k {
	case batch.Bool:
		return 1
	case batch.Int, batch.Uint, batch.Float:
		return 2
	case batch.Time:
		return 3
	case batch.String:
		return 4
	case batch.JSON:
		return 5
	}
	return 0
}

// compareBits orders two values without text. The order is total: only identical values are equal.
func compareBits(ka batch.Kind, a uint64, kb batch.Kind, b uint64) int {
	ra, rb := rank(ka), rank(kb)
	switch {
	case ra != rb:
		return cmp.Compare(ra, rb)
	case ra == 2:
		return compareNumbers(ka, a, kb, b)
	case ra == 3:
		return cmp.Compare(int64(a), int64(b))
	}
	return cmp.Compare(a, b)
}

func compareNumbers(ka batch.Kind, a uint64, kb batch.Kind, b uint64) int {
	switch {
	case ka == batch.Float && kb == batch.Float:
		return compareFloats(a, b)
	case ka == batch.Float:
		if c := compareIntFloat(kb, b, math.Float64frombits(a)); c != 0 {
			return -c
		}
		return 1
	case kb == batch.Float:
		if c := compareIntFloat(ka, a, math.Float64frombits(b)); c != 0 {
			return c
		}
		return -1
	case ka != kb: // a Uint is above every Int
		return cmp.Compare(ka, kb)
	case ka == batch.Uint:
		return cmp.Compare(a, b)
	}
	return cmp.Compare(int64(a), int64(b))
}

// compareFloats is IEEE order with -0 below 0 and all NaNs equal and on top.
func compareFloats(a, b uint64) int {
	x, y := math.Float64frombits(a), math.Float64frombits(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return cmp.Compare(b>>63, a>>63)
	}
	return cmp.Compare(isNaN(x), isNaN(y))
}

func isNaN(x float64) int {
	if x != x {
		return 1
	}
	return 0
}

// compareIntFloat compares an Int or Uint with a float by value.
func compareIntFloat(k batch.Kind, v uint64, f float64) int {
	switch {
	case f != f || f >= 1<<64:
		return -1
	case f < math.MinInt64:
		return 1
	}
	whole := math.Floor(f)
	var c int
	if k == batch.Uint {
		if whole < 1<<63 {
			return 1
		}
		c = cmp.Compare(v, uint64(whole))
	} else {
		if whole >= 1<<63 {
			return -1
		}
		c = cmp.Compare(int64(v), int64(whole))
	}
	if c == 0 && f > whole {
		return -1
	}
	return c
}

// compareValues orders any two values; texts are passed beside the bits.
func compareValues(ka batch.Kind, a uint64, at []byte, kb batch.Kind, b uint64, bt []byte) int {
	if hasText(ka) && ka == kb {
		return bytes.Compare(at, bt)
	}
	return compareBits(ka, a, kb, b)
}

// hashValue is the hash of a canonical value. It is part of stored state and never changes.
func hashValue(k batch.Kind, v uint64, text []byte) uint64 {
	if hasText(k) {
		return xxh3.HashSeed(text, uint64(k))
	}
	var p [8]byte
	binary.LittleEndian.PutUint64(p[:], v)
	return xxh3.HashSeed(p[:], uint64(k))
}

// toFloat is the float nearest to a number or boolean.
func toFloat(k batch.Kind, v uint64) (float64, bool) {
	switch k {
	case batch.Float:
		return math.Float64frombits(v), true
	case batch.Int:
		return float64(int64(v)), true
	case batch.Uint:
		return float64(v), true
	case batch.Bool:
		return float64(v), true
	}
	return 0, false
}

// uniform tells the one kind of all cells when a column has one, and whether there is anything to read at all.
func uniform(c *batch.Column) batch.Kind {
	if c == nil || c.Present == 0 {
		return batch.Missing
	}
	if c.Present&(c.Present-1) == 0 {
		return batch.Kind(bits.TrailingZeros16(c.Present))
	}
	return mixed
}

// mixed stands for columns with cells of several kinds.
const mixed batch.Kind = 0xFF
