package decode

import (
	"bytes"
	"net/netip"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

const (
	clfTime   = "time"
	clfLayout = "02/Jan/2006:15:04:05 -0700"
)

// The fields of an access log line, in the order of clfNames.
const (
	clfRemote = iota
	clfIdent
	clfUser
	clfTimeField
	clfRequest
	clfMethod
	clfPath
	clfProtocol
	clfStatus
	clfBytes
	clfReferer
	clfAgent
	clfExtra
	clfFields
)

func clfNames() []string {
	return []string{"remote", "ident", "user", clfTime, "request", "method", "path", "protocol", "status", "bytes", "referer", "agent", "extra"}
}

// clfFormat decodes access logs as nginx and Apache write them: common,
//
//	remote ident user [time] "request" status bytes
//
// or combined, with "referer" "agent" after that; what follows still is the field extra. A user may hold spaces. Lines that begin with the virtual
// host are refused. Inside quotes
// \" and \\ are a quote and a backslash; other escapes, such as \x16, stay as the server wrote them.
//
// A dash is null. The request is split into method, path and protocol where it looks like one ("GET /a b HTTP/1.1"); these are
// null where it does not. time is a timestamp; all others are texts unless they are declared otherwise.
type clfFormat struct {
	*textDecoder
	fieldOf []int // which part each wanted field is
	parts   [clfFields]part
}

// part is one field of a row.
type part struct {
	span
	kind batch.Kind // Missing, Null or String
}

func newCLFFormat(text *textDecoder) *clfFormat {
	f := &clfFormat{textDecoder: text}
	for i := range text.fields {
		at := -1
		for n, name := range clfNames() {
			if name == text.fields[i].flat {
				at = n
			}
		}
		f.fieldOf = append(f.fieldOf, at)
	}
	return f
}

func (f *clfFormat) decode(b *batch.Batch, cols []batch.Column, bad *badRows) {
	f.begin(b, cols, bad)
	defer f.end()
	for k := range b.Alive() {
		i := f.live(k)
		row, ok := f.line(i)
		switch {
		case !ok:
		case isBlank(row.text):
			bad.refuse(i, CodeEmpty, "the row is empty")
		default:
			f.parts = [clfFields]part{}
			if problem := f.split(row); problem != "" {
				bad.refuse(i, CodeMalformed, "not a line of an access log: "+problem)
				continue
			}
			f.write(i)
		}
	}
}

func (f *clfFormat) write(i int) {
	for c, n := range f.fieldOf {
		switch p := &f.parts[n]; p.kind {
		case batch.Missing:
			f.missing(c, i)
		case batch.Null:
			f.cols[c].SetNull(i)
		default:
			if !f.put(c, i, p.span) {
				return
			}
		}
	}
	if !f.whole {
		return
	}
	f.openObject()
	for n, name := range clfNames() {
		switch p := &f.parts[n]; p.kind {
		case batch.Missing:
		case batch.Null:
			f.memberValue(name, batch.Null, 0, nil)
		default:
			f.member(name, p.text, f.typeOf(name))
		}
	}
	f.closeObject(i)
}

// split finds the parts of a line, and says what is wrong with it.
func (f *clfFormat) split(row span) string {
	text := row.text
	at := 0
	for _, n := range [...]int{clfRemote, clfIdent} {
		end := bytes.IndexByte(text[at:], ' ')
		if end <= 0 {
			return "it does not begin with address, identity and user"
		}
		f.set(n, row.sub(at, at+end))
		at += end + 1
	}
	open := bytes.Index(text[at:], []byte(" ["))
	if open <= 0 {
		return "the time in brackets is missing"
	}
	f.set(clfUser, row.sub(at, at+open))
	// Apache's vhost_combined has one more field before the others. Taken for a plain line all would stand a field too far.
	if bytes.IndexByte(text[at:at+open], ' ') >= 0 {
		if _, err := netip.ParseAddr(string(f.parts[clfIdent].text)); err == nil {
			return "the address is its second field; for a line that begins with the virtual host use format = \"regex\""
		}
	}
	at += open + 2
	end := bytes.Index(text[at:], []byte("] "))
	if end < 0 {
		return "the bracket after the time is not closed"
	}
	f.set(clfTimeField, row.sub(at, at+end))
	at += end + 2
	next, problem := f.quoted(clfRequest, row, at)
	if problem != "" {
		return problem
	}
	f.splitRequest()
	for _, n := range [...]int{clfStatus, clfBytes} {
		if next >= len(text) || text[next] != ' ' {
			return "status and size are missing after the request"
		}
		at = next + 1
		next = len(text)
		if end := bytes.IndexByte(text[at:], ' '); end >= 0 {
			next = at + end
		}
		if !isNumberOrDash(text[at:next]) {
			return "status and size are not numbers"
		}
		f.set(n, row.sub(at, next))
	}
	for _, n := range [...]int{clfReferer, clfAgent} {
		if next+1 >= len(text) || text[next+1] != '"' {
			break
		}
		if next, problem = f.quoted(n, row, next+1); problem != "" {
			return problem
		}
	}
	if next < len(text) {
		if text[next] != ' ' {
			return "something follows a closing quote"
		}
		if rest := row.sub(next+1, len(text)); len(rest.text) > 0 {
			f.set(clfExtra, rest)
		}
	}
	return ""
}

func (f *clfFormat) set(n int, v span) {
	f.parts[n] = part{v, batch.String}
	if len(v.text) == 1 && v.text[0] == '-' {
		f.parts[n].kind = batch.Null
	}
}

// quoted reads a part from its quote at p and returns the place after its closing quote.
func (f *clfFormat) quoted(n int, row span, p int) (next int, problem string) {
	text := row.text
	if p >= len(text) || text[p] != '"' {
		return 0, "a quote is missing"
	}
	start, escapes := p+1, false
	for p = start; ; p++ {
		if p >= len(text) {
			return 0, "a quote is not closed"
		}
		if text[p] == '\\' {
			escapes = true
			p++
		} else if text[p] == '"' {
			break
		}
	}
	v := row.sub(start, p)
	f.set(n, v)
	if escapes {
		b := f.b
		off := len(b.Extra)
		for i := 0; i < len(v.text); i++ {
			if v.text[i] == '\\' && i+1 < len(v.text) && (v.text[i+1] == '"' || v.text[i+1] == '\\') {
				i++
			}
			b.Extra = append(b.Extra, v.text[i])
		}
		f.parts[n].span = span{b.Extra[off:len(b.Extra):len(b.Extra)], batch.ExtraRef(off, 0)}
	}
	return p + 1, ""
}

// splitRequest finds method, path and protocol in a request that has all three.
func (f *clfFormat) splitRequest() {
	r := f.parts[clfRequest]
	for _, n := range [...]int{clfMethod, clfPath, clfProtocol} {
		f.parts[n].kind = batch.Null
	}
	first, last := bytes.IndexByte(r.text, ' '), bytes.LastIndexByte(r.text, ' ')
	if r.kind != batch.String || first <= 0 || last <= first+1 || !bytes.HasPrefix(r.text[last+1:], []byte("HTTP/")) {
		return
	}
	f.parts[clfMethod] = part{r.sub(0, first), batch.String}
	f.parts[clfPath] = part{r.sub(first+1, last), batch.String}
	f.parts[clfProtocol] = part{r.sub(last+1, len(r.text)), batch.String}
}

func isNumberOrDash(text []byte) bool {
	if len(text) == 1 && text[0] == '-' {
		return true
	}
	for _, c := range text {
		if c-'0' > 9 {
			return false
		}
	}
	return len(text) > 0
}
