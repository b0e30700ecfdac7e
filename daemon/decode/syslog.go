package decode

import (
	"bytes"
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

const (
	syslogTime = "time"
	syslogData = "data"
)

// The fields of a syslog message, in the order of syslogNames.
const (
	syslogPriority = iota
	syslogFacility
	syslogSeverity
	syslogVersion
	syslogTimeField
	syslogHost
	syslogApp
	syslogProcID
	syslogMsgID
	syslogDataField
	syslogMessage
	syslogFields
)

func syslogNames() []string {
	return []string{"priority", "facility", "severity", "version", syslogTime, "host", "app", "procid", "msgid", syslogData, "message"}
}

// syslogFormat decodes messages of RFC 5424 and of RFC 3164, told apart by the version after the priority.
//
// In RFC 5424 a dash is null, and the structured data is the field data, an object of objects: data["id@1"].name leads to one
// value. RFC 3164 is read as it really comes: the priority may be missing (as in files), the time may be one of RFC 3339 or
// have a year, the host may be missing before a tag that ends with a colon, "app[12]:" gives app and procid. What has a
// priority and no time after it is all message. Times without a year get one by the rules of TimeOptions.Year.
//
// priority, facility, severity and version are integers, time is a timestamp, the others are texts.
type syslogFormat struct {
	*textDecoder
	fieldOf []int
	numbers [syslogFields]int // of the first four; -1 where there is none
	parts   [syslogFields]part
	params  []param
	object  part // the structured data as JSON, made when it is wanted
}

// param is one value of the structured data.
type param struct {
	id, name []byte // name is nil for the element itself
	value    span
}

func newSyslogFormat(text *textDecoder) *syslogFormat {
	f := &syslogFormat{textDecoder: text}
	for i := range text.fields {
		for n, name := range syslogNames() {
			if name == text.fields[i].Path[0].Name {
				f.fieldOf = append(f.fieldOf, n)
			}
		}
	}
	return f
}

func (f *syslogFormat) decode(b *batch.Batch, cols []batch.Column, bad *badRows) {
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
			f.parts, f.params = [syslogFields]part{}, f.params[:0]
			f.numbers = [syslogFields]int{-1, -1, -1, -1}
			if problem := f.split(row); problem != "" {
				bad.refuse(i, CodeMalformed, "not a syslog message: "+problem)
				continue
			}
			f.write(i)
		}
	}
}

// split finds the parts of a message.
func (f *syslogFormat) split(row span) (problem string) {
	at, problem := f.priority(row.text)
	if problem != "" {
		return problem
	}
	rest := row.text[at:]
	if at > 0 && len(rest) > 2 && rest[0] >= '1' && rest[0] <= '9' {
		n := skipDigits(rest, 0)
		if n <= 3 && n < len(rest) && rest[n] == ' ' {
			_, v := digitRun(rest[:n], 0, 0)
			f.numbers[syslogVersion] = int(v)
			return f.rfc5424(row, at+n+1)
		}
	}
	return f.rfc3164(row, at, at > 0)
}

// priority reads <PRI> and returns the place after it, 0 when the row does not begin with one.
func (f *syslogFormat) priority(text []byte) (at int, problem string) {
	if text[0] != '<' {
		return 0, ""
	}
	n := skipDigits(text, 1) - 1
	if n < 1 || n > 3 || 1+n >= len(text) || text[1+n] != '>' || n > 1 && text[1] == '0' {
		return 0, "the priority in angle brackets is not a number from 0 to 191"
	}
	_, v := digitRun(text[1:1+n], 0, 0)
	if v > 191 {
		return 0, "the priority in angle brackets is not a number from 0 to 191"
	}
	f.numbers[syslogPriority], f.numbers[syslogFacility], f.numbers[syslogSeverity] = int(v), int(v>>3), int(v&7)
	return n + 2, ""
}

func (f *syslogFormat) set(n int, v span) {
	f.parts[n] = part{v, batch.String}
	if len(v.text) == 1 && v.text[0] == '-' {
		f.parts[n].kind = batch.Null
	}
}

// rfc5424 reads a message from its time on.
func (f *syslogFormat) rfc5424(row span, at int) string {
	text := row.text
	for _, n := range [...]int{syslogTimeField, syslogHost, syslogApp, syslogProcID, syslogMsgID} {
		end := bytes.IndexByte(text[at:], ' ')
		if end <= 0 {
			return fmt.Sprintf("the field %s is missing", syslogNames()[n])
		}
		f.set(n, row.sub(at, at+end))
		at += end + 1
	}
	next, problem := f.structuredData(row, at)
	if problem != "" {
		return problem
	}
	if next < len(text) {
		if text[next] != ' ' {
			return fmt.Sprintf("a space is missing after the structured data at byte %d", next+1)
		}
		message := row.sub(next+1, len(text))
		f.parts[syslogMessage] = part{message.sub(bomLength(message.text), len(message.text)), batch.String}
	}
	return ""
}

// structuredData reads [id name="value" ...]... at p and returns the place after it.
func (f *syslogFormat) structuredData(row span, p int) (next int, problem string) {
	text := row.text
	if p < len(text) && text[p] == '-' {
		f.parts[syslogDataField].kind = batch.Null
		return p + 1, ""
	}
	if p >= len(text) || text[p] != '[' {
		return 0, "the structured data is missing"
	}
	f.parts[syslogDataField].kind = batch.JSON
	for p < len(text) && text[p] == '[' {
		p++
		start := p
		for p < len(text) && sdName(text[p]) {
			p++
		}
		id := text[start:p]
		if len(id) == 0 {
			return 0, fmt.Sprintf("an element of the structured data has no name at byte %d", p+1)
		}
		f.params = append(f.params, param{id: id})
		for p < len(text) && text[p] == ' ' {
			if p, problem = f.param(row, p+1, id); problem != "" {
				return 0, problem
			}
		}
		if p >= len(text) || text[p] != ']' {
			return 0, "an element of the structured data is not closed"
		}
		p++
	}
	return p, ""
}

// param reads name="value" at p.
func (f *syslogFormat) param(row span, p int, id []byte) (next int, problem string) {
	text := row.text
	start := p
	for p < len(text) && sdName(text[p]) {
		p++
	}
	name := text[start:p]
	if len(name) == 0 || p+1 >= len(text) || text[p] != '=' || text[p+1] != '"' {
		return 0, fmt.Sprintf(`name="value" is expected in the structured data at byte %d`, start+1)
	}
	start = p + 2
	escapes := false
	for p = start; ; p++ {
		if p >= len(text) {
			return 0, "a quote in the structured data is not closed"
		}
		if text[p] == '\\' {
			escapes = true
			p++
		} else if text[p] == '"' {
			break
		}
	}
	v := row.sub(start, p)
	if escapes {
		b := f.b
		off := len(b.Extra)
		for i := 0; i < len(v.text); i++ {
			// Only these three are escapes; before anything else a backslash is one.
			if v.text[i] == '\\' && i+1 < len(v.text) && (v.text[i+1] == '"' || v.text[i+1] == '\\' || v.text[i+1] == ']') {
				i++
			}
			b.Extra = append(b.Extra, v.text[i])
		}
		v = span{b.Extra[off:len(b.Extra):len(b.Extra)], batch.ExtraRef(off, 0)}
	}
	f.params = append(f.params, param{id, name, v})
	return p + 1, ""
}

// sdName says whether c may stand in a name of structured data.
func sdName(c byte) bool { return c > ' ' && c < 0x7f && c != '=' && c != ']' && c != '"' }
