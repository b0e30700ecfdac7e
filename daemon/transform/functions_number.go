package transform

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

var numberFunctions = []Function{
	{Name: "abs", Params: []Type{TypeNumber}, Min: 1, Result: TypeNumber, Example: `abs(delta)`, Help: "the number without its sign", run: runAbs, result: sameNumber},
	{Name: "floor", Params: []Type{TypeNumber}, Min: 1, Result: TypeNumber, Example: `floor(price)`, Help: "the next whole number below; of a float it is a float", run: rounding(math.Floor), result: sameNumber},
	{Name: "ceil", Params: []Type{TypeNumber}, Min: 1, Result: TypeNumber, Example: `ceil(price)`, Help: "the next whole number above; of a float it is a float", run: rounding(math.Ceil), result: sameNumber},
	{Name: "round", Params: []Type{TypeNumber, TypeInt}, Min: 1, Result: TypeNumber, Example: `round(price, 2)`, Help: "the nearest whole number, halves away from zero, or with so many digits after the point (0 to 15)", run: runRound, result: sameNumber},
	{Name: "min", Params: []Type{TypeAny}, Min: 1, More: true, Result: TypeAny, Example: `min(a, b)`, Help: "the lowest of numbers, strings or times, or of a list of them; nulls are left out", nulls: true, run: least("min", -1), result: joinedArgs},
	{Name: "max", Params: []Type{TypeAny}, Min: 1, More: true, Result: TypeAny, Example: `max(a, b)`, Help: "the highest of numbers, strings or times, or of a list of them; nulls are left out", nulls: true, run: least("max", 1), result: joinedArgs},
	{Name: "int", Params: []Type{TypeAny}, Min: 1, Result: TypeInt, Example: `int(code)`, Help: "a whole number: of a float without its fraction, of a text that is one, of a time its milliseconds", run: runInt},
	{Name: "float", Params: []Type{TypeAny}, Min: 1, Result: TypeFloat, Example: `float(price)`, Help: "a float: of a number, or of a text that is one", run: runFloat},
}

func sameNumber(args []Type) Type {
	if args[0] == TypeInt || args[0] == TypeFloat {
		return args[0]
	}
	return TypeNumber
}

func joinedArgs(args []Type) Type {
	if len(args) == 1 {
		return TypeAny // of a list
	}
	t := args[0]
	for _, a := range args[1:] {
		t = joined(t, a)
	}
	return t
}

func runAbs(m *machine, a []value) value {
	switch v := a[0]; v.kind {
	case batch.Float:
		return floatValue(math.Abs(v.float()))
	case batch.Int:
		if v.int() < 0 {
			return m.wholes('-', 0, v.int())
		}
	}
	return a[0]
}

func rounding(f func(float64) float64) func(*machine, []value) value {
	return func(_ *machine, a []value) value {
		if a[0].kind != batch.Float {
			return a[0]
		}
		return floatValue(f(a[0].float()))
	}
}

func runRound(m *machine, a []value) value {
	digits := int64(0)
	if len(a) > 1 {
		if digits = a[1].int(); digits < 0 || digits > 15 {
			return m.fail("round: %d digits; it can do 0 to 15", digits)
		}
	}
	if a[0].kind != batch.Float {
		return a[0]
	}
	f := a[0].float()
	if digits == 0 || math.IsInf(f, 0) || f != f {
		return floatValue(math.Round(f))
	}
	text := roundDecimal(strconv.AppendFloat(nil, f, 'f', -1, 64), int(digits))
	r, err := strconv.ParseFloat(viewString(text), 64)
	if err != nil {
		return a[0]
	}
	return floatValue(r)
}

// roundDecimal rounds a decimal text to so many digits after the point, halves away from zero. The text is the shortest that means the
// float, so 1.005 becomes 1.01, as people expect, although the float lies a little below.
func roundDecimal(text []byte, digits int) []byte {
	point := bytes.IndexByte(text, '.')
	if point < 0 || len(text)-point-1 <= digits {
		return text
	}
	up := text[point+1+digits] >= '5'
	text = text[:point+1+digits]
	for i := len(text) - 1; up && i >= 0; i-- {
		switch text[i] {
		case '.', '-':
		case '9':
			text[i] = '0'
		default:
			text[i]++
			up = false
		}
	}
	if up { // 9.99 has become 0.00
		from := 0
		if text[0] == '-' {
			from = 1
		}
		text = slices.Insert(text, from, '1')
	}
	return text
}

func least(name string, sign int) func(*machine, []value) value {
	return func(m *machine, a []value) value {
		items := a
		if len(a) == 1 {
			var ok bool
			if items, ok = m.items(a[0]); !ok {
				items = a
			}
		}
		best := null
		for _, v := range items {
			if v.isNull() {
				continue
			}
			c, comparable, _ := compare(v, v)
			if !best.isNull() {
				c, comparable, _ = compare(v, best)
			}
			if !comparable {
				if best.isNull() {
					return m.fail("%s is for numbers, strings and times, not %s", name, describe(v))
				}
				return m.fail("%s: %s and %s cannot be compared", name, describe(best), describe(v))
			}
			if best.isNull() || c*sign > 0 {
				best = v
			}
		}
		return best
	}
}

func runInt(m *machine, a []value) value {
	v := a[0].number()
	switch v.kind {
	case batch.Int, batch.Uint:
		return v
	case batch.Time:
		return intValue(v.int())
	case batch.Float:
		f := math.Trunc(v.float())
		switch {
		case f >= -1<<63 && f < 1<<63:
			return intValue(int64(f))
		case f >= 1<<63 && f < 1<<64:
			return uintValue(uint64(f))
		}
	case batch.String:
		text := bytes.TrimSpace(v.text)
		if i, err := strconv.ParseInt(viewString(text), 10, 64); err == nil {
			return intValue(i)
		}
		if u, err := strconv.ParseUint(viewString(text), 10, 64); err == nil {
			return uintValue(u)
		}
	}
	return m.fail("%s is not a whole number of 64 bits", describe(a[0]))
}

func runFloat(m *machine, a []value) value {
	v := a[0].number()
	switch v.kind {
	case batch.Int, batch.Uint, batch.Float:
		return floatValue(asFloat(v))
	case batch.String:
		text := bytes.TrimSpace(v.text)
		if decimalText(text) {
			if f, err := strconv.ParseFloat(viewString(text), 64); err == nil {
				return floatValue(f)
			}
		}
	}
	return m.fail("%s is not a number", describe(a[0]))
}

// decimalText keeps names such as "inf", hexadecimal numbers and underscores, which strconv takes, from being numbers.
func decimalText(s []byte) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c|0x20 != 'e' {
			return false
		}
	}
	return len(s) > 0
}
