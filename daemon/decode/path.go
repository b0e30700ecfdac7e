package decode

import (
	"fmt"
	"strconv"
	"strings"
)

// Path leads to a field: a name at the top, then names inside objects and indexes inside arrays. Formats without nesting
// know a field by [Path.Flat].
type Path []Step

// Step is one part of a path: a name, or an index when Array is set.
type Step struct {
	Name  string
	Index int
	Array bool
}

// ParsePath reads a path as it is written in a pipeline file:
//
//	user            the field user
//	a.b             the field b inside the object a
//	["a.b"]         the field whose name is a.b; 'a.b' and "a.b" do as well
//	a["b.c"].d[0]   names with dots in brackets, arrays by index from 0
//	$env["a.b"]     the same as ["a.b"], as expressions write it
//
// Inside quotes, a backslash takes the next character literally. Names without quotes may hold anything but . [ ] and quotes.
func ParsePath(s string) (Path, error) {
	bad := func(at int, msg string) (Path, error) {
		return nil, fmt.Errorf("path %q: %s at character %d", s, msg, at+1)
	}
	rest := strings.TrimPrefix(s, "$env")
	if rest != s && !strings.HasPrefix(rest, "[") && !strings.HasPrefix(rest, ".") {
		rest = s // a field that merely begins with $env
	}
	if len(rest) < len(s) && strings.HasPrefix(rest, ".") {
		rest = rest[1:]
	}
	var p Path
	for i, first := len(s)-len(rest), true; ; first = false {
		switch {
		case i == len(s):
			if first {
				return bad(i, "a name is missing")
			}
			return p, nil
		case s[i] == '[':
			step, n, msg := parseBracket(s[i:])
			if msg != "" {
				return bad(i, msg)
			}
			p = append(p, step)
			i += n
			continue
		case !first:
			if s[i] != '.' {
				return bad(i, "a dot or a bracket is missing")
			}
			i++
		}
		if i < len(s) && first && (s[i] == '"' || s[i] == '\'') {
			name, n, ok := unquoteName(s[i:])
			if !ok {
				return bad(i, "the quote is not closed")
			}
			p = append(p, Step{Name: name})
			i += n
			continue
		}
		end := i
		for end < len(s) && !strings.ContainsRune(".[]\"'", rune(s[end])) {
			end++
		}
		if end == i {
			return bad(i, "a name is missing")
		}
		p = append(p, Step{Name: s[i:end]})
		i = end
	}
}

// parseBracket reads ["name"] or [12] and says how long it is, or what is wrong with it.
func parseBracket(s string) (step Step, n int, msg string) {
	if len(s) > 1 && (s[1] == '"' || s[1] == '\'') {
		name, n, ok := unquoteName(s[1:])
		if !ok {
			return step, 0, "the quote is not closed"
		}
		if 1+n >= len(s) || s[1+n] != ']' {
			return step, 0, "the bracket is not closed"
		}
		return Step{Name: name}, n + 2, ""
	}
	end := strings.IndexByte(s, ']')
	if end < 0 {
		return step, 0, "the bracket is not closed"
	}
	digits := s[1:end]
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 || digits[0] == '+' {
		return step, 0, "a quoted name or an index from 0 belongs in the brackets"
	}
	return Step{Index: i, Array: true}, end + 1, ""
}

// unquoteName reads a quoted name at the start of s and says how long it is with its quotes.
func unquoteName(s string) (name string, n int, ok bool) {
	var sb strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return sb.String(), i + 1, true
		case s[i] == '\\' && i+1 < len(s):
			i++
			sb.WriteByte(s[i])
		default:
			sb.WriteByte(s[i])
		}
	}
	return "", 0, false
}

// String writes p so that ParsePath reads it back.
func (p Path) String() string {
	var sb strings.Builder
	for i, s := range p {
		switch {
		case s.Array:
			fmt.Fprintf(&sb, "[%d]", s.Index)
		case s.Name == "" || strings.ContainsAny(s.Name, ".[]\"'\\") || i == 0 && strings.HasPrefix(s.Name, "$env"):
			sb.WriteString(`["`)
			sb.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.Name))
			sb.WriteString(`"]`)
		default:
			if i > 0 {
				sb.WriteByte('.')
			}
			sb.WriteString(s.Name)
		}
	}
	return sb.String()
}

// Flat is the name of the field in formats without nesting: a.b there is the column named "a.b".
func (p Path) Flat() string {
	var sb strings.Builder
	for i, s := range p {
		switch {
		case s.Array:
			fmt.Fprintf(&sb, "[%d]", s.Index)
		default:
			if i > 0 {
				sb.WriteByte('.')
			}
			sb.WriteString(s.Name)
		}
	}
	return sb.String()
}

// Equal says whether both lead to the same field.
func (p Path) Equal(q Path) bool {
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}
