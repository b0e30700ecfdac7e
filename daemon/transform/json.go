package transform

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// The texts of JSON cells have been checked by decode, so that the functions here can walk them without looking for mistakes. Text that
// is wrong all the same ends early; it never makes them run past its end.

// space skips what may stand between tokens.
func space(s []byte, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// skip returns the place after the value that begins at i.
func skip(s []byte, i int) int {
	if i >= len(s) {
		return i
	}
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '"':
				i = skipString(s, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	}
	for i < len(s) && s[i] != ',' && s[i] != '}' && s[i] != ']' && s[i] > ' ' {
		i++
	}
	return i
}

func skipString(s []byte, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// elements calls yield for the text of each element of an array, until it returns false. It reports whether s is an array.
func elements(s []byte, yield func(element []byte) bool) bool {
	i := space(s, 0)
	if i >= len(s) || s[i] != '[' {
		return false
	}
	for i = space(s, i+1); i < len(s) && s[i] != ']'; {
		end := skip(s, i)
		if end == i || !yield(s[i:end]) {
			return true
		}
		i = space(s, end)
		if i < len(s) && s[i] == ',' {
			i = space(s, i+1)
		}
	}
	return true
}

// members calls yield for each member of an object: its name as it stands in the text, with quotes, and the text of its value. It
// reports whether s is an object.
func members(s []byte, yield func(name, element []byte) bool) bool {
	i := space(s, 0)
	if i >= len(s) || s[i] != '{' {
		return false
	}
	for i = space(s, i+1); i < len(s) && s[i] == '"'; {
		end := skipString(s, i)
		name := s[i:end]
		i = space(s, end)
		if i >= len(s) || s[i] != ':' {
			return true
		}
		i = space(s, i+1)
		end = skip(s, i)
		if end == i || !yield(name, s[i:end]) {
			return true
		}
		i = space(s, end)
		if i < len(s) && s[i] == ',' {
			i = space(s, i+1)
		}
	}
	return true
}

// member finds the value of a name in an object. Of a name that stands there twice it is the last one, as decode does.
func member(s []byte, name string) (found []byte, object bool) {
	object = members(s, func(quoted, element []byte) bool {
		if isName(quoted, name) {
			found = element
		}
		return true
	})
	return found, object
}

// isName compares a quoted name with a plain one.
func isName(quoted []byte, name string) bool {
	if len(quoted) < 2 {
		return false
	}
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	var plain string
	return json.Unmarshal(quoted, &plain) == nil && plain == name
}

// fromJSON makes a value of JSON text. Strings without escapes and the texts of objects and arrays are parts of it.
func fromJSON(s []byte) value {
	s = bytes.TrimSpace(s)
	if len(s) == 0 {
		return null
	}
	switch s[0] {
	case 'n':
		return null
	case 't':
		return boolValue(true)
	case 'f':
		return boolValue(false)
	case '{', '[':
		return value{kind: batch.JSON, text: s}
	case '"':
		if inner := s[1 : len(s)-1]; bytes.IndexByte(inner, '\\') < 0 {
			return textValue(inner)
		}
		var plain string
		if json.Unmarshal(s, &plain) != nil {
			return null
		}
		return textValue([]byte(plain))
	}
	return fromNumber(s)
}

// fromNumber follows decode: whole numbers that fit are Int or Uint, others with a fraction or exponent Float, and what no other
// kind holds stays text.
func fromNumber(s []byte) value {
	if bytes.IndexAny(s, ".eE") < 0 {
		if v, err := strconv.ParseInt(viewString(s), 10, 64); err == nil {
			if v == 0 && s[0] == '-' {
				return floatValue(math.Copysign(0, -1))
			}
			return intValue(v)
		}
		if v, err := strconv.ParseUint(viewString(s), 10, 64); err == nil {
			return uintValue(v)
		}
		return value{kind: batch.JSON, text: s}
	}
	f, err := strconv.ParseFloat(viewString(s), 64)
	if err != nil || f == 0 && hasNonZero(s) {
		return value{kind: batch.JSON, text: s}
	}
	return floatValue(f)
}

// hasNonZero says whether the digits before an exponent are not all zero.
func hasNonZero(s []byte) bool {
	for _, c := range s {
		if c|0x20 == 'e' {
			return false
		}
		if c >= '1' && c <= '9' {
			return true
		}
	}
	return false
}

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

// isList is true for an array.
func (v value) isList() bool {
	if v.list != nil {
		return true
	}
	if v.kind != batch.JSON {
		return false
	}
	i := space(v.text, 0)
	return i < len(v.text) && v.text[i] == '['
}

// items takes an array apart. The elements are valid while the row is computed.
func (m *machine) items(v value) ([]value, bool) {
	switch {
	case v.list != nil:
		return v.list.items, true
	case !v.isList():
		return nil, false
	}
	from := len(m.elements)
	elements(v.text, func(e []byte) bool {
		m.elements = append(m.elements, fromJSON(e))
		return true
	})
	return m.elements[from:len(m.elements):len(m.elements)], true
}

// maxDepth is how deep lists and objects are compared by their parts; below it their texts are compared. Walking into something
// very deep would take a time that grows with its square.
const maxDepth = 64

// equalJSON compares arrays element by element and objects by their members, whatever their order.
func (m *machine) equalJSON(a, b value) bool {
	if m.depth++; m.depth > maxDepth {
		m.depth--
		return bytes.Equal(appendJSON(nil, a), appendJSON(nil, b))
	}
	defer func() { m.depth-- }()
	if x, ok := m.items(a); ok {
		y, ok := m.items(b)
		return ok && m.equalLists(x, y)
	}
	if b.list != nil {
		return false
	}
	n, same := 0, true
	seen := map[string]bool{}
	object := members(a.text, func(name, _ []byte) bool {
		plain := string(fromJSON(name).text)
		if seen[plain] {
			return true
		}
		seen[plain] = true
		n++
		x, _ := member(a.text, plain)
		y, there := member(b.text, plain)
		same = there && y != nil && m.equalOrNull(fromJSON(x), fromJSON(y))
		return same
	})
	if !object || !same {
		return false
	}
	others := map[string]bool{}
	if !members(b.text, func(name, _ []byte) bool {
		others[string(fromJSON(name).text)] = true
		return true
	}) {
		return false
	}
	return len(others) == n
}

func (m *machine) equalLists(a, b []value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !m.equalOrNull(a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalOrNull is equality inside of lists and objects, where null equals null.
func (m *machine) equalOrNull(a, b value) bool {
	if a.isNull() || b.isNull() {
		return a.isNull() && b.isNull()
	}
	return m.equal(a, b)
}
