package config

import "strings"

// maxNesting bounds how deep arrays, inline tables and the parts of dotted keys may stand in each other. Pipelines need five or so. The
// TOML library calls itself for each level and copies the whole path there, so that a file of brackets, which is what a wrong path may
// well name, would take all memory and then the stack.
const maxNesting = 64

// level is an array or an inline table that is open.
type level struct {
	table bool
	parts int // parts of dotted keys around it
}

// tooDeep finds the first bracket or the first part of a dotted key that stands deeper than maxNesting. It takes one pass and no memory
// that grows with the text, and works on text that is not TOML as well.
func tooDeep(data string) (at span, found bool) {
	s := &scanner{text: data, at: len(bomOf(data))}
	var open [maxNesting]level
	depth, parts := 0, 0
	inKey := true // before the = of a pair, or in a header
	for s.at < len(s.text) {
		from := s.at
		switch s.text[s.at] {
		case '"', '\'':
			s.str()
			continue
		case '#':
			s.restOfLine()
			continue
		case '[', '{':
			if depth+parts >= maxNesting {
				return span{from, from + 1}, true
			}
			open[depth] = level{table: s.text[s.at] == '{', parts: parts}
			depth++
			inKey = true // the elements of an array have no dots but those of numbers
		case ']', '}':
			if depth > 0 {
				depth--
				parts = open[depth].parts
			}
		case ',':
			inKey, parts = true, 0
			if depth > 0 {
				parts = open[depth-1].parts
			}
		case '=':
			inKey = false
		case '.':
			if inKey {
				if parts++; depth+parts > maxNesting {
					return span{from, from + 1}, true
				}
			}
		case '\n':
			// An array or a header whose end is missing is a mistake of its own, told by the library at the pair that follows: it must not
			// make those behind it look deep.
			if depth > 0 && !open[depth-1].table && pairFollows(s.text[s.at+1:]) {
				depth, parts = 0, 0
			}
			if depth == 0 {
				inKey, parts = true, 0
			}
		}
		s.at++
	}
	return span{}, false
}

// pairFollows is true when the text begins with a bare key and =.
func pairFollows(text string) bool {
	text = strings.TrimLeft(text, " \t")
	n := 0
	for n < len(text) && isBare(text[n]) {
		n++
	}
	return n > 0 && strings.HasPrefix(strings.TrimLeft(text[n:], " \t"), "=")
}
