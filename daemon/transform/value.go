package transform

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"
	"unsafe"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// failed is the kind of a value that could not be computed; Bits is the number of the message. It spreads through every operation
// that needs the value, and never leaves the package.
const failed batch.Kind = 15

// value is one value while it is computed.
type value struct {
	kind   batch.Kind
	stored bool   // text lies in the batch, and bits is its reference
	bits   uint64 // as in a cell
	text   []byte // of String and JSON
	list   *list  // instead of text, for a JSON array that has been taken apart
}

type list struct{ items []value }

var null = value{kind: batch.Null}

func intValue(v int64) value     { return value{kind: batch.Int, bits: uint64(v)} }
func floatValue(f float64) value { return value{kind: batch.Float, bits: math.Float64bits(f)} }
func timeValue(ms int64) value   { return value{kind: batch.Time, bits: uint64(ms)} }
func textValue(b []byte) value   { return value{kind: batch.String, text: b} }
func boolValue(b bool) value {
	if b {
		return value{kind: batch.Bool, bits: 1}
	}
	return value{kind: batch.Bool}
}

func uintValue(v uint64) value {
	if v <= math.MaxInt64 {
		return intValue(int64(v))
	}
	return value{kind: batch.Uint, bits: v}
}

func (v value) isNull() bool   { return v.kind <= batch.Null }
func (v value) isText() bool   { return v.kind == batch.String || v.kind == batch.JSON }
func (v value) int() int64     { return int64(v.bits) }
func (v value) float() float64 { return math.Float64frombits(v.bits) }
func (v value) isTrue() bool   { return v.kind == batch.Bool && v.bits != 0 }
func (v value) isFalse() bool  { return v.kind == batch.Bool && v.bits == 0 }
func (v value) isNumber() bool {
	return v.kind >= batch.Int && v.kind <= batch.Float || v.isJSONNumber()
}

// isJSONNumber is true for a number that only its text holds exactly.
func (v value) isJSONNumber() bool {
	return v.kind == batch.JSON && v.list == nil && len(v.text) > 0 && (v.text[0] == '-' || v.text[0]-'0' <= 9)
}

// number turns a number of any kind into Int, Uint or Float; of a number that only its text holds exactly it is the nearest
// float.
func (v value) number() value {
	if !v.isJSONNumber() {
		return v
	}
	f, _ := strconv.ParseFloat(viewString(v.text), 64) // the text is a JSON number: out of range gives an infinity
	return floatValue(f)
}

// equal compares two values that are not null. Numbers are compared exactly, whatever their kinds; values of different nature are
// not equal.
func (m *machine) equal(a, b value) bool {
	switch {
	case a.kind == batch.JSON && b.kind == batch.JSON && (a.list == nil || b.list == nil) && !a.isJSONNumber() && !b.isJSONNumber():
		return m.equalJSON(a, b)
	case a.list != nil && b.list != nil:
		return m.equalLists(a.list.items, b.list.items)
	case a.isNumber() && b.isNumber():
		c, ok := compareNumbers(a.number(), b.number())
		return ok && c == 0
	case a.kind != b.kind:
		return false
	case a.kind == batch.String:
		return bytes.Equal(a.text, b.text)
	}
	return a.bits == b.bits
}

// compare orders two values that are not null: numbers, texts (by their bytes) and times. ok is false for other pairs, and for NaN.
func compare(a, b value) (c int, comparable, ok bool) {
	switch {
	case a.kind == batch.String && b.kind == batch.String:
		return bytes.Compare(a.text, b.text), true, true
	case a.kind == batch.Time && b.kind == batch.Time:
		return order(a.int(), b.int()), true, true
	case a.isNumber() && b.isNumber():
		c, ok = compareNumbers(a.number(), b.number())
		return c, true, ok
	}
	return 0, false, false
}

