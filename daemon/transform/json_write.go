package transform

import (
	"math"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// appendJSON writes a value as JSON. NaN and infinities, for which JSON has no numbers, become their names as strings.
func appendJSON(out []byte, v value) []byte {
	switch v.kind {
	case batch.Bool, batch.Int, batch.Uint:
		return appendText(out, v)
	case batch.Float:
		f := v.float()
		switch {
		case f != f:
			return append(out, `"NaN"`...)
		case math.IsInf(f, 1):
			return append(out, `"Infinity"`...)
		case math.IsInf(f, -1):
			return append(out, `"-Infinity"`...)
		}
		return appendFloat(out, f)
	case batch.Time:
		return append(appendTime(append(out, '"'), v.int()), '"')
	case batch.String:
		return appendQuoted(out, v.text)
	case batch.JSON:
		if v.list == nil {
			return append(out, v.text...)
		}
		out = append(out, '[')
		for i, e := range v.list.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, e)
		}
		return append(out, ']')
	}
	return append(out, "null"...)
}

const hex = "0123456789abcdef"

// appendQuoted writes a JSON string.
func appendQuoted(out, s []byte) []byte {
	out = append(out, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			out = append(append(out, s[from:i]...), "\ufffd"...)
			i++
			from = i
			continue
		}
		out = append(out, s[from:i]...)
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(out, s[from:]...), '"')
}
