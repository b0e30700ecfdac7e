package decode

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/daemon/jsontext"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// openObject begins the JSON object of Spec.Whole. It is made aside, because values without escapes are made in Extra meanwhile.
func (t *textDecoder) openObject() { t.object = append(t.object[:0], '{') }

// member adds a field whose value is text, in its declared type. Text that does not fit the type stands as a string here: the
// whole row is shown as it came, and a wanted field of that type refuses the row anyway.
func (t *textDecoder) member(name string, text []byte, typ Type) {
	kind, value := batch.String, uint64(0)
	switch {
	case typ == TypeDynamic && t.infer:
		kind, value = inferText(text)
	case typ == TypeTimestamp:
		// Times are written as they came.
		if isBlank(text) {
			kind = batch.Null
		}
	default:
		if k, v, problem := parseText(text, typ, nil); problem == "" {
			kind, value = k, v
		}
	}
	t.memberValue(name, kind, value, text)
}

// memberValue adds a field whose value is already a cell's; text is that of a string or JSON.
func (t *textDecoder) memberValue(name string, kind batch.Kind, value uint64, text []byte) {
	o := t.object
	if len(o) > 1 {
		o = append(o, ',')
	}
	o = append(jsontext.AppendString(o, viewBytes(name)), ':')
	t.object = appendJSONValue(o, kind, value, text)
}

// closeObject ends the object, copies it to Extra and points the last column to it.
func (t *textDecoder) closeObject(i int) {
	off := len(t.b.Extra)
	t.b.Extra = append(append(t.b.Extra, t.object...), '}')
	t.cols[len(t.cols)-1].Set(i, batch.JSON, batch.ExtraRef(off, len(t.b.Extra)-off))
}

func appendJSONValue(dst []byte, kind batch.Kind, value uint64, text []byte) []byte {
	switch kind {
	case batch.Null, batch.Missing:
		return append(dst, "null"...)
	case batch.Bool:
		return strconv.AppendBool(dst, value != 0)
	case batch.Int, batch.Time:
		return strconv.AppendInt(dst, int64(value), 10)
	case batch.Uint:
		return strconv.AppendUint(dst, value, 10)
	case batch.Float:
		return jsontext.AppendNumber(dst, math.Float64frombits(value))
	case batch.JSON:
		return append(dst, text...)
	}
	return jsontext.AppendString(dst, text)
}

func validJSON(text []byte) bool { return utf8.Valid(text) && json.Valid(text) }
