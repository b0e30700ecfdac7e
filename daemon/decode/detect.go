package decode

import (
	"fmt"
	"strings"
)

// autoLayouts are what unit auto tries for texts that are neither numbers nor RFC 3339. No text follows two of them, so their
// order means nothing. (An element for a zone's abbreviation reads +0100, too.) Dates such as 01/02/2006, which people read in two ways, are not among them.
var autoLayouts = [...]string{
	"02/Jan/2006:15:04:05 -0700",
	"2006/01/02 15:04:05",
	"2006-01-02",
	"Mon, 2 Jan 2006 15:04:05 MST",
	"Mon Jan _2 15:04:05 2006",
	"Mon Jan _2 15:04:05 MST 2006",
	"Jan _2 15:04:05",
	"Jan _2 2006 15:04:05",
	"2006-01-02 15:04:05 MST",
	"20060102T150405Z0700",
	"20060102T150405",
}

// detect reads a text by whatever it looks like.
func (t *Timestamps) detect(s []byte) (ms int64, problem string) {
	if len(s) > 0 && (s[0]-'0' <= 9 || s[0] == '-' || s[0] == '+') {
		if ms, problem = t.number(s); problem == "" || problem == problemRange {
			return ms, problem
		}
	}
	if ms, problem = t.rfc3339(s, false); problem == "" {
		t.detected(30, UnitRFC3339, s, false)
		return ms, ""
	}
	if ms, problem = t.rfc3339(s, true); problem == "" {
		t.detected(29, UnitRFC3339, s, true)
		return ms, ""
	}
	told := problem
	for i, l := range t.auto {
		if ms, problem = t.byLayout(l, s); problem == "" {
			t.detected(8+uint(i), l.source, s, false)
			return ms, ""
		}
		if told == problemForm && !strings.HasPrefix(problem, "it does not follow") {
			told = problem // nearer to what was meant
		}
	}
	if told == problemForm {
		told = problemAuto
	}
	return 0, told
}

const problemAuto = `it is neither a number nor a time in a form that cannot be confused; say which form it has, as in unit = "%d/%m/%Y %H:%M"`

// NoticeDetected begins the codes of what unit auto has decided, followed by _ and the unit.
const NoticeDetected = "detected"

// detected notes, once for each form, how unit auto read a text. naive says that it is RFC 3339 without an offset, which the unit of that name
// refuses unless a zone is named.
func (t *Timestamps) detected(bit uint, unit string, s []byte, naive bool) {
	if t.noticed&(1<<bit) != 0 {
		return
	}
	t.noticed |= 1 << bit
	code, zone := NoticeDetected+"_"+unit, ""
	if naive {
		code += "_naive"
		if !t.zone.named {
			zone = fmt.Sprintf(" and timezone = %q", t.zone.location)
		}
	}
	t.notices = append(t.notices, Notice{Code: code, Message: fmt.Sprintf("unit = \"auto\": texts like %s are read as %q; write unit = %q%s to be sure", quoteValue(s), unit, unit, zone)})
}
