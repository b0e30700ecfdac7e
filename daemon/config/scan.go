package config

import (
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// span is a range of bytes in the text of a file.
type span struct{ from, to int }

// spot is where one key and its value stand. A table's value is its header; the key of an array's element is the element itself.
type spot struct{ key, value span }

// positions finds the place of every key of a TOML text. The TOML library checks the text but does not tell where things
// stand, so the same text is walked once more, with the simplest scanner that does for text the library has accepted.
//
// On text the library has refused the scanner goes as far as it can and gives what it found: it never panics and always ends.
type scanner struct {
	text  string
	at    int
	spots map[string]spot
	count map[string]int // arrays of tables: number of elements so far, by path
	twice []duplicate
	open  int // 1 + the number of the duplicate table that is being read, or 0
}

// duplicate is a key that was given before in the same table.
type duplicate struct {
	path          string
	first, second span
	header        bool // it is a table's header
	region        span // all that the second one brings: its value, or the keys of its table
}

const pathSep = "\x00"

// element is the path of element i of the array at path.
func element(path string, i int) string { return join(path, "#"+strconv.Itoa(i)) }

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + pathSep + key
}

func scan(text string) *scanner {
	s := &scanner{text: text, spots: map[string]spot{}, count: map[string]int{}}
	s.at = len(bomOf(text))
	table := ""
	for s.at < len(s.text) {
		s.blank(true)
		if s.at >= len(s.text) {
			break
		}
		before := s.at
		if s.text[s.at] == '[' {
			s.closeSection(before)
			known := len(s.twice)
			table = s.header()
			if len(s.twice) > known {
				s.twice[known].region, s.twice[known].header = span{before, len(s.text)}, true
				s.open, table = known+1, pathSep+"twice"+strconv.Itoa(known)
			}
		} else {
			s.pair(table)
		}
		s.restOfLine()
		if s.at == before {
			s.at++ // refused text: step over what makes no sense
		}
	}
	return s
}

// closeSection ends the region of a table that was given twice where the next header begins.
func (s *scanner) closeSection(at int) {
	if s.open > 0 {
		s.twice[s.open-1].region.to = at
		s.open = 0
	}
}

