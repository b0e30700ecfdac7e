package format

import (
	"bytes"
	"math"
	"strconv"

	"github.com/tidemark-stream/tidemark/daemon/jsontext"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// appendJSON appends a row as an object.
func (f *Formatter) appendJSON(dst []byte, in *batch.Batch, row int) []byte {
	dst = append(dst, '{')
	empty := true
	for i, c := range f.columns {
		if c == nil || c.Kinds[row] == batch.Missing {
			continue
		}
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
		dst = append(dst, f.labels[i].bytes...)
		dst = f.appendValueJSON(dst, in, c, i, row)
	}
	return append(dst, '}')
}

// appendValueJSON appends a cell that is not Missing as a JSON value. column is its number in f.columns.
func (f *Formatter) appendValueJSON(dst []byte, in *batch.Batch, c *batch.Column, column, row int) []byte {
	bits := c.Bits[row]
	switch kind := c.Kinds[row]; kind {
	case batch.String:
		return jsontext.AppendString(dst, in.Text(bits))
	case batch.Time:
		return f.appendTimeJSON(dst, column, int64(bits))
	case batch.Null:
		return append(dst, "null"...)
	case batch.Float:
		v := math.Float64frombits(bits)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			dst = append(dst, '"')
			dst = jsontext.AppendFloat(dst, v)
			return append(dst, '"')
		}
		return jsontext.AppendFloat(dst, v)
	default:
		return appendPlain(dst, in, kind, bits)
	}
}

func (f *Formatter) appendTimeJSON(dst []byte, column int, ms int64) []byte {
	switch {
	case noTime(ms):
		return append(dst, "null"...)
	case f.epochMillis:
		return strconv.AppendInt(dst, ms, 10)
	}
	dst = append(dst, '"')
	dst = append(dst, f.times[column].text(ms)...)
	return append(dst, '"')
}

// appendText appends a value as it stands in text and CSV; what has no value is nothing.
func (f *Formatter) appendText(dst []byte, in *batch.Batch, column, row int) []byte {
	c := f.columns[column]
	if c == nil {
		return dst
	}
	kind, bits := c.Kinds[row], c.Bits[row]
	switch kind {
	case batch.Missing, batch.Null:
		return dst
	case batch.String:
		return append(dst, in.Text(bits)...)
	case batch.Float:
		return jsontext.AppendFloat(dst, math.Float64frombits(bits))
	case batch.Time:
		switch ms := int64(bits); {
		case noTime(ms):
			return dst
		case f.epochMillis:
			return strconv.AppendInt(dst, ms, 10)
		default:
			return append(dst, f.times[column].text(ms)...)
		}
	}
	return appendPlain(dst, in, kind, bits)
}

// appendPlain appends the kinds that look the same everywhere.
func appendPlain(dst []byte, in *batch.Batch, kind batch.Kind, bits uint64) []byte {
	switch kind {
	case batch.Bool:
		return strconv.AppendBool(dst, bits != 0)
	case batch.Int:
		return strconv.AppendInt(dst, int64(bits), 10)
	case batch.Uint:
		return strconv.AppendUint(dst, bits, 10)
	case batch.JSON:
		text := in.Text(bits)
		if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
			return append(dst, text...)
		}
		for _, c := range text { // in JSON these can only be blanks between tokens
			if c == '\n' || c == '\r' {
				c = ' '
			}
			dst = append(dst, c)
		}
	}
	return dst
}

// appendCSV appends a row's fields. A field is quoted when it holds the delimiter, a quote, a line break or a blank at an end; the
// empty text is quoted, so that it differs from null.
func (f *Formatter) appendCSV(dst []byte, in *batch.Batch, row int) []byte {
	for i, c := range f.columns {
		if i > 0 {
			dst = append(dst, f.delim)
		}
		at := len(dst)
		dst = f.appendText(dst, in, i, row)
		field := dst[at:]
		isText := c != nil && c.Kinds[row] == batch.String
		if !f.needsQuotes(field) && !(isText && len(field) == 0) {
			continue
		}
		quoted := make([]byte, 0, len(field)+8)
		quoted = append(quoted, '"')
		for _, b := range field {
			if b == '"' {
				quoted = append(quoted, '"')
			}
			quoted = append(quoted, b)
		}
		dst = append(dst[:at], append(quoted, '"')...)
	}
	return dst
}

func (f *Formatter) needsQuotes(field []byte) bool {
	if len(field) == 0 {
		return false
	}
	if field[0] == ' ' || field[0] == '\t' || field[len(field)-1] == ' ' || field[len(field)-1] == '\t' {
		return true
	}
	for _, b := range field {
		if b == f.delim || b == '"' || b == '\n' || b == '\r' {
			return true
		}
	}
	return false
}
