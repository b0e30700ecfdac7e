package rowkey

import (
	"math"
	"math/big"
	"strconv"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Canonical brings a cell of b into the one form of all cells that count as the same value: 1, 1.0 and 1e0, 1e20 and 100000000000000000000. A
// float that is an integer of 64 bits is that Int or Uint. An integer of more, which decoders keep as JSON text, is the Float of exactly that
// value, if there is one. All NaNs are one.
func Canonical(b *batch.Batch, kind batch.Kind, bits uint64) (batch.Kind, uint64) {
	switch kind {
	case batch.Float:
		f := math.Float64frombits(bits)
		switch {
		case f != f:
			return batch.Float, math.Float64bits(math.NaN())
		case f != math.Trunc(f) || f < -1<<63 || f >= 1<<64:
			return kind, bits
		case f < 1<<63:
			return batch.Int, uint64(int64(f))
		}
		return batch.Uint, uint64(f)
	case batch.JSON:
		if f, ok := wideInteger(b.Text(bits)); ok {
			return batch.Float, math.Float64bits(f)
		}
	}
	return kind, bits
}

// wideInteger is the float that is exactly the integer of a text, beyond 64 bits.
func wideInteger(text []byte) (float64, bool) {
	const fewest, most = 19, 310 // digits of integers that are none of 64 bits, and that a float can be
	if len(text) < fewest || len(text) > most+1 || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return 0, false
	}
	for _, c := range text[1:] {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.Abs(f) < 1<<63 {
		return 0, false
	}
	whole, ok := new(big.Int).SetString(string(text), 10)
	if !ok {
		return 0, false
	}
	exact, _ := new(big.Float).SetFloat64(f).Int(nil)
	return f, exact.Cmp(whole) == 0
}
