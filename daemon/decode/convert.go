package decode

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// parseText reads text as a value of type t. Kind String means the text itself, JSON the text as it stands. problem says why it is not such
// a value, or one that the type cannot hold exactly. White space around anything but a string is skipped.
func parseText(text []byte, t Type, times *Timestamps) (kind batch.Kind, value uint64, problem string) {
	if t == TypeString || t == TypeDynamic || t == TypeExact {
		return batch.String, 0, ""
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return batch.Null, 0, ""
	}
	ok := false
	switch t {
	case TypeInt, TypeUint, TypeNumber, TypeFloat:
		if kind, value, ok = parseNumberText(text); ok {
			kind, value, ok = fitNumber(kind, value, t)
		} else if t == TypeFloat {
			kind, value, ok = parseFloatName(text)
		}
	case TypeBool:
		var v bool
		var err error
		v, err = strconv.ParseBool(viewString(text))
		kind, ok = batch.Bool, err == nil
		if v {
			value = 1
		}
	case TypeTimestamp:
		ms, problem := times.text(text)
		return batch.Time, uint64(ms), problem
	case TypeJSON:
		kind, ok = batch.JSON, validJSON(text)
	}
	if !ok {
		return 0, 0, problemType
	}
	return kind, value, ""
}

// problemType is why a text is not of its type where the type says it all.
const problemType = "it is none"

// parseNumberText reads a decimal number as people write it: JSON's grammar, and also a leading plus, leading zeros, and a
// point without digits on one side. Infinity and NaN are not numbers, but see parseFloatName.
func parseNumberText(text []byte) (kind batch.Kind, value uint64, ok bool) {
	if text[0] == '+' && len(text) > 1 && text[1] != '-' {
		text = text[1:]
	}
	if q, kind, value := scanNumber(text, 0); q == len(text) {
		return kind, value, kind != batch.JSON
	}
	digits, point := 0, false
	neg := text[0] == '-'
	body := text
	if neg {
		body = text[1:]
	}
	for i, c := range body {
		switch {
		case c-'0' <= 9:
			digits++
		case c == '.' && !point:
			point = true
		case (c == 'e' || c == 'E') && digits > 0:
			if q, _ := scanExponent(body, i+1); q != len(body) {
				return 0, 0, false
			}
			return parseFloatText(text)
		default:
			return 0, 0, false
		}
	}
	if digits == 0 {
		return 0, 0, false
	}
	if point {
		return parseFloatText(text)
	}
	body = bytes.TrimLeft(body, "0") // only leading zeros kept scanNumber from reading it
	if len(body) == 0 {
		return batch.Int, 0, true
	}
	kind, value = wideInteger(body, neg)
	return kind, value, kind != batch.JSON
}

func parseFloatText(text []byte) (kind batch.Kind, value uint64, ok bool) {
	f, err := strconv.ParseFloat(viewString(text), 64)
	if err != nil || f == 0 && hasNonZero(text) {
		return 0, 0, false
	}
	return batch.Float, math.Float64bits(f), true
}

// parseFloatName reads the floats that have names, which a declared float may be: what this program writes ("NaN", "Infinity",
// "-Infinity"), and how others write them.
func parseFloatName(text []byte) (kind batch.Kind, value uint64, ok bool) {
	sign, name := 1, text
	if name[0] == '+' || name[0] == '-' {
		if name[0] == '-' {
			sign = -1
		}
		name = name[1:]
	}
	switch {
	case len(name) == len(text) && bytes.EqualFold(name, []byte("nan")):
		return batch.Float, math.Float64bits(math.NaN()), true
	case bytes.EqualFold(name, []byte("inf")), bytes.EqualFold(name, []byte("infinity")):
		return batch.Float, math.Float64bits(math.Inf(sign)), true
	}
	return 0, 0, false
}

