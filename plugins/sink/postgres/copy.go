package postgres

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// nulRule says what becomes of the character NUL.
type nulRule string

const (
	rejectNUL  nulRule = "reject"
	removeNUL  nulRule = "remove"
	replaceNUL nulRule = "replace" // by U+FFFD
)

// encoder writes rows in the text format of COPY: a line a row, tabs between values, \N for null.
type encoder struct {
	columns []column
	cells   []*batch.Column // of the batch, nil where it has none
	nul     nulRule
	scratch []byte
}

// bind looks up the columns in a batch.
func (e *encoder) bind(b *batch.Batch) {
	e.cells = e.cells[:0]
	for _, c := range e.columns {
		e.cells = append(e.cells, b.Column(c.name))
	}
}

// appendRow appends a row and its line feed; ok is false if it holds a NUL that must not be touched.
func (e *encoder) appendRow(dst []byte, b *batch.Batch, row int) (out []byte, ok bool) {
	at := len(dst)
	for i, c := range e.cells {
		if i > 0 {
			dst = append(dst, '\t')
		}
		if c == nil || c.IsNull(row) {
			dst = append(dst, `\N`...)
			continue
		}
		if dst, ok = e.appendCell(dst, b, e.columns[i].kind, c.Kinds[row], c.Bits[row]); !ok {
			return dst[:at], false
		}
	}
	return append(dst, '\n'), true
}

func (e *encoder) appendCell(dst []byte, b *batch.Batch, to kind, k batch.Kind, bits uint64) ([]byte, bool) {
	switch k {
	case batch.Bool:
		return strconv.AppendBool(dst, bits != 0), true
	case batch.Int:
		return strconv.AppendInt(dst, int64(bits), 10), true
	case batch.Uint:
		return strconv.AppendUint(dst, bits, 10), true
	case batch.Float:
		v := math.Float64frombits(bits)
		if to == asJSON && (math.IsNaN(v) || math.IsInf(v, 0)) {
			return append(dst, "null"...), true // JSON has no such number
		}
		return strconv.AppendFloat(dst, v, 'g', -1, 64), true
	case batch.Time:
		return appendTime(dst, to, int64(bits)), true
	}
	text := b.Text(bits)
	switch {
	case k == batch.JSON:
		if bytes.Contains(text, escapedNUL) {
			var ok bool
			if text, ok = e.withoutEscapedNUL(text); !ok {
				return dst, false
			}
		}
	case to == asJSON:
		clean, ok := e.withoutNUL(text)
		if !ok {
			return dst, false
		}
		var err error
		if text, err = json.Marshal(string(clean)); err != nil {
			return dst, false
		}
	default:
		var ok bool
		if text, ok = e.withoutNUL(text); !ok {
			return dst, false
		}
	}
	return appendEscaped(dst, text), true
}

// appendTime writes a time for its column; the ends of the time line, which stand for "no time", are null.
func appendTime(dst []byte, to kind, ms int64) []byte {
	switch {
	case ms == batch.NoTimestamp || ms == batch.EndOfInput:
		return append(dst, `\N`...)
	case to == asInteger:
		return strconv.AppendInt(dst, ms, 10)
	}
	t := time.UnixMilli(ms).UTC()
	if to == asJSON {
		return t.AppendFormat(dst, `"2006-01-02T15:04:05.000Z07:00"`)
	}
	if y := t.Year(); y <= 0 { // the year before 1 is 1 BC
		return append(t.AddDate(1-2*y, 0, 0).AppendFormat(dst, "2006-01-02 15:04:05.000Z07:00"), " BC"...)
	}
	return t.AppendFormat(dst, "2006-01-02 15:04:05.000Z07:00")
}

// appendEscaped escapes what COPY reads as something else.
func appendEscaped(dst, text []byte) []byte {
	for _, c := range text {
		switch c {
		case '\\':
			dst = append(dst, '\\', '\\')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func (e *encoder) withoutNUL(text []byte) ([]byte, bool) {
	if bytes.IndexByte(text, 0) < 0 {
		return text, true
	}
	switch e.nul {
	case removeNUL:
		e.scratch = append(e.scratch[:0], bytes.ReplaceAll(text, []byte{0}, nil)...)
	case replaceNUL:
		e.scratch = append(e.scratch[:0], bytes.ReplaceAll(text, []byte{0}, []byte("\ufffd"))...)
	default:
		return nil, false
	}
	return e.scratch, true
}

var escapedNUL = []byte(`\u0000`)

// withoutEscapedNUL does the same for JSON text, where the character is an escape. An escaped backslash before "u0000" is none.
func (e *encoder) withoutEscapedNUL(text []byte) ([]byte, bool) {
	out := e.scratch[:0]
	found := false
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		if bytes.HasPrefix(text[i:], escapedNUL) {
			found = true
			if e.nul == replaceNUL {
				out = append(out, `\ufffd`...)
			}
			i += len(escapedNUL) - 1
			continue
		}
		out = append(out, text[i])
		if i++; i < len(text) {
			out = append(out, text[i])
		}
	}
	e.scratch = out
	return out, !found || e.nul == removeNUL || e.nul == replaceNUL
}
