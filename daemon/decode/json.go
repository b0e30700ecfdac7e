package decode

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// jsonFormat decodes one JSON value a row.
//
// The rules, in order. White space around the value is skipped. The value is checked as a whole by the grammar of RFC 8259,
// to a depth of 10,000; what encoding/json refuses is refused as malformed, and nothing else is. Where a name stands twice
// in an object, the last one counts, for nested fields too. A field that is not there, or whose way leads through something
// that is not an object or an array, is missing. Integers are exact up to 64 bits, other numbers are the nearest float64;
// numbers that are neither (123456789012345678901234567890, 1e400) keep their text, with kind JSON. So do objects and
// arrays. Half a surrogate pair is not valid text: refused as invalid_utf8, or replaced by U+FFFD.
type jsonFormat struct {
	root    *node
	scan    jsonScanner
	names   []*names // all objects on the way, to keep their forecasts fresh
	all     []uint64 // one bit for each column
	columns int
	simple  bool // the fast way can be tried: an object with names is expected, and 64 columns or fewer
	whole   bool
	replace bool
}

func newJSONFormat(fields []field, whole, replace bool) *jsonFormat {
	f := &jsonFormat{root: new(node), columns: len(fields), whole: whole, replace: replace}
	for i := range fields {
		form := formValue
		switch fields[i].Type {
		case TypeString:
			form = formText
		case TypeExact, TypeTimestamp:
			form = formExact
		case TypeJSON:
			form = formJSON
		}
		f.root.grow(fields[i].Path, i, form)
	}
	f.collect(f.root)
	f.all = make([]uint64, (f.columns+63)/64)
	for i := range f.columns {
		f.all[i>>6] |= 1 << (i & 63)
	}
	f.simple = f.root.names != nil && len(f.root.targets) == 0 && len(f.root.items) == 0 && f.columns <= 64
	f.scan.seen = make([]uint64, len(f.all))
	return f
}

func (f *jsonFormat) collect(n *node) {
	if n == nil {
		return
	}
	if n.names != nil {
		f.names = append(f.names, n.names)
		for _, e := range n.names.entries {
			f.collect(e.node)
		}
	}
	for _, item := range n.items {
		f.collect(item)
	}
}

func (f *jsonFormat) decode(b *batch.Batch, cols []batch.Column, bad *badRows) {
	for _, ns := range f.names {
		ns.forget()
	}
	s := &f.scan
	s.b, s.overwrote = b, false
	s.slots = s.slots[:0]
	for i := range cols {
		s.slots = append(s.slots, slot{cols[i].Kinds, cols[i].Bits, 0})
	}
	ascii := isASCII(b.Data)
	if b.Sel == nil {
		for i := range b.N {
			f.row(b, i, ascii, bad)
		}
	} else {
		for _, i := range b.Sel {
			f.row(b, int(i), ascii, bad)
		}
	}
	for i := range cols {
		cols[i].Present |= s.slots[i].present
	}
	clear(s.slots)
	s.b, s.buf = nil, nil
}

// overwrote says whether Present may tell too much after decode.
func (f *jsonFormat) overwrote() bool { return f.scan.overwrote }

func (f *jsonFormat) row(b *batch.Batch, i int, ascii bool, bad *badRows) {
	s := &f.scan
	s.row = i
	start, end := int(b.Offsets[i]), int(b.Offsets[i+1])-int(b.Trailer)
	if ascii && f.simple && end+readAhead <= len(b.Data) && end > start && b.Data[start] == '{' && b.Data[end] == '\n' {
		s.buf, s.ref = b.Data, 0
		s.seen[0] = 0
		extra := len(b.Extra)
		// A row is accepted when its value ends exactly where the row does, so not a byte beyond it was part of it. All else
		// is read again within its bounds.
		if p := s.fastRow(start+1, end, f.root.names); p == end || p > 0 && p < end && s.space(p) == end {
			if !s.lone {
				f.finish(start, end)
				return
			}
		}
		b.Extra = b.Extra[:extra]
	}
	f.carefully(b, i, start, end, ascii, bad)
}

// carefully decodes a row for which the fast way is not made or has failed.
func (f *jsonFormat) carefully(b *batch.Batch, i, start, end int, ascii bool, bad *badRows) {
	s := &f.scan
	s.buf, s.ref, s.lone = b.Data[:end:end], 0, false
	start += bomLength(b.Data[start:end])
	if !ascii && !validUTF8(b.Data[start:end]) {
		if !f.replace {
			bad.refuse(i, CodeInvalidUTF8, invalidUTF8Message(b.Data[start:end]))
			return
		}
		off := len(b.Extra)
		b.Extra = appendReplaced(b.Extra, b.Data[start:end])
		s.buf, s.ref, start, end = b.Extra[off:len(b.Extra):len(b.Extra)], batch.ExtraRef(off, 0), 0, len(b.Extra)-off
	}
	clear(s.seen)
	first := s.space(start)
	if first == end {
		bad.refuse(i, CodeEmpty, "the row is empty")
		return
	}
	last := s.value(first, f.root, 0)
	if last >= 0 {
		if p := s.space(last); p < end {
			last = s.fail(p, "something follows the JSON value")
		}
	}
	if last < 0 && isUTF16(b.Data[b.Offsets[i]:b.Offsets[i+1]-uint32(b.Trailer)]) {
		bad.refuse(i, CodeInvalidUTF8, utf16Message)
		return
	}
	if last < 0 {
		bad.refuse(i, CodeMalformed, fmt.Sprintf("not valid JSON at byte %d: %s", s.failAt-start+1, s.failure))
		return
	}
	if s.lone && !f.replace {
		s.lone = false
		bad.refuse(i, CodeInvalidUTF8, `a string has half a surrogate pair (\ud800 to \udfff), which is not a character`)
		return
	}
	s.lone = false
	f.finish(first, last)
}

// finish writes the cells of fields that were not in the row, and the whole row where it is wanted.
func (f *jsonFormat) finish(start, end int) {
	s := &f.scan
	for w, all := range f.all {
		if s.seen[w] == all {
			continue
		}
		for c := w << 6; c < min(w<<6+64, f.columns); c++ {
			if s.seen[w]&(1<<(c&63)) == 0 {
				t := &s.slots[c]
				t.kinds[s.row], t.bits[s.row] = batch.Missing, 0
				t.present |= 1 << batch.Missing
			}
		}
	}
	if f.whole {
		t := &s.slots[f.columns]
		t.kinds[s.row], t.bits[s.row] = batch.JSON, s.ref+batch.Ref(start, end-start)
		t.present |= 1 << batch.JSON
	}
}
