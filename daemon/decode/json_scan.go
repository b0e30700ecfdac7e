package decode

import (
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// maxDepth is how deep values may be nested, the same as in encoding/json.
const maxDepth = 10000

// jsonScanner walks one row after the other and writes wanted values into cells. A place of -1 means failure, told by fail.
type jsonScanner struct {
	buf   []byte // what is read; a row may be a part of it
	ref   uint64 // the reference of buf[0]
	b     *batch.Batch
	row   int
	slots []slot
	seen  []uint64 // one bit a column: its field was in this row

	overwrote bool // some cell was written twice, so Present may tell too much
	lone      bool // a string of this row has half a surrogate pair
	failAt    int
	failure   string
	name      []byte // memory for names with escapes
}

func (s *jsonScanner) fail(at int, message string) int {
	s.failAt, s.failure = at, message
	return -1
}

// at is the byte at p, 0 beyond the end.
func (s *jsonScanner) at(p int) byte {
	if p < len(s.buf) {
		return s.buf[p]
	}
	return 0
}

func (s *jsonScanner) space(p int) int {
	for p < len(s.buf) && (s.buf[p] == ' ' || s.buf[p] == '\t' || s.buf[p] == '\n' || s.buf[p] == '\r') {
		p++
	}
	return p
}

// value reads the value at p and writes it to the targets of n, which may be nil.
func (s *jsonScanner) value(p int, n *node, depth int) int {
	if n == nil {
		return s.skip(p, depth)
	}
	start, c := p, s.at(p)
	switch {
	case c == '{' && n.names != nil:
		p = s.object(p+1, n.names, depth+1)
	case c == '[' && n.items != nil:
		p = s.array(p+1, n.items, depth+1)
	case len(n.targets) == 1 && (n.targets[0].form == formValue || n.targets[0].form <= formExact && c == '"'):
		return s.scalar(p, n.targets[0].column, depth)
	default:
		p = s.skip(p, depth)
	}
	if p >= 0 {
		for _, t := range n.targets {
			s.write(start, p, t)
		}
	}
	return p
}

// scalar reads the value at p into a column, in its own kind.
func (s *jsonScanner) scalar(p, column, depth int) int {
	switch c := s.at(p); {
	case c == '"':
		end := stringStop(s.buf, p+1)
		if s.at(end) == '"' {
			s.set(column, batch.String, s.ref+batch.Ref(p+1, end-p-1))
			return end + 1
		}
		if end = s.stringEnd(end); end < 0 {
			return -1
		}
		off := len(s.b.Extra)
		s.b.Extra = appendUnescaped(s.b.Extra, s.buf[p+1:end])
		s.set(column, batch.String, batch.ExtraRef(off, len(s.b.Extra)-off))
		return end + 1
	case c == '-' || c-'0' <= 9:
		q, kind, v := scanNumber(s.buf, p)
		if q < 0 {
			return s.fail(^q, "a digit is missing, or one too many")
		}
		if kind == batch.JSON {
			v = s.ref + batch.Ref(p, q-p)
		}
		s.set(column, kind, v)
		return q
	case c == '{' || c == '[':
		q := s.skip(p, depth)
		if q >= 0 {
			s.set(column, batch.JSON, s.ref+batch.Ref(p, q-p))
		}
		return q
	case c == 'n':
		s.set(column, batch.Null, 0)
	case c == 't':
		s.set(column, batch.Bool, 1)
	case c == 'f':
		s.set(column, batch.Bool, 0)
	}
	return s.literal(p)
}

// write puts the checked value buf[start:end] into one target.
func (s *jsonScanner) write(start, end int, t target) {
	c := s.buf[start]
	switch {
	case t.form == formJSON:
		s.set(t.column, batch.JSON, s.ref+batch.Ref(start, end-start))
	case t.form == formText && c != '"' && c != 'n':
		s.set(t.column, batch.String, s.ref+batch.Ref(start, end-start))
	case c == '{' || c == '[':
		s.set(t.column, batch.JSON, s.ref+batch.Ref(start, end-start))
	default:
		s.scalar(start, t.column, 0)
		if t.form == formExact && s.slots[t.column].kinds[s.row] == batch.Float {
			s.set(t.column, batch.JSON, s.ref+batch.Ref(start, end-start))
		}
	}
}

// set writes a cell. The bit of a column is set the second time when a name stands twice in an object: the last one counts.
func (s *jsonScanner) set(column int, k batch.Kind, v uint64) {
	c := &s.slots[column]
	c.kinds[s.row], c.bits[s.row] = k, v
	c.present |= 1 << k
	w, bit := column>>6, uint64(1)<<(column&63)
	if s.seen[w]&bit != 0 {
		s.overwrote = true
	}
	s.seen[w] |= bit
}

// stringEnd continues a string at p, where stringStop stopped before the quote, to its closing quote.
func (s *jsonScanner) stringEnd(p int) int {
	end, lone, message := escapedString(s.buf, p)
	if end < 0 {
		return s.fail(^end, message)
	}
	s.lone = s.lone || lone
	return end
}

// literal checks true, false or null at p.
func (s *jsonScanner) literal(p int) int {
	for _, word := range [...]string{"null", "true", "false"} {
		if p+len(word) <= len(s.buf) && string(s.buf[p:p+len(word)]) == word {
			return p + len(word)
		}
	}
	if p >= len(s.buf) {
		return s.fail(p, "a value is missing")
	}
	return s.fail(p, "no JSON value begins like this")
}

// object reads an object with wanted names, from after its brace.
func (s *jsonScanner) object(p int, ns *names, depth int) int {
	if depth > maxDepth {
		return s.fail(p, "nested too deep")
	}
	return s.members(p, ns, &ns.head, depth)
}

// members reads an object on from p, where prev was the last text before a value.
func (s *jsonScanner) members(p int, ns *names, prev *link, depth int) int {
	for {
		l := prev.next
		switch {
		case l != nil && l.matches(s.buf, p):
			p += l.size
		case l == nil && prev != &ns.head && s.at(p) == '}':
			return p + 1
		default:
			if l, p = s.member(p, ns, prev); l == nil {
				return p
			}
		}
		n := l.node
		if n != nil && s.twice(n) {
			s.clear(n)
		}
		// A text that was learned without a space before the value also matches where there is one.
		if p = s.value(s.space(p), n, depth); p < 0 {
			return -1
		}
		prev = l
	}
}

// member reads what the forecast does not tell: the text between two values, or the end of the object (a nil link and the
// place after it, -1 for a mistake).
func (s *jsonScanner) member(p int, ns *names, prev *link) (*link, int) {
	if l := prev.spare; l != nil && l.matches(s.buf, p) {
		prev.next, prev.spare = l, prev.next
		return l, p + l.size
	}
	start := p
	p = s.space(p)
	first := prev == &ns.head
	switch {
	case s.at(p) == '}':
		return nil, p + 1
	case first:
	case s.at(p) != ',':
		return nil, s.fail(p, "a comma or the end of the object is missing")
	default:
		p = s.space(p + 1)
	}
	if s.at(p) != '"' {
		return nil, s.fail(p, "a name in quotes is missing")
	}
	from := p + 1
	p = stringStop(s.buf, from)
	var escaped []byte
	nameEnd := p
	if s.at(p) != '"' {
		// The escapes of a name are looked at each time: it may have half a surrogate pair.
		if nameEnd = s.stringEnd(p); nameEnd < 0 {
			return nil, -1
		}
		s.name = appendUnescaped(s.name[:0], s.buf[from:nameEnd])
		escaped = s.name
	}
	if p = s.space(nameEnd + 1); s.at(p) != ':' {
		return nil, s.fail(p, "a colon is missing after the name")
	}
	p = s.space(p + 1)
	if escaped != nil {
		return ns.passing(escaped, p-start), p
	}
	return ns.learn(prev, s.buf, start, from, nameEnd, p), p
}

// twice says whether n, which leads further down, has already been met in this row.
func (s *jsonScanner) twice(n *node) bool {
	if n.names == nil && n.items == nil {
		return false
	}
	for _, c := range n.columns {
		if s.seen[c>>6]&(1<<(c&63)) != 0 {
			return true
		}
	}
	return false
}

// clear forgets what the first of two equal names brought.
func (s *jsonScanner) clear(n *node) {
	for _, c := range n.columns {
		s.seen[c>>6] &^= 1 << (c & 63)
	}
	s.overwrote = true
}

// array reads an array with wanted elements, from after its bracket.
func (s *jsonScanner) array(p int, items []*node, depth int) int {
	if depth > maxDepth {
		return s.fail(p, "nested too deep")
	}
	p = s.space(p)
	if s.at(p) == ']' {
		return p + 1
	}
	for i := 0; ; i++ {
		var n *node
		if i < len(items) {
			n = items[i]
		}
		if p = s.value(p, n, depth); p < 0 {
			return -1
		}
		p = s.space(p)
		switch s.at(p) {
		case ']':
			return p + 1
		case ',':
			p = s.space(p + 1)
		default:
			return s.fail(p, "a comma or the end of the array is missing")
		}
	}
}

// skip checks the value at p and returns the place after it.
func (s *jsonScanner) skip(p, depth int) int {
	switch c := s.at(p); {
	case c == '"':
		end := stringStop(s.buf, p+1)
		if s.at(end) != '"' {
			if end = s.stringEnd(end); end < 0 {
				return -1
			}
		}
		return end + 1
	case c == '-' || c-'0' <= 9:
		return s.skipNumber(p)
	case c == '{':
		return s.skipObject(p+1, depth+1)
	case c == '[':
		return s.array(p+1, nil, depth+1)
	}
	return s.literal(p)
}

func (s *jsonScanner) skipObject(p, depth int) int {
	if depth > maxDepth {
		return s.fail(p, "nested too deep")
	}
	p = s.space(p)
	if s.at(p) == '}' {
		return p + 1
	}
	for {
		if s.at(p) != '"' {
			return s.fail(p, "a name in quotes is missing")
		}
		end := stringStop(s.buf, p+1)
		if s.at(end) != '"' {
			if end = s.stringEnd(end); end < 0 {
				return -1
			}
		}
		if p = s.space(end + 1); s.at(p) != ':' {
			return s.fail(p, "a colon is missing after the name")
		}
		if p = s.skip(s.space(p+1), depth); p < 0 {
			return -1
		}
		p = s.space(p)
		switch s.at(p) {
		case '}':
			return p + 1
		case ',':
			p = s.space(p + 1)
		default:
			return s.fail(p, "a comma or the end of the object is missing")
		}
	}
}

// skipNumber checks a number without making its value.
func (s *jsonScanner) skipNumber(p int) int {
	if s.buf[p] == '-' {
		p++
	}
	first := p
	if p = skipDigits(s.buf, p); p == first || s.buf[first] == '0' && p > first+1 {
		return s.fail(first, "a digit is missing, or one too many")
	}
	if s.at(p) == '.' {
		first = p + 1
		if p = skipDigits(s.buf, first); p == first {
			return s.fail(p, "a digit is missing after the point")
		}
	}
	if s.at(p)|0x20 == 'e' {
		if p, _ = scanExponent(s.buf, p+1); p < 0 {
			return s.fail(^p, "a digit is missing in the exponent")
		}
	}
	return p
}

func skipDigits(buf []byte, p int) int {
	for {
		n := digitsIn(load(buf, p) ^ zeros)
		if n < 8 {
			return p + n
		}
		p += 8
	}
}