func order[T int64 | uint64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// compareNumbers compares without rounding; ok is false for NaN.
func compareNumbers(a, b value) (c int, ok bool) {
	switch {
	case a.kind == batch.Float && b.kind == batch.Float:
		x, y := a.float(), b.float()
		return order(x, y), x == x && y == y
	case a.kind == batch.Float:
		c, ok = compareWholeFloat(b, a.float())
		return -c, ok
	case b.kind == batch.Float:
		return compareWholeFloat(a, b.float())
	case a.kind == b.kind && a.kind == batch.Int:
		return order(a.int(), b.int()), true
	case a.kind == b.kind:
		return order(a.bits, b.bits), true
	case a.kind == batch.Uint: // above every Int
		return 1, true
	}
	return -1, true
}

// compareWholeFloat compares an Int or Uint with a float.
func compareWholeFloat(a value, f float64) (c int, ok bool) {
	if f != f {
		return 0, false
	}
	whole := math.Trunc(f)
	switch {
	case f >= 1<<64:
		return -1, true
	case f < -1<<63:
		return 1, true
	case a.kind == batch.Uint:
		if f < 1<<63 {
			return 1, true
		}
		c = order(a.bits, uint64(whole))
	default:
		if f >= 1<<63 {
			return -1, true
		}
		c = order(a.int(), int64(whole))
	}
	if c == 0 {
		c = order(whole, f)
	}
	return c, true
}

// appendText writes a value as people and `string()` do.
func appendText(out []byte, v value) []byte {
	switch v.kind {
	case batch.Missing, batch.Null:
		return append(out, "null"...)
	case batch.Bool:
		return strconv.AppendBool(out, v.bits != 0)
	case batch.Int:
		return strconv.AppendInt(out, v.int(), 10)
	case batch.Uint:
		return strconv.AppendUint(out, v.bits, 10)
	case batch.Float:
		return appendFloat(out, v.float())
	case batch.Time:
		return appendTime(out, v.int())
	case batch.String:
		return append(out, v.text...)
	}
	return appendJSON(out, v)
}

// appendFloat writes the shortest decimal that reads back as f, as JSON does; whole numbers keep a fraction, so that a float stays
// one.
func appendFloat(out []byte, f float64) []byte {
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(out, f, 'e', -1, 64)
	}
	from := len(out)
	out = strconv.AppendFloat(out, f, 'f', -1, 64)
	if bytes.IndexByte(out[from:], '.') < 0 && !math.IsInf(f, 0) && f == f {
		out = append(out, ".0"...)
	}
	return out
}

// Times that time.Time writes with four digits of year.
const firstTime, lastTime = -62135596800000, 253402300799999

func appendTime(out []byte, ms int64) []byte {
	if ms < firstTime || ms > lastTime {
		return append(strconv.AppendInt(out, ms, 10), " ms"...)
	}
	return time.UnixMilli(ms).UTC().AppendFormat(out, "2006-01-02T15:04:05.999Z07:00")
}

// describe is a value for messages, shortened.
func describe(v value) string {
	if len(v.text) > 256 {
		v.text = v.text[:256] // the message shows less, and a long text is not copied for it
	}
	s := shortened(string(appendText(nil, v)), 40)
	switch {
	case v.kind == batch.String:
		return "the string " + strconv.Quote(s)
	case v.isNull():
		return "null"
	case v.isNumber():
		return s
	}
	return fmt.Sprintf("%s (%s)", kindName(v.kind), s)
}

// shortened cuts a text to at most so many bytes, between characters.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most] + "…"
}

// identity appends bytes that are the same for equal values of one kind family, for sets of constants.
func identity(out []byte, v value) []byte {
	v = v.number()
	if v.kind == batch.Float {
		if f := v.float(); f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
			v = intValue(int64(f))
		}
	}
	out = append(out, byte(v.kind))
	if v.isText() {
		return append(out, v.text...)
	}
	return binary.LittleEndian.AppendUint64(out, v.bits)
}

func itoa(i int) string { return strconv.Itoa(i) }

// viewString looks at b as a string without copying. Nobody may keep it.
func viewString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
