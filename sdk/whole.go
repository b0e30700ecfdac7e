package sdk

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// whole finds fields in the JSON objects of [batch.WholeColumn], for those that have no column. The decoder has checked the text: what is
// read here is valid JSON, so that places can be found without looking at everything. It reads as the decoder does: where a name stands twice
// the last one counts, and numbers become what holds them exactly.
type whole struct {
	b       *batch.Batch
	column  *batch.Column
	row     int      // of which members are, or -1
	members []member // of the row's object; none where it is none
}

// member is a name of an object with the text of its value.
type member struct{ name, value []byte }

// set begins a batch. It is nil where there are no whole records.
func (w *whole) set(b *batch.Batch) *whole {
	if w.b, w.column, w.row = b, b.Column(batch.WholeColumn), -1; w.column == nil {
		return nil
	}
	return w
}

// open reads the members of a row's object; false where the row has none.
func (w *whole) open(row int) bool {
	if w.row != row {
		w.row, w.members = row, w.members[:0]
		if w.column.Kinds[row] == batch.JSON {
			w.members = appendMembers(w.members, w.b.Text(w.column.Bits[row]))
		}
	}
	return len(w.members) > 0
}

// find follows a path from the row's object. Formats without nesting have names that look like paths.
func (w *whole) find(path string) cell {
	if strings.ContainsAny(path, `.["'$`) {
		if c := w.follow(path); c.kind != batch.Missing {
			return c
		}
	}
	return cellOf(last(w.members, path))
}

func (w *whole) follow(path string) cell {
	step, rest, ok := nextStep(strings.TrimPrefix(path, "$env"))
	if !ok {
		return cell{}
	}
	value := last(w.members, step)
	for rest != "" && value != nil {
		if step, rest, ok = nextStep(rest); !ok {
			return cell{}
		}
		switch value[0] {
		case '{':
			value = last(appendMembers(nil, value), step)
		case '[':
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 {
				return cell{}
			}
			value = element(value, n)
		default:
			return cell{}
		}
	}
	return cellOf(value)
}

// nextStep takes the first step off a path: `a`, `.a`, `[0]`, `["a"]` or `"a"`.
func nextStep(path string) (step, rest string, ok bool) {
	path = strings.TrimPrefix(path, ".")
	bracket := strings.HasPrefix(path, "[")
	if bracket {
		path = path[1:]
	}
	if path != "" && (path[0] == '"' || path[0] == '\'') {
		var name strings.Builder
		for i := 1; i < len(path); i++ {
			switch {
			case path[i] == path[0]:
				rest = path[i+1:]
				if bracket {
					rest, ok = strings.CutPrefix(rest, "]")
					return name.String(), rest, ok
				}
				return name.String(), rest, true
			case path[i] == '\\' && i+1 < len(path):
				i++
			}
			name.WriteByte(path[i])
		}
		return "", "", false
	}
	if bracket {
		return strings.Cut(path, "]")
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return path[:end], path[end:], end > 0
}

// last is the value of a name, of the last one if it stands there several times; nil if it does not.
func last(members []member, name string) []byte {
	for i := len(members) - 1; i >= 0; i-- {
		if string(members[i].name) == name {
			return members[i].value
		}
	}
	return nil
}

// appendMembers adds the members of an object.
func appendMembers(to []member, object []byte) []member {
	p := blanks(object, 0)
	if p == len(object) || object[p] != '{' {
		return to
	}
	for p = blanks(object, p+1); p < len(object) && object[p] != '}'; p = blanks(object, p) {
		end, escaped := stringEnd(object, p)
		name := object[p+1 : end-1]
		if escaped {
			name = unescape(object[p:end])
		}
		p = blanks(object, blanks(object, end)+1) // behind the colon
		end = valueEnd(object, p)
		to = append(to, member{name, object[p:end]})
		if p = blanks(object, end); p < len(object) && object[p] == ',' {
			p++
		}
	}
	return to
}

// element is the n-th element of an array, or nil.
func element(array []byte, n int) []byte {
	for p := blanks(array, 1); p < len(array) && array[p] != ']'; p = blanks(array, p) {
		end := valueEnd(array, p)
		if n == 0 {
			return array[p:end]
		}
		n--
		if p = blanks(array, end); p < len(array) && array[p] == ',' {
			p++
		}
	}
	return nil
}

func blanks(s []byte, p int) int {
	for p < len(s) && (s[p] == ' ' || s[p] == '\t' || s[p] == '\n' || s[p] == '\r') {
		p++
	}
	return p
}

// stringEnd is the place behind the string that begins at p, and whether there are escapes in it.
func stringEnd(s []byte, p int) (end int, escaped bool) {
	for p++; p < len(s); p++ {
		switch s[p] {
		case '\\':
			escaped = true
			p++
		case '"':
			return p + 1, escaped
		}
	}
	return len(s), escaped
}

// valueEnd is the place behind the value that begins at p.
func valueEnd(s []byte, p int) int {
	depth := 0
	for p < len(s) {
		switch s[p] {
		case '"':
			if p, _ = stringEnd(s, p); depth == 0 {
				return p
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				if depth < 0 { // of what the value stands in
					return p
				}
				return p + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return p
			}
		}
		p++
	}
	return p
}

// cellOf reads a value; nil is a missing one.
func cellOf(value []byte) cell {
	if len(value) == 0 {
		return cell{}
	}
	switch value[0] {
	case '"':
		if end, escaped := stringEnd(value, 0); !escaped {
			return cell{kind: batch.String, text: value[1 : end-1]}
		}
		return cell{kind: batch.String, text: unescape(value)}
	case '{', '[':
		return cell{kind: batch.JSON, text: value}
	case 'n':
		return cell{kind: batch.Null}
	case 't':
		return cell{kind: batch.Bool, bits: 1}
	case 'f':
		return cell{kind: batch.Bool}
	}
	return numberOf(value)
}

func numberOf(value []byte) cell {
	text := string(value)
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
			return cell{kind: batch.Int, bits: uint64(n)}
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return cell{kind: batch.Uint, bits: n}
		}
		if text != "-0" {
			return cell{kind: batch.JSON, text: value}
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	if err != nil || f == 0 && strings.ContainsAny(mantissa, "123456789") {
		return cell{kind: batch.JSON, text: value} // no float is near it
	}
	return cell{kind: batch.Float, bits: math.Float64bits(f)}
}

// unescape gives the text of a string with its quotes.
func unescape(quoted []byte) []byte {
	var s string
	_ = json.Unmarshal(quoted, &s) // it is valid; half a surrogate pair becomes U+FFFD, as when a column is decoded
	return []byte(s)
}
