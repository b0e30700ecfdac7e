package decode

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// csvFormat decodes one record of RFC 4180 a row. A row may hold line feeds inside quotes, if the source cuts records and not
// lines; a record that was cut at such a line feed is refused, since its quote is not closed.
//
// A value is quoted when its first character is the quote. Inside, two quotes are one, and everything else stands for itself.
// After the closing quote the delimiter or the end must follow, and a value that does not begin with a quote must not hold
// one: otherwise the row is refused, or, with Spec.Lazy, such a quote is a character like others. White space belongs to the
// values. Where the header names a column twice, the last one counts.
type csvFormat struct {
	tableRow
	delimiter byte
	quote     byte // 0: no quoting
	lazy      bool

	header  bool // the batches bring the header
	spec    *Spec
	tables  map[string]*table // by header; partitions may differ
	notices []Notice          // about headers, and not asked for yet
}

// maxTables bounds the memory for headers; with more different ones than that they are read again and again.
const maxTables = 256

func (f *csvFormat) decode(b *batch.Batch, cols []batch.Column, bad *badRows) {
	f.begin(b, cols, bad)
	defer f.end()
	if f.header && !f.takeHeader(b) {
		return
	}
	for k := range b.Alive() {
		i := f.live(k)
		row, ok := f.line(i)
		switch {
		case !ok:
		case isBlank(row.text):
			bad.refuse(i, CodeEmpty, "the row is empty")
		default:
			f.start(i)
			if problem := f.split(row, f.add); problem != "" {
				if f.dead {
					// A malformed row is malformed, whatever was wanted of it and did not fit its type.
					bad.rows = bad.rows[:len(bad.rows)-1]
				}
				bad.refuse(i, CodeMalformed, problem)
				continue
			}
			f.finish()
		}
	}
}

// split calls add with each value of a record, and goes on when add no longer wants them: whether a row is well formed does
// not depend on who wants what. It returns what is wrong with the record.
func (f *csvFormat) split(row span, add func(span) bool) (problem string) {
	text := row.text
	if f.quote == 0 || bytes.IndexByte(text, f.quote) < 0 {
		f.splitPlain(row, add)
		return ""
	}
	for at := 0; ; {
		var v span
		next := 0
		if at < len(text) && text[at] == f.quote {
			if v, next, problem = f.quoted(row, at); problem != "" {
				return problem
			}
		} else {
			next = len(text)
			if n := bytes.IndexByte(text[at:], f.delimiter); n >= 0 {
				next = at + n
			}
			if n := bytes.IndexByte(text[at:next], f.quote); n >= 0 && !f.lazy {
				return fmt.Sprintf("a quote stands inside an unquoted value at byte %d", at+n+1)
			}
			v = row.sub(at, next)
		}
		if !f.dead {
			add(v)
		}
		if next == len(text) {
			return ""
		}
		at = next + 1
	}
}

// splitPlain is split for a record without quotes.
func (f *csvFormat) splitPlain(row span, add func(span) bool) {
	text := row.text
	for at := 0; ; {
		n := bytes.IndexByte(text[at:], f.delimiter)
		if n < 0 {
			add(row.sub(at, len(text)))
			return
		}
		if !add(row.sub(at, at+n)) {
			return
		}
		at += n + 1
	}
}

// quoted reads a quoted value from its quote at p, and returns where the delimiter after it stands, or the end.
func (f *csvFormat) quoted(row span, p int) (v span, next int, problem string) {
	text := row.text
	start := p + 1
	double := false
	for at := start; ; {
		n := bytes.IndexByte(text[at:], f.quote)
		if n < 0 {
			return v, 0, fmt.Sprintf("the quote that opens at byte %d is never closed, up to the end of the input or within max_record; each line behind it is read on its own (quoted line breaks need a source that cuts csv records)", p+1)
		}
		at += n
		switch {
		case at+1 == len(text) || text[at+1] == f.delimiter:
			v = row.sub(start, at)
			if double {
				v = f.undouble(v)
			}
			return v, at + 1, ""
		case text[at+1] == f.quote:
			double = true
			at += 2
		case f.lazy:
			at++
		default:
			return v, 0, fmt.Sprintf("something follows the closing quote at byte %d", at+1)
		}
	}
}

