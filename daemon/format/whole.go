package format

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Whole describes rows that are records as they came in, with changes: the record stands as a JSON object in one column, and some of its
// members are replaced, added or taken out by others.
type Whole struct {
	Column string   // holds the object
	Set    []string // columns whose values are put in: in place of a member of that name, or behind the others
	Drop   []string // members that are taken out
}

// NewWhole makes a formatter of whole records. Only JSON has a form for rows whose fields are not known beforehand.
func NewWhole(o Options, w Whole) (*Formatter, error) {
	o.Fields = append([]string{w.Column}, w.Set...)
	f, err := New(o)
	if err != nil {
		return nil, err
	}
	if f.format != JSON {
		return nil, &OptionError{Option: "format", Message: "whole records can be written as json only", Hint: "name the columns"}
	}
	f.whole = &w
	return f, nil
}

// errNoObject is why a record cannot be written with changes: it is a number, an array, text, or null.
var errNoObject = errors.New("the record is no JSON object, so there are no fields in it that could be set, renamed or dropped")

// appendWhole appends a record with its changes, or fails with errNoObject. A row that has no record at all is what Set has.
func (f *Formatter) appendWhole(dst []byte, in *batch.Batch, row int) ([]byte, error) {
	var object []byte
	if c := f.columns[0]; c != nil && c.Kinds[row] == batch.JSON {
		object = in.Text(c.Bits[row])
	}
	if len(f.whole.Set) == 0 && len(f.whole.Drop) == 0 && object != nil {
		return appendPlain(dst, in, batch.JSON, f.columns[0].Bits[row]), nil
	}
	if first := blanks(object, 0); object != nil && (first == len(object) || object[first] != '{') {
		return dst, errNoObject
	}
	dst = append(dst, '{')
	empty := true
	var written uint64 // bit i: Set[i]; beyond 64 the search below is by what has been written
	var more []int
	done := func(i int) bool {
		if i < 64 {
			return written&(1<<i) != 0
		}
		return slices.Contains(more, i)
	}
	put := func(i int) {
		if i < 64 {
			written |= 1 << i
		} else {
			more = append(more, i)
		}
		c := f.columns[i+1]
		if c == nil || c.Kinds[row] == batch.Missing {
			return
		}
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
		dst = append(dst, f.labels[i+1].bytes...)
		dst = f.appendValueJSON(dst, in, c, i+1, row)
	}
	for name, member := range members(object) {
		if i := slices.Index(f.whole.Set, string(name)); i >= 0 {
			if !done(i) {
				put(i)
			}
			continue
		}
		if slices.Contains(f.whole.Drop, string(name)) {
			continue
		}
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
		for _, c := range member {
			if c == '\n' || c == '\r' { // only between tokens
				c = ' '
			}
			dst = append(dst, c)
		}
	}
	for i := range f.whole.Set {
		if !done(i) {
			put(i)
		}
	}
	return append(dst, '}'), nil
}

// members yields the name and the text ("name": value) of each member of a valid JSON object.
func members(object []byte) func(yield func(name, member []byte) bool) {
	return func(yield func(name, member []byte) bool) {
		p := blanks(object, 0) + 1 // behind the brace
		for p < len(object) {
			p = blanks(object, p)
			if p >= len(object) || object[p] == '}' {
				return
			}
			if object[p] == ',' {
				p++
				continue
			}
			start := p
			p = stringEnd(object, p)
			name := object[start+1 : p-1]
			if slices.Contains(name, '\\') {
				var s string
				if json.Unmarshal(object[start:p], &s) == nil {
					name = []byte(s)
				}
			}
			p = blanks(object, p) + 1 // behind the colon
			p = valueEnd(object, blanks(object, p))
			if !yield(name, object[start:p]) {
				return
			}
		}
	}
}

func blanks(s []byte, p int) int {
	for p < len(s) && (s[p] == ' ' || s[p] == '\t' || s[p] == '\n' || s[p] == '\r') {
		p++
	}
	return p
}

// stringEnd is the place behind the string that begins at p.
func stringEnd(s []byte, p int) int {
	for p++; p < len(s); p++ {
		switch s[p] {
		case '\\':
			p++
		case '"':
			return p + 1
		}
	}
	return len(s)
}

// valueEnd is the place behind the value that begins at p.
func valueEnd(s []byte, p int) int {
	depth := 0
	for p < len(s) {
		switch s[p] {
		case '"':
			p = stringEnd(s, p)
			if depth == 0 {
				return p
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return p
			}
			if depth--; depth == 0 {
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
