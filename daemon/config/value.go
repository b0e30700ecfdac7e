package config

import (
	"encoding/json"
	"math"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Kind is the TOML type of a value.
type Kind uint8

// The kinds of values.
const (
	KindString Kind = iota
	KindInt
	KindFloat
	KindBool
	KindTime
	KindList
	KindTable
)

func (k Kind) String() string {
	return [...]string{"a string", "an integer", "a float", "a boolean", "a date or time", "a list", "a table"}[k]
}

// Value is one value of the file and where it stands.
type Value struct {
	Kind  Kind
	Str   string // KindString; after the substitution of environment variables
	Raw   string // KindString: as written, so that what came from the environment is never shown
	Int   int64
	Float float64
	Bool  bool
	Time  time.Time
	List  []*Value
	Table *Table

	At    problem.Place // the value
	KeyAt problem.Place // its key; for elements of lists the value

	inner int // strings: columns between At and the first character of the content, -1 when columns inside cannot be told
	lead  int // strings over several lines: 1 when the content begins on the line after At
}

// Inside is the place of n characters at a character offset inside a string value, so that a mistake in an expression is
// underlined where it stands. Where the text was written with escapes it is the place of the whole value.
func (v *Value) Inside(offset, n int) problem.Place {
	if v.Kind != KindString || v.inner < 0 || offset < 0 {
		return v.At
	}
	before, rest := v.Str, ""
	for i := range v.Str {
		if offset == 0 {
			before, rest = v.Str[:i], v.Str[i:]
			break
		}
		offset--
	}
	p := v.At
	p.Line += v.lead + strings.Count(before, "\n")
	if p.Line == v.At.Line {
		p.Column += v.inner
	} else {
		p.Column = 1
	}
	p.Column += utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + offset
	if line, _, more := strings.Cut(rest, "\n"); more {
		n = min(n, utf8.RuneCountInString(line))
	}
	p.Width = max(n, 1)
	return p
}

// content finds where the text x of a string begins in raw, as it was written, when no escapes stand between the two.
func (v *Value) content(raw, x string) {
	for _, quote := range []string{`"""`, "'''", `"`, "'"} {
		if len(raw) < 2*len(quote) || !strings.HasPrefix(raw, quote) {
			continue
		}
		text := raw[len(quote) : len(raw)-len(quote)]
		if len(quote) == 3 && strings.HasPrefix(text, "\n") {
			text, v.lead = text[1:], 1
		}
		if v.inner = len(quote); text != x {
			v.inner, v.lead = -1, 0
		}
		return
	}
}

// Any gives the value as plain Go data, as encoding/json would hold it, with integers as int64. With shown, strings that contain
// environment variables are given as written.
func (v *Value) Any(shown bool) any {
	switch v.Kind {
	case KindString:
		if shown {
			return v.Raw
		}
		return v.Str
	case KindInt:
		return v.Int
	case KindFloat:
		// JSON has no word for these; a string says what was meant and every option type refuses it.
		switch {
		case math.IsNaN(v.Float):
			return "nan"
		case math.IsInf(v.Float, 1):
			return "inf"
		case math.IsInf(v.Float, -1):
			return "-inf"
		}
		return v.Float
	case KindBool:
		return v.Bool
	case KindTime:
		return v.Time.Format(time.RFC3339Nano)
	case KindList:
		out := make([]any, len(v.List))
		for i, e := range v.List {
			out[i] = e.Any(shown)
		}
		return out
	default:
		return v.Table.Any(shown)
	}
}

// Len is the number of elements of a list or keys of a table; 0 for everything else, and for no value.
func (v *Value) Len() int {
	switch {
	case v == nil:
		return 0
	case v.Kind == KindList:
		return len(v.List)
	}
	return v.Table.Len()
}

// MarshalJSON gives the effective value.
func (v *Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.Any(false)) }

// Table is a TOML table with its keys in the order of the file.
type Table struct {
	Keys   []string
	values map[string]*Value
	At     problem.Place // the header, or the braces
}

// Get gives the value of a key, or nil.
func (t *Table) Get(key string) *Value {
	if t == nil {
		return nil
	}
	return t.values[key]
}

// Len is the number of keys.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return len(t.Keys)
}

// Any gives the table as plain Go data, see [Value.Any].
func (t *Table) Any(shown bool) map[string]any {
	out := make(map[string]any, t.Len())
	if t != nil {
		for _, k := range t.Keys {
			out[k] = t.values[k].Any(shown)
		}
	}
	return out
}

// without gives the table's keys except some, in order: what is left for a plugin.
func (t *Table) without(known map[string]bool) *Table {
	out := &Table{values: map[string]*Value{}, At: t.At}
	for _, k := range t.Keys {
		if !known[k] {
			out.Keys = append(out.Keys, k)
			out.values[k] = t.values[k]
		}
	}
	return out
}

// build joins what the TOML library decoded with the places that the scanner found.
type build struct {
	text  *text
	spots map[string]spot
}

func (b *build) table(path string, m map[string]any) *Table {
	t := &Table{values: make(map[string]*Value, len(m))}
	if s, ok := b.spots[path]; ok {
		t.At = b.text.place(s.value)
	} else {
		t.At = problem.Place{File: b.text.file}
	}
	for k, v := range m {
		t.Keys = append(t.Keys, k)
		t.values[k] = b.value(join(path, k), v)
	}
	sort.Slice(t.Keys, func(i, j int) bool {
		x, y := b.spots[join(path, t.Keys[i])].key, b.spots[join(path, t.Keys[j])].key
		if x != y {
			return x.from < y.from
		}
		return t.Keys[i] < t.Keys[j]
	})
	return t
}

func (b *build) value(path string, x any) *Value {
	s := b.spots[path]
	v := &Value{At: b.text.place(s.value), KeyAt: b.text.place(s.key), inner: -1}
	switch x := x.(type) {
	case string:
		v.Kind, v.Str, v.Raw = KindString, x, x
		if s.value.to > s.value.from && s.value.to <= len(b.text.data) {
			v.content(b.text.data[s.value.from:s.value.to], x)
		}
	case int64:
		v.Kind, v.Int = KindInt, x
	case float64:
		v.Kind, v.Float = KindFloat, x
	case bool:
		v.Kind, v.Bool = KindBool, x
	case time.Time:
		v.Kind, v.Time = KindTime, x
	case []any:
		v.Kind = KindList
		for i, e := range x {
			v.List = append(v.List, b.value(element(path, i), e))
		}
	case []map[string]any:
		v.Kind = KindList
		for i, e := range x {
			v.List = append(v.List, b.value(element(path, i), e))
		}
	case map[string]any:
		v.Kind, v.Table = KindTable, b.table(path, x)
	}
	return v
}