// undouble copies a value to Extra with one quote for two.
func (f *csvFormat) undouble(v span) span {
	b := f.b
	off := len(b.Extra)
	for i := 0; i < len(v.text); i++ {
		c := v.text[i]
		b.Extra = append(b.Extra, c)
		if c == f.quote && i+1 < len(v.text) && v.text[i+1] == f.quote {
			i++
		}
	}
	return span{b.Extra[off:len(b.Extra):len(b.Extra)], batch.ExtraRef(off, 0)}
}

// takeHeader makes the header of the batch the table to decode by. It is false when all rows have been refused for it.
func (f *csvFormat) takeHeader(b *batch.Batch) bool {
	if len(b.Header) == 0 {
		f.refuseAll(CodeNoHeader, "the header row of this partition is not known; name the columns with fields, or read it from its start")
		return false
	}
	t := f.tables[string(b.Header)]
	if t == nil {
		var names []string
		text := trimHeader(b.Header)
		if problem := f.headerProblem(text); problem != "" {
			f.tell(Notice{Code: NoticeBadHeader, Message: problem, Severe: true})
			f.refuseAll(CodeInvalidUTF8, problem)
			return false
		}
		if !f.ascii && !validUTF8(text) {
			text = appendReplaced(nil, text)
		}
		if f.quote == 0 || bytes.IndexByte(text, f.quote) < 0 {
			if n := bytes.IndexByte(text, '\r'); n >= 0 {
				f.tell(Notice{Code: NoticeCarriageReturns, Message: fmt.Sprintf("the header row has a carriage return at byte %d: if lines end with carriage returns alone, "+
					"all of the input is one row; turn them into line feeds first (tr '\\r' '\\n')", n+1)})
			}
		}
		f.dead = false
		f.split(span{text: text}, func(v span) bool {
			names = append(names, strings.TrimSpace(string(v.text)))
			return true
		})
		t = newTable(names, f.fields, f.spec)
		if len(f.tables) >= maxTables {
			clear(f.tables)
		}
		f.tables[string(b.Header)] = t
		if len(t.absent) > 0 {
			f.tell(Notice{Code: NoticeNoColumn, Message: f.absentMessage(t), Severe: true})
		}
		for c, hidden := range t.shadowed {
			if hidden && names[c] != "" {
				f.tell(Notice{Code: NoticeTwice, Message: fmt.Sprintf("the header names %q twice; the last one counts, and the values of the other are left out", names[c])})
				break
			}
		}
	}
	f.table = t
	if len(t.absent) > 0 {
		f.refuseAll(CodeNoColumn, f.absentMessage(t))
		return false
	}
	return true
}

// headerProblem says why the names in a header cannot be read.
func (f *csvFormat) headerProblem(header []byte) string {
	switch {
	case isUTF16(header):
		return "the header row cannot be read: " + utf16Message
	case !f.replace && !validUTF8(header):
		return "the header row cannot be read: " + invalidUTF8Message(header)
	}
	return ""
}

func (f *csvFormat) tell(n Notice) { f.notices = append(f.notices, n) }

func (f *csvFormat) absentMessage(t *table) string {
	return fmt.Sprintf("the header has no column %q; it has %s", f.fields[t.absent[0]].flat, strings.Join(t.names, ", "))
}

func (f *csvFormat) refuseAll(code, message string) {
	for k := range f.b.Alive() {
		f.bad.refuse(f.live(k), code, message)
	}
}

func (f *csvFormat) notice() (Notice, bool) {
	if len(f.notices) > 0 {
		n := f.notices[0]
		f.notices = f.notices[1:]
		return n, true
	}
	return f.tableRow.notice()
}
