package decode

import (
	"regexp"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// regexFormat takes the named groups of an RE2 expression as fields. A row that does not match is refused. A group that took
// no part in the match is a missing field; one that matched nothing is an empty text.
type regexFormat struct {
	*textDecoder
	pattern *regexp.Regexp
	groups  []int // of each field; -1 for none
	names   []string
}

func (f *regexFormat) decode(b *batch.Batch, cols []batch.Column, bad *badRows) {
	f.begin(b, cols, bad)
	defer f.end()
	for k := range b.Alive() {
		i := f.live(k)
		if row, ok := f.line(i); ok {
			f.row(i, row)
		}
	}
}

func (f *regexFormat) row(i int, row span) {
	m := f.pattern.FindSubmatchIndex(row.text)
	if m == nil {
		if isBlank(row.text) {
			f.bad.refuse(i, CodeEmpty, "the row is empty")
		} else {
			f.bad.refuse(i, CodeMalformed, "the row does not match the pattern")
		}
		return
	}
	for c, g := range f.groups {
		if g < 0 || m[2*g] < 0 {
			f.missing(c, i)
		} else if !f.put(c, i, row.sub(m[2*g], m[2*g+1])) {
			return
		}
	}
	if f.whole {
		f.openObject()
		for g, name := range f.names {
			if name != "" && m[2*g] >= 0 {
				f.member(name, row.text[m[2*g]:m[2*g+1]], f.typeOf(name))
			}
		}
		f.closeObject(i)
	}
}

// compilePattern makes the expression match whole rows, unless parts are enough.
func compilePattern(pattern string, partial bool) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err // told about the pattern as it was written
	}
	if partial {
		return regexp.Compile(pattern)
	}
	return regexp.Compile(`\A(?:` + pattern + `)\z`)
}