// header reads [a.b] or [[a.b]] and gives the path that the following keys belong to.
func (s *scanner) header() string {
	from := s.at
	s.at++
	array := s.at < len(s.text) && s.text[s.at] == '['
	if array {
		s.at++
	}
	keys, spans := s.dotted()
	if len(keys) == 0 {
		return ""
	}
	path := ""
	for i, key := range keys {
		path = join(path, key)
		last := i == len(keys)-1
		if last && array {
			n := s.count[path]
			s.count[path] = n + 1
			if n == 0 {
				s.note(path, spans[i], spans[i], false)
			}
			path = element(path, n)
			s.note(path, spans[i], spans[i], false)
			break
		}
		s.note(path, spans[i], spans[i], last)
		if n := s.count[path]; n > 0 {
			path = element(path, n-1)
		}
	}
	for s.at < len(s.text) && (s.text[s.at] == ']' || s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
	if sp, ok := s.spots[path]; ok && sp.value == sp.key {
		sp.value = span{from, s.at}
		s.spots[path] = sp
	}
	return path
}

// pair reads key = value into the table at path.
func (s *scanner) pair(path string) {
	start := s.at
	keys, spans := s.dotted()
	if len(keys) == 0 {
		return
	}
	s.blank(false)
	if s.at >= len(s.text) || s.text[s.at] != '=' {
		return
	}
	s.at++
	s.blank(false)
	for i, key := range keys {
		path = join(path, key)
		if i < len(keys)-1 {
			s.note(path, spans[i], spans[i], false)
		}
	}
	last := spans[len(spans)-1]
	known := len(s.twice)
	value := s.value(path)
	s.note(path, last, value, true)
	if len(s.twice) > known && s.twice[len(s.twice)-1].path == path {
		s.twice = append(s.twice[:known], s.twice[len(s.twice)-1])
		s.twice[known].region = span{start, value.to}
	}
}

// note records a spot; own says that the key itself is given here and not only named on the way to another.
func (s *scanner) note(path string, key, value span, own bool) {
	old, known := s.spots[path]
	switch {
	case !known:
		s.spots[path] = spot{key, value}
	case own:
		// [a.b] before [a] is allowed: then a was only named so far, and its header is the better place.
		if old.key != key && old.value != old.key {
			s.twice = append(s.twice, duplicate{path: path, first: old.key, second: key})
			return
		}
		s.spots[path] = spot{key, value}
	}
}

// dotted reads a.b."c d" and gives the parts.
func (s *scanner) dotted() (keys []string, spans []span) {
	for {
		s.blank(false)
		if s.at >= len(s.text) {
			return keys, spans
		}
		from := s.at
		var key string
		switch c := s.text[s.at]; {
		case c == '"' || c == '\'':
			s.str()
			key = unquote(s.text[from:s.at])
		default:
			for s.at < len(s.text) && isBare(s.text[s.at]) {
				s.at++
			}
			key = s.text[from:s.at]
		}
		if s.at == from {
			return keys, spans
		}
		keys, spans = append(keys, key), append(spans, span{from, s.at})
		s.blank(false)
		if s.at >= len(s.text) || s.text[s.at] != '.' {
			return keys, spans
		}
		s.at++
	}
}

// value steps over a value, noting the keys and elements inside it, and gives its span.
func (s *scanner) value(path string) span {
	from := s.at
	if s.at >= len(s.text) {
		return span{from, from}
	}
	switch s.text[s.at] {
	case '"', '\'':
		s.str()
	case '[':
		s.at++
		for i := 0; s.at < len(s.text); {
			s.blank(true)
			if s.at >= len(s.text) {
				break
			}
			if s.text[s.at] == ']' {
				s.at++
				break
			}
			if s.text[s.at] == ',' {
				s.at++
				continue
			}
			before, p := s.at, element(path, i)
			v := s.value(p)
			s.spots[p] = spot{v, v}
			i++
			if s.at == before {
				return span{from, s.at}
			}
		}
	case '{':
		s.at++
		for s.at < len(s.text) {
			s.blank(true)
			if s.at >= len(s.text) {
				break
			}
			if s.text[s.at] == '}' {
				s.at++
				break
			}
			if s.text[s.at] == ',' {
				s.at++
				continue
			}
			before := s.at
			s.pair(path)
			if s.at == before {
				return span{from, s.at}
			}
		}
	default:
		for s.at < len(s.text) && strings.IndexByte(",]}#\r\n", s.text[s.at]) < 0 {
			s.at++
		}
		to := s.at
		for to > from && (s.text[to-1] == ' ' || s.text[to-1] == '\t') {
			to--
		}
		return span{from, to}
	}
	return span{from, s.at}
}

// str steps over a string of any of the four kinds.
func (s *scanner) str() {
	q := s.text[s.at]
	if strings.HasPrefix(s.text[s.at:], strings.Repeat(string(q), 3)) {
		s.at += 3
		for s.at < len(s.text) {
			switch {
			case q == '"' && s.text[s.at] == '\\':
				s.at += 2
			case s.text[s.at] == q && strings.HasPrefix(s.text[s.at:], strings.Repeat(string(q), 3)):
				s.at += 3
				// Up to two more quotes belong to the content: """a""""" ends in a quoted pair.
				for n := 0; n < 2 && s.at < len(s.text) && s.text[s.at] == q; n++ {
					s.at++
				}
				return
			default:
				s.at++
			}
		}
		s.at = len(s.text)
		return
	}
	s.at++
	for s.at < len(s.text) && s.text[s.at] != q && s.text[s.at] != '\n' {
		if q == '"' && s.text[s.at] == '\\' {
			s.at++
		}
		s.at++
	}
	if s.at < len(s.text) && s.text[s.at] == q {
		s.at++
	}
	s.at = min(s.at, len(s.text))
}

// blank steps over white space, and with lines also over line ends and comments.
func (s *scanner) blank(lines bool) {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == ' ' || c == '\t':
			s.at++
		case lines && (c == '\n' || c == '\r'):
			s.at++
		case lines && c == '#':
			s.restOfLine()
		default:
			return
		}
	}
}

func (s *scanner) restOfLine() {
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		s.at++
	}
}

func isBare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c >= 0x80
}

// unquote gives the value of a quoted key.
func unquote(q string) string {
	if len(q) < 2 {
		return q
	}
	if q[0] == '\'' {
		return q[1 : len(q)-1]
	}
	if strings.IndexByte(q, '\\') < 0 {
		return q[1 : len(q)-1]
	}
	var v struct{ K string }
	if _, err := toml.Decode("K = "+q, &v); err == nil { // its escapes are not Go's
		return v.K
	}
	return q[1 : len(q)-1]
}

func bomOf(text string) string {
	const bom = "\xef\xbb\xbf"
	if strings.HasPrefix(text, bom) {
		return bom
	}
	return ""
}
