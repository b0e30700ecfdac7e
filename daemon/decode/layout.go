package decode

import (
	"fmt"
	"strings"
)

// layout is a compiled Go or strftime layout: what to read, one element after the other.
type layout struct {
	source   string
	elements []element
	has      uint32 // one bit for each elementKind in it
}

type element struct {
	kind elementKind
	text string // of a literal
}

// elementKind is what one element reads.
type elementKind uint8

const (
	elLiteral   elementKind = iota
	elSpace                 // one or more spaces
	elYear                  // four digits
	elYear2                 // two digits: 69 to 99 are 19xx, 00 to 68 are 20xx
	elMonth                 // one or two digits
	elMonth2                // two digits
	elMonthName             // January or Jan
	elDay                   // one or two digits, a space may stand for the first
	elDay2                  // two digits
	elYearDay               // three digits
	elWeekday               // Monday or Mon; read, not compared with the date
	elHour                  // 0 to 23, one or two digits
	elHour2                 // two digits
	elHour12                // 1 to 12, one or two digits
	elHour12Two             // two digits
	elAMPM
	elMinute
	elMinute2
	elSecond
	elSecond2
	elFraction // a point or comma and digits, or nothing
	elDigits   // digits of a fraction without a point before them
	elOffset   // Z, +01, +0100, +01:00
	elZone     // an abbreviation
	elEpoch    // seconds since 1970
)

func (l *layout) add(kind elementKind, text string) {
	l.has |= 1 << kind
	if kind == elLiteral {
		for text != "" {
			run := strings.IndexByte(text, ' ')
			if run != 0 {
				if run < 0 {
					run = len(text)
				}
				l.literal(text[:run])
				text = text[run:]
				continue
			}
			text = strings.TrimLeft(text, " ")
			l.elements = append(l.elements, element{kind: elSpace})
		}
		return
	}
	l.elements = append(l.elements, element{kind: kind})
}

func (l *layout) literal(text string) {
	if n := len(l.elements); n > 0 && l.elements[n-1].kind == elLiteral {
		l.elements[n-1].text += text
		return
	}
	l.elements = append(l.elements, element{elLiteral, text})
}

func (l *layout) hasAny(kinds ...elementKind) bool {
	for _, k := range kinds {
		if l.has&(1<<k) != 0 {
			return true
		}
	}
	return false
}

// digits is how many digits a time of this layout has when it is one whole number, such as 20260131; 0 when it is none, -1 when it has any
// number of them.
func (l *layout) digits() int {
	n := 0
	for i := range l.elements {
		switch l.elements[i].kind {
		case elEpoch:
			return -1
		case elYear:
			n += 4
		case elYearDay:
			n += 3
		case elYear2, elMonth, elMonth2, elDay, elDay2, elHour, elHour2, elHour12, elHour12Two, elMinute, elMinute2, elSecond, elSecond2:
			n += 2
		default:
			return 0
		}
	}
	return n
}

func (l *layout) needsYear() bool { return !l.hasAny(elYear, elYear2, elEpoch) }

// compileLayout reads a layout of either kind. A percent sign before a letter makes it one of strftime.
func compileLayout(s string) (*layout, error) {
	l := &layout{source: s}
	var err error
	if isStrftime(s) {
		err = l.strftime(s)
	} else {
		err = l.golang(s)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case len(l.elements) == 0 || l.has&^(1<<elLiteral|1<<elSpace) == 0:
		return nil, fmt.Errorf("unit %q is none of s, ms, us, ns, rfc3339, syslog, auto, and as a layout it has nothing of a date; "+
			`a Go layout looks like "2006-01-02 15:04:05", one of strftime like "%%Y-%%m-%%d %%H:%%M:%%S"`, s)
	case l.hasAny(elEpoch):
	case !l.hasAny(elYearDay) && !(l.hasAny(elMonth, elMonth2, elMonthName) && l.hasAny(elDay, elDay2)):
		return nil, fmt.Errorf("layout %q has no month and day, so a time of it is on no date; put a date before it with an expression", s)
	case l.hasAny(elYearDay) && l.needsYear():
		return nil, fmt.Errorf("layout %q has a day of the year and no year", s)
	case l.hasAny(elHour12, elHour12Two) && !l.hasAny(elAMPM):
		return nil, fmt.Errorf("layout %q has hours from 1 to 12 and does not say AM or PM", s)
	}
	return l, nil
}

func mustLayout(s string) *layout {
	l, err := compileLayout(s)
	if err != nil {
		panic(err)
	}
	return l
}

func isStrftime(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '%' && (s[i+1]|0x20 >= 'a' && s[i+1]|0x20 <= 'z' || s[i+1] == '-' || s[i+1]-'0' <= 9) {
			return true
		}
	}
	return false
}

