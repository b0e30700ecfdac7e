package decode

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unsafe"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Words of eight equal bytes, for looking at eight characters at once.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
	zeros = 0x3030303030303030 // the digit 0
)

// load reads eight bytes at p, the first one lowest; bytes beyond the end are zero, which is no digit and no quote.
func load(buf []byte, p int) uint64 {
	if p+8 <= len(buf) {
		return binary.LittleEndian.Uint64(buf[p:])
	}
	return loadTail(buf, p)
}

func loadTail(buf []byte, p int) uint64 {
	var w uint64
	for i := len(buf) - 1; i >= p; i-- {
		w = w<<8 | uint64(buf[i])
	}
	return w
}

// digitsIn counts the digits at the start of w^zeros.
func digitsIn(t uint64) int {
	return bits.TrailingZeros64((t&^highs+0x7676767676767676|t)&highs) >> 3
}

// eightDigits is the number that the digits of t = w^zeros make, t shifted left so that unused places are the lowest ones.
func eightDigits(t uint64) uint64 {
	t = t*10 + t>>8
	return (t&0x000000ff000000ff*0x000f424000000064 + t>>16&0x000000ff000000ff*0x0000271000000001) >> 32
}

var powersInt = [...]uint64{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000}

// powersFloat are the powers of ten that a float64 holds exactly. A mantissa below 2^53 times or divided by one of them is
// rounded once, hence correctly.
var powersFloat = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// digitRun reads digits at p onto m. n is their number; m is only right while all digits together are 19 or fewer.
func digitRun(buf []byte, p int, m uint64) (q int, value uint64) {
	for {
		t := load(buf, p) ^ zeros
		n := digitsIn(t)
		if n == 8 {
			m = m*100000000 + eightDigits(t)
			p += 8
			continue
		}
		if n > 0 {
			m = m*powersInt[n] + eightDigits(t<<(64-8*uint(n)))
		}
		return p + n, m
	}
}

// scanNumber reads a JSON number at p. q is the place after it, negative (^place) where it is malformed. The kind is Int or
// Uint for integers that fit, Float for numbers with a fraction or exponent, and JSON for those that no other kind holds:
// then the text itself is the value.
func scanNumber(buf []byte, p int) (q int, kind batch.Kind, value uint64) {
	start, neg := p, false
	if p < len(buf) && buf[p] == '-' {
		neg = true
		p++
	}
	first := p
	p, m := digitRun(buf, p, 0)
	n := p - first
	if n == 0 || buf[first] == '0' && n > 1 {
		return ^first, 0, 0
	}
	var c byte
	if p < len(buf) {
		c = buf[p]
	}
	if c != '.' && c|0x20 != 'e' {
		if n <= 18 && (m != 0 || !neg) {
			if neg {
				return p, batch.Int, -m
			}
			return p, batch.Int, m
		}
		kind, value = wideInteger(buf[first:p], neg)
		return p, kind, value
	}
	fraction := 0
	if c == '.' {
		q, m = digitRun(buf, p+1, m)
		if fraction = q - p - 1; fraction == 0 {
			return ^q, 0, 0
		}
		n += fraction
		p, c = q, 0
		if p < len(buf) {
			c = buf[p]
		}
	}
	exponent := 0
	if c|0x20 == 'e' {
		if p, exponent = scanExponent(buf, p+1); p < 0 {
			return p, 0, 0
		}
	}
	kind, value = decimal(buf[start:p], m, n, exponent-fraction, neg)
	return p, kind, value
}

// scanExponent reads what follows the e. Exponents beyond ±100000 are cut there; they make zero or overflow anyway.
func scanExponent(buf []byte, p int) (q, exponent int) {
	neg := false
	if p < len(buf) && (buf[p] == '+' || buf[p] == '-') {
		neg = buf[p] == '-'
		p++
	}
	first := p
	for ; p < len(buf) && buf[p]-'0' <= 9; p++ {
		if exponent < 100000 {
			exponent = exponent*10 + int(buf[p]-'0')
		}
	}
	if p == first {
		return ^p, 0
	}
	if neg {
		exponent = -exponent
	}
	return p, exponent
}

// wideInteger is for integers of 19 digits and more, and for -0, which only a float can hold.
func wideInteger(digits []byte, neg bool) (batch.Kind, uint64) {
	u, err := strconv.ParseUint(viewString(digits), 10, 64)
	switch {
	case err != nil:
		return batch.JSON, 0
	case !neg && u <= math.MaxInt64:
		return batch.Int, u
	case !neg:
		return batch.Uint, u
	case u == 0:
		return batch.Float, math.Float64bits(math.Copysign(0, -1))
	case u <= 1<<63:
		return batch.Int, -u
	}
	return batch.JSON, 0
}

// decimal makes a float of text, whose n digits are m and whose last digit counts 10^exponent. What overflows, or becomes
// zero without being zero, is left as JSON.
func decimal(text []byte, m uint64, n, exponent int, neg bool) (batch.Kind, uint64) {
	var f float64
	switch {
	case n <= 19 && m < 1<<53 && exponent <= 0 && exponent >= -22:
		f = float64(m) / powersFloat[-exponent]
	case n <= 19 && m < 1<<53 && exponent > 0 && exponent <= 22:
		f = float64(m) * powersFloat[exponent]
	default:
		var err error
		if f, err = strconv.ParseFloat(viewString(text), 64); err != nil {
			return batch.JSON, 0
		}
		if f == 0 && hasNonZero(text) {
			return batch.JSON, 0
		}
		return batch.Float, math.Float64bits(f)
	}
	if neg {
		f = -f
	}
	return batch.Float, math.Float64bits(f)
}

// hasNonZero says whether the digits before an exponent are not all zero.
func hasNonZero(text []byte) bool {
	for _, c := range text {
		if c|0x20 == 'e' {
			return false
		}
		if c >= '1' && c <= '9' {
			return true
		}
	}
	return false
}

// viewString looks at b as a string without copying. The caller uses it before b can change, and keeps it nowhere.
func viewString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// viewBytes looks at s as bytes, which nobody may write.
func viewBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
