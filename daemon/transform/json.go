package transform

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

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
	if !bytes.ContainsAny(s, ".eE") {
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