// goElements are the elements of Go's layouts; where one begins another, the longer one comes first.
var goElements = [...]struct {
	text string
	kind elementKind
}{
	{"January", elMonthName}, {"Jan", elMonthName}, {"Monday", elWeekday}, {"Mon", elWeekday}, {"MST", elZone},
	{"2006", elYear}, {"_2006", elYear}, {"__2", elYearDay}, {"002", elYearDay}, {"_2", elDay},
	{"-07:00:00", elOffset}, {"-070000", elOffset}, {"-07:00", elOffset}, {"-0700", elOffset}, {"-07", elOffset},
	{"Z07:00:00", elOffset}, {"Z070000", elOffset}, {"Z07:00", elOffset}, {"Z0700", elOffset}, {"Z07", elOffset},
	{"01", elMonth2}, {"02", elDay2}, {"03", elHour12Two}, {"04", elMinute2}, {"05", elSecond2}, {"06", elYear2},
	{"15", elHour2}, {"1", elMonth}, {"2", elDay}, {"3", elHour12}, {"4", elMinute}, {"5", elSecond},
	{"PM", elAMPM}, {"pm", elAMPM},
}

func (l *layout) golang(s string) error {
next:
	for s != "" {
		if n := goFraction(s); n > 0 {
			l.add(elFraction, "")
			s = s[n:]
			continue
		}
		for _, e := range goElements {
			if strings.HasPrefix(s, e.text) {
				if e.text == "_2006" {
					l.add(elLiteral, "_")
				}
				l.add(e.kind, "")
				s = s[len(e.text):]
				continue next
			}
		}
		l.add(elLiteral, s[:1])
		s = s[1:]
	}
	return nil
}

// goFraction is the length of .000 or .999 (or with a comma) at the start of s, 0 when there is none.
func goFraction(s string) int {
	if s[0] != '.' && s[0] != ',' || len(s) < 2 || s[1] != '0' && s[1] != '9' {
		return 0
	}
	n := 2
	for n < len(s) && s[n] == s[1] {
		n++
	}
	if n < len(s) && s[n]-'0' <= 9 {
		return 0
	}
	return n
}

// strftimeElement is what one letter after the percent sign reads.
func strftimeElement(letter byte) (kind elementKind, ok bool) {
	const letters = "YymBbhdejAaHkIlpPMSfLNzZs"
	kinds := [len(letters)]elementKind{elYear, elYear2, elMonth, elMonthName, elMonthName, elMonthName, elDay, elDay, elYearDay,
		elWeekday, elWeekday, elHour, elHour, elHour12, elHour12, elAMPM, elAMPM, elMinute, elSecond, elDigits, elDigits, elDigits,
		elOffset, elZone, elEpoch}
	i := strings.IndexByte(letters, letter)
	if i < 0 {
		return 0, false
	}
	return kinds[i], true
}

// strftimeShort is what a letter stands for that means several elements or a character.
func strftimeShort(letter byte) string {
	switch letter {
	case 'T':
		return "%H:%M:%S"
	case 'R':
		return "%H:%M"
	case 'r':
		return "%I:%M:%S %p"
	case 'D':
		return "%m/%d/%y"
	case 'F':
		return "%Y-%m-%d"
	case 'c':
		return "%a %b %e %H:%M:%S %Y"
	case 'n':
		return "\n"
	case 't':
		return "\t"
	}
	return ""
}

func (l *layout) strftime(s string) error {
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			l.add(elLiteral, s[i:i+1])
			continue
		}
		i++
		// A minus asks not to pad, colons and digits are about width: all of that is read anyway.
		for i < len(s) && (s[i] == '-' || s[i] == ':' || s[i]-'0' <= 9) {
			i++
		}
		if i == len(s) {
			return fmt.Errorf("layout %q ends with a percent sign", s)
		}
		kind, ok := strftimeElement(s[i])
		switch short := strftimeShort(s[i]); {
		case s[i] == '%':
			l.add(elLiteral, "%")
		case short != "" && strings.HasPrefix(short, "%"):
			if err := l.strftime(short); err != nil {
				return err
			}
		case short != "":
			l.add(elLiteral, short)
		case !ok:
			return fmt.Errorf("layout %q: there is no %%%c; known are %%Y %%y %%m %%b %%B %%d %%e %%j %%a %%A %%H %%I %%p %%M %%S %%f %%L %%N %%z %%Z %%s %%T %%D %%F %%R %%r %%c %%%%", s, s[i])
		case kind == elDigits && l.endsWithPoint():
			// %S.%f: the point belongs to the fraction, so that a comma or no fraction at all is fine as well.
			l.elements = l.elements[:len(l.elements)-1]
			l.add(elFraction, "")
		default:
			l.add(kind, "")
		}
	}
	return nil
}

// endsWithPoint says whether the last element is a literal of just a point or a comma, after the seconds.
func (l *layout) endsWithPoint() bool {
	n := len(l.elements)
	if n < 2 || l.elements[n-1].kind != elLiteral || l.elements[n-2].kind != elSecond {
		return false
	}
	return l.elements[n-1].text == "." || l.elements[n-1].text == ","
}
