package decode

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// logfmtFormat decodes name=value pairs between white space.
//
// The first equals sign ends the name. A value in double quotes goes to the closing quote, after which white space or the end
// must follow; only there a backslash has a meaning: \" \\ \/ \n \r \t \b \f \uXXXX, and before anything else it stands for
// itself. Any other value goes to the next white space. name= and name="" are the empty text. A name alone is true. Where a
// name stands twice, the last one counts. A row with an open quote, without a name before an equals sign, with a quote in a
// name, or without any equals sign is refused.
type logfmtFormat struct {
	*textDecoder
	lookup map[string][]int // fields by name
	seen   []bool
	twice  bool
	pairs  []logfmtPair   // of the row, while Spec.Whole is made
	places map[string]int // the last place of each name in pairs, where these are many
}

// logfmtPair is one name=value.
type logfmtPair struct {
	name  []byte
	value span
	bare  bool
}

func newLogfmtFormat(text *textDecoder) *logfmtFormat {
	f := &logfmtFormat{textDecoder: text, lookup: map[string][]int{}, seen: make([]bool, len(text.fields)), places: map[string]int{}}
	for i := range text.fields {
		f.lookup[text.fields[i].flat] = append(f.lookup[text.fields[i].flat], i)
	}
	return f
}

func (f *logfmtFormat) overwrote() bool { return f.twice }

func (f *logfmtFormat) decode(b *batch.Batch, cols []batch.Column, bad *badRows) {
	f.begin(b, cols, bad)
	defer f.end()
	f.twice = false
	for k := range b.Alive() {
		i := f.live(k)
		row, ok := f.line(i)
		switch {
		case !ok:
		case isBlank(row.text):
			bad.refuse(i, CodeEmpty, "the row is empty")
		default:
			f.row(i, row)
		}
	}
}

func (f *logfmtFormat) row(i int, row span) {
	clear(f.seen)
	pairs := false
	f.pairs = f.pairs[:0]
	refused, problem := false, ""
	for p := 0; ; {
		var name []byte
		var value span
		var bare bool
		if name, value, bare, p, problem = f.pair(row, p); problem != "" || name == nil {
			break
		}
		pairs = pairs || !bare
		// NB: after a value was refused the rest is still read, because a malformed row is malformed whatever is wanted of it.
		for _, c := range f.lookup[string(name)] {
			if refused {
				break
			}
			f.twice = f.twice || f.seen[c]
			f.seen[c] = true
			refused = !f.putPair(c, i, value, bare)
		}
		if f.whole && !refused {
			f.pairs = append(f.pairs, logfmtPair{name, value, bare})
		}
	}
	switch {
	case problem == "" && !pairs:
		problem = "the row has no name=value"
		fallthrough
	case problem != "":
		if refused {
			f.bad.rows = f.bad.rows[:len(f.bad.rows)-1]
		}
		f.bad.refuse(i, CodeMalformed, problem)
		return
	case refused:
		return
	}
	for c, seen := range f.seen {
		if !seen {
			f.missing(c, i)
		}
	}
	if f.whole {
		f.openObject()
		for k, p := range f.pairs {
			if !f.comesAgain(k) {
				f.wholePair(p.name, p.value, p.bare)
			}
		}
		f.closeObject(i)
	}
}

// fewPairs is up to how many pairs of a row are compared one with another.
const fewPairs = 16

// comesAgain says whether the name of a pair stands once more behind it, so that the pair does not count.
func (f *logfmtFormat) comesAgain(k int) bool {
	if len(f.pairs) <= fewPairs {
		return slices.ContainsFunc(f.pairs[k+1:], func(p logfmtPair) bool { return bytes.Equal(p.name, f.pairs[k].name) })
	}
	if k == 0 {
		clear(f.places)
		for i, p := range f.pairs {
			f.places[string(p.name)] = i
		}
	}
	return f.places[string(f.pairs[k].name)] != k
}

func (f *logfmtFormat) putPair(c, i int, value span, bare bool) bool {
	if bare && f.fields[c].Type != TypeString {
		if t := f.fields[c].Type; t == TypeDynamic || t == TypeExact || t == TypeBool {
			f.cols[c].SetBool(i, true)
			return true
		}
	}
	return f.put(c, i, value)
}

func (f *logfmtFormat) wholePair(name []byte, value span, bare bool) {
	key := string(name)
	if t := f.typeOf(key); bare && (t == TypeDynamic || t == TypeBool) {
		f.memberValue(key, batch.Bool, 1, nil)
		return
	}
	f.member(key, value.text, f.typeOf(key))
}

var trueText = []byte("true")

// pair reads the next pair at or after p. A nil name is the end.
func (f *logfmtFormat) pair(row span, p int) (name []byte, value span, bare bool, next int, problem string) {
	text := row.text
	for p < len(text) && text[p] <= ' ' {
		p++
	}
	if p == len(text) {
		return nil, value, false, p, ""
	}
	start := p
	for p < len(text) && text[p] > ' ' && text[p] != '=' {
		if text[p] == '"' {
			return nil, value, false, p, fmt.Sprintf("a quote stands in a name at byte %d", p+1)
		}
		p++
	}
	name = text[start:p]
	if len(name) == 0 {
		return nil, value, false, p, fmt.Sprintf("a name is missing before the equals sign at byte %d", p+1)
	}
	if p == len(text) || text[p] != '=' {
		// The text of a bare name is the word true, which stands nowhere in the row.
		off := len(f.b.Extra)
		f.b.Extra = append(f.b.Extra, trueText...)
		return name, span{trueText, batch.ExtraRef(off, 0)}, true, p, ""
	}
	p++
	if p < len(text) && text[p] == '"' {
		value, p, problem = f.quotedValue(row, p)
		return name, value, false, p, problem
	}
	start = p
	for p < len(text) && text[p] > ' ' {
		p++
	}
	return name, row.sub(start, p), false, p, ""
}

// quotedValue reads a value from its quote at p.
func (f *logfmtFormat) quotedValue(row span, p int) (value span, next int, problem string) {
	text := row.text
	start, escapes := p+1, false
	for p = start; ; p++ {
		if p >= len(text) {
			return value, p, fmt.Sprintf("the quote at byte %d is not closed", start)
		}
		if text[p] == '\\' {
			escapes = true
			p++
		} else if text[p] == '"' {
			break
		}
	}
	if p+1 < len(text) && text[p+1] > ' ' {
		return value, p, fmt.Sprintf("something follows the closing quote at byte %d", p+1)
	}
	value = row.sub(start, p)
	if escapes {
		off := len(f.b.Extra)
		f.b.Extra = appendBackslashed(f.b.Extra, value.text)
		value = span{f.b.Extra[off:len(f.b.Extra):len(f.b.Extra)], batch.ExtraRef(off, 0)}
	}
	return value, p + 1, ""
}

// appendBackslashed appends s with its escapes resolved; a backslash that begins none stands for itself.
func appendBackslashed(dst, s []byte) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			dst = append(dst, c)
			continue
		}
		switch s[i+1] {
		case '"', '\\', '/':
			dst = append(dst, s[i+1])
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r, n := escapedUnit(s, i), 6
			if utf16.IsSurrogate(r) {
				r, n = utf16.DecodeRune(r, escapedUnit(s, i+6)), 12
			}
			if r < 0 || n == 12 && r == utf8.RuneError {
				dst = append(dst, '\\', 'u') // half a character is none
				break
			}
			dst = utf8.AppendRune(dst, r)
			i += n - 2
		default:
			dst = append(dst, '\\', s[i+1])
		}
		i++
	}
	return dst
}
