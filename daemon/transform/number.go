package transform

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// arithmetic computes a op b for values that are neither null nor failed. Whole numbers stay whole and exact, from -2^63 to 2^64-1;
// what lies outside is an error of the row, never a wrap. `/` and `**` give floats.
func (m *machine) arithmetic(op byte, a, b value) value {
	if a.kind == batch.Int && b.kind == batch.Int {
		return m.wholes(op, a.int(), b.int())
	}
	if a.isNumber() && b.isNumber() {
		a, b = a.number(), b.number()
		if a.kind != batch.Float && b.kind != batch.Float && op != '/' && op != '^' {
			return m.wide(op, a, b)
		}
		return m.floats(op, asFloat(a), asFloat(b))
	}
	switch {
	case op == '+' && a.kind == batch.String && b.kind == batch.String:
		return m.join(a.text, b.text)
	case op == '+' && a.kind == batch.Time && b.kind == batch.Int:
		return m.shift(a.int(), b.int(), false)
	case op == '+' && a.kind == batch.Int && b.kind == batch.Time:
		return m.shift(b.int(), a.int(), false)
	case op == '-' && a.kind == batch.Time && b.kind == batch.Int:
		return m.shift(a.int(), b.int(), true)
	case op == '-' && a.kind == batch.Time && b.kind == batch.Time:
		return m.wholes('-', a.int(), b.int())
	}
	if op == '+' && (a.kind == batch.String || b.kind == batch.String) {
		return m.fail("%s + %s: write string(…) around what is not a string", describe(a), describe(b))
	}
	return m.fail("%s %s %s is not possible", describe(a), operatorName(op), describe(b))
}

func operatorName(op byte) string {
	if op == '^' {
		return "**"
	}
	return string(rune(op))
}

func (m *machine) wholes(op byte, a, b int64) value {
	switch op {
	case '+':
		if s := a + b; (s > a) == (b > 0) {
			return intValue(s)
		}
	case '-':
		if d := a - b; (d < a) == (b > 0) {
			return intValue(d)
		}
	case '*':
		if p, ok := multiply(a, b); ok {
			return intValue(p)
		}
	case '%':
		if b == 0 {
			return m.fail("%d %% 0: division by zero", a)
		}
		if b == -1 {
			return intValue(0) // the lowest int64 divided by -1 would not fit
		}
		return intValue(a % b)
	default:
		return m.floats(op, float64(a), float64(b))
	}
	return m.wide(op, intValue(a), intValue(b))
}

// multiply is a*b, if it fits.
func multiply(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	// The signed high word: correct the unsigned one for negative factors.
	hi -= uint64(a>>63)&uint64(b) + uint64(b>>63)&uint64(a)
	p := int64(lo)
	return p, hi == uint64(p>>63)
}

// wide is for whole numbers of which one, or the result, does not fit into an int64.
func (m *machine) wide(op byte, a, b value) value {
	x, y := bigOf(a), bigOf(b)
	switch op {
	case '+':
		x.Add(x, y)
	case '-':
		x.Sub(x, y)
	case '*':
		x.Mul(x, y)
	case '%':
		if y.Sign() == 0 {
			return m.fail("%s %% 0: division by zero", describe(a))
		}
		x.Rem(x, y)
	}
	switch {
	case x.IsInt64():
		return intValue(x.Int64())
	case x.IsUint64():
		return uintValue(x.Uint64())
	}
	return m.fail("%s %c %s does not fit into 64 bits", describe(a), op, describe(b))
}

func bigOf(v value) *big.Int {
	if v.kind == batch.Uint {
		return new(big.Int).SetUint64(v.bits)
	}
	return big.NewInt(v.int())
}

func (m *machine) floats(op byte, a, b float64) value {
	switch op {
	case '+':
		return floatValue(a + b)
	case '-':
		return floatValue(a - b)
	case '*':
		return floatValue(a * b)
	case '/':
		if b == 0 {
			return m.fail("%s / 0: division by zero", describe(floatValue(a)))
		}
		return floatValue(a / b)
	case '%':
		return m.fail("%% is for whole numbers only, not %s and %s", describe(floatValue(a)), describe(floatValue(b)))
	}
	return floatValue(math.Pow(a, b))
}

// shift moves a time by milliseconds.
func (m *machine) shift(at, by int64, back bool) value {
	v := m.wholes('+', at, by)
	if back {
		v = m.wholes('-', at, by)
	}
	if v.kind == batch.Int {
		v.kind = batch.Time
	} else if v.kind != failed {
		return m.fail("the time does not fit into 64 bits")
	}
	return v
}

func (m *machine) negate(v value) value {
	switch n := v.number(); n.kind {
	case batch.Int:
		return m.wholes('-', 0, n.int())
	case batch.Float:
		return floatValue(-n.float())
	case batch.Uint:
		if n.bits == 1<<63 {
			return intValue(math.MinInt64)
		}
		return m.fail("-%s does not fit into 64 bits", describe(v))
	}
	return m.fail("- is for numbers, not %s", describe(v))
}

func asFloat(v value) float64 {
	switch v.kind {
	case batch.Int:
		return float64(v.int())
	case batch.Uint:
		return float64(v.bits)
	}
	return v.float()
}