// fitNumber turns a number into the one kind of a type, where that changes nothing: 5.0 is an int, 5.5 is not; an integer is
// a float if the float is that very integer.
func fitNumber(kind batch.Kind, value uint64, t Type) (batch.Kind, uint64, bool) {
	switch t {
	case TypeNumber:
		return kind, value, true
	case TypeFloat:
		switch kind {
		case batch.Int:
			i := int64(value)
			f := float64(i)
			return batch.Float, math.Float64bits(f), f < 1<<63 && int64(f) == i
		case batch.Uint:
			f := float64(value)
			return batch.Float, math.Float64bits(f), f < 1<<64 && uint64(f) == value
		}
		return kind, value, true
	}
	if kind == batch.Float {
		f := math.Float64frombits(value)
		switch {
		case f != math.Trunc(f):
			return 0, 0, false
		case f >= -(1<<63) && f < 1<<63:
			kind, value = batch.Int, uint64(int64(f))
		case f >= 1<<63 && f < 1<<64:
			kind, value = batch.Uint, uint64(f)
		default:
			return 0, 0, false
		}
	}
	if t == TypeInt {
		return kind, value, kind == batch.Int
	}
	return kind, value, kind == batch.Uint || int64(value) >= 0
}

// inferText is the kind of a text without a declared type when Spec.Infer is set.
func inferText(text []byte) (batch.Kind, uint64) {
	if len(text) == 0 {
		return batch.Null, 0
	}
	switch c := text[0]; {
	case c == 't' && string(text) == "true":
		return batch.Bool, 1
	case c == 'f' && string(text) == "false":
		return batch.Bool, 0
	case c == '-' || c-'0' <= 9:
		if q, kind, value := scanNumber(text, 0); q == len(text) && kind != batch.JSON {
			return kind, value
		}
	}
	return batch.String, 0
}

// convertColumn gives the cells of a json column their declared type, and refuses the rows where that is not possible.
// Values that were asked for as text or JSON already are what they should be.
func (d *Decoder) convertColumn(b *batch.Batch, col *batch.Column, f *field) {
	want := uint16(1<<batch.Missing | 1<<batch.Null)
	switch f.Type {
	case TypeInt:
		want |= 1 << batch.Int
	case TypeFloat:
		want |= 1 << batch.Float
	case TypeBool:
		want |= 1 << batch.Bool
	case TypeNumber:
		want |= 1<<batch.Int | 1<<batch.Uint | 1<<batch.Float
	case TypeUint, TypeTimestamp:
	default:
		return
	}
	if col.Present&^want == 0 {
		return
	}
	for k := range b.Alive() {
		i := k
		if b.Sel != nil {
			i = int(b.Sel[k])
		}
		kind, value := col.Kinds[i], col.Bits[i]
		if want&(1<<kind) != 0 {
			continue
		}
		kind, value, problem := convertCell(b, kind, value, f)
		if problem != "" {
			b.Refuse(i, CodeType, typeMessage(f, cellText(b, col, i), problem))
			continue
		}
		col.Kinds[i], col.Bits[i] = kind, value
	}
	resetPresent(b, col) // also of the rows just refused, which a later recount leaves out
}

func convertCell(b *batch.Batch, kind batch.Kind, value uint64, f *field) (batch.Kind, uint64, string) {
	ok := false
	switch {
	case kind == batch.String:
		return parseText(b.Text(value), f.Type, f.times)
	case f.Type == TypeTimestamp:
		ms, problem := f.times.cell(b, kind, value)
		return batch.Time, uint64(ms), problem
	case f.Type == TypeBool:
		ok = kind == batch.Bool
	case kind == batch.Int || kind == batch.Uint || kind == batch.Float:
		kind, value, ok = fitNumber(kind, value, f.Type)
	}
	if !ok {
		return 0, 0, problemType
	}
	return kind, value, ""
}

// cellText shows a cell as its text, for messages.
func cellText(b *batch.Batch, col *batch.Column, i int) []byte {
	switch v := col.Bits[i]; col.Kinds[i] {
	case batch.Bool:
		return strconv.AppendBool(nil, v != 0)
	case batch.Int, batch.Time:
		return strconv.AppendInt(nil, int64(v), 10)
	case batch.Uint:
		return strconv.AppendUint(nil, v, 10)
	case batch.Float:
		return strconv.AppendFloat(nil, math.Float64frombits(v), 'g', -1, 64)
	case batch.String, batch.JSON:
		return b.Text(v)
	case batch.Null:
		return []byte("null")
	}
	return nil
}

// typeMessage says that text is not of a field's type.
func typeMessage(f *field, text []byte, problem string) string {
	if f.Type == TypeTimestamp {
		return fmt.Sprintf("field %q: %s is not a time of unit %q: %s", f.Name, quoteValue(text), f.times.Unit(), problem)
	}
	article := "a"
	if f.Type == TypeInt {
		article = "an"
	}
	return fmt.Sprintf("field %q: %s is not %s %s", f.Name, quoteValue(text), article, f.Type)
}
