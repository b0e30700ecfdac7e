package decode

import (
	"bytes"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// rfc3164 reads a message from after its priority, if it has one.
func (f *syslogFormat) rfc3164(row span, at int, priority bool) string {
	text := row.text
	n := oldTimeLength(text[at:])
	if n == 0 {
		if !priority {
			return "it begins neither with a priority nor with a time"
		}
		f.parts[syslogMessage] = part{row.sub(at, len(text)), batch.String}
		return ""
	}
	f.parts[syslogTimeField] = part{row.sub(at, at+n), batch.String}
	at += n
	if at == len(text) {
		return ""
	}
	at++ // the space that ended the time
	end := wordEnd(text, at)
	if !isTag(text[at:end]) && end < len(text) {
		f.set(syslogHost, row.sub(at, end))
		at = end + 1
		end = wordEnd(text, at)
	}
	if !isTag(text[at:end]) {
		f.parts[syslogMessage] = part{row.sub(at, len(text)), batch.String}
		return ""
	}
	colon := at + bytes.IndexByte(text[at:end], ':')
	tag := text[at:colon]
	if open := bytes.IndexByte(tag, '['); open >= 0 && tag[len(tag)-1] == ']' {
		f.parts[syslogProcID] = part{row.sub(at+open+1, colon-1), batch.String}
		f.parts[syslogApp] = part{row.sub(at, at+open), batch.String}
	} else {
		f.parts[syslogApp] = part{row.sub(at, colon), batch.String}
	}
	at = colon + 1
	if at < len(text) && text[at] == ' ' {
		at++
	}
	f.parts[syslogMessage] = part{row.sub(at, len(text)), batch.String}
	return ""
}

func wordEnd(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], ' '); n >= 0 {
		return at + n
	}
	return len(text)
}

// isTag says whether a word is the name of a program before a message: "cron:", "sshd[12]:" or "app:text".
func isTag(word []byte) bool {
	colon := bytes.IndexByte(word, ':')
	if colon <= 0 {
		return false
	}
	// An address such as 2001:db8::7 has colons, but is no tag, and neither is a time.
	return colon == len(word)-1 || word[colon-1] == ']' || bytes.IndexByte(word[colon+1:], ':') < 0
}

// oldTimeLength is the length of the time that text begins with: "Jan  5 10:00:00", the same with a year before or after the
// clock or with a fraction, or one of RFC 3339. 0 when there is none. A space or the end must follow.
func oldTimeLength(text []byte) int {
	if len(text) >= 19 && text[0]-'0' <= 9 && text[4] == '-' && text[10] == 'T' {
		return wordEnd(text, 0)
	}
	r := reading{s: text}
	var month, number int
	if !r.name(&month, monthNames[:]) || len(r.s) < 2 || r.s[0] != ' ' {
		return 0
	}
	r.s = r.s[1:]
	day := element{kind: elDay}
	if !r.read(&day) || len(r.s) < 9 || r.s[0] != ' ' {
		return 0
	}
	r.s = r.s[1:]
	if len(r.s) > 5 && r.s[4] == ' ' {
		if !r.digits(&number, 4, 4) {
			return 0
		}
		r.s = r.s[1:]
	}
	if len(r.s) < 8 || r.s[2] != ':' || r.s[5] != ':' {
		return 0
	}
	for _, i := range [...]int{0, 1, 3, 4, 6, 7} {
		if r.s[i]-'0' > 9 {
			return 0
		}
	}
	r.s = r.s[8:]
	r.fraction()
	if len(r.s) > 0 && r.s[0] != ' ' {
		return 0
	}
	return len(text) - len(r.s)
}

// syslogLayouts are the times that are not of RFC 3339.
var syslogLayouts = [...]string{"Jan _2 15:04:05", "Jan _2 2006 15:04:05"}

// syslog reads the time of a message.
func (t *Timestamps) syslog(s []byte) (ms int64, problem string) {
	if len(s) > 0 && s[0]-'0' <= 9 {
		return t.rfc3339(s, true)
	}
	if ms, problem = t.byLayout(t.auto[0], s); problem == "" {
		return ms, ""
	}
	if ms, other := t.byLayout(t.auto[1], s); other == "" {
		return ms, ""
	}
	return 0, problem
}
