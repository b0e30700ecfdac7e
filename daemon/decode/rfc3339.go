package decode

import "bytes"

const problemForm = "it does not look like 2006-01-02T15:04:05Z"

// rfc3339 reads 2006-01-02T15:04:05.999Z and its variants: T, t or a space in the middle, a fraction of any length after a
// point or a comma, Z, z, +01:00, +0100 or +01 at the end. A time without an offset is read in t's zone if naive allows it.
func (t *Timestamps) rfc3339(s []byte, naive bool) (ms int64, problem string) {
	if len(s) < 19 || s[4] != '-' || s[7] != '-' || s[10]|0x20 != 't' && s[10] != ' ' || s[13] != ':' || s[16] != ':' {
		return 0, problemForm
	}
	var c clockTime
	var ok [3]bool
	c.hour, ok[0] = twoDigits(s[11], s[12])
	c.minute, ok[1] = twoDigits(s[14], s[15])
	c.second, ok[2] = twoDigits(s[17], s[18])
	if !ok[0] || !ok[1] || !ok[2] {
		return 0, problemForm
	}
	if problem := c.checkClock(); problem != "" {
		return 0, problem
	}
	days := t.lastDays
	if days == noDays || !bytes.Equal(s[:10], t.lastDate[:]) {
		century, ok0 := twoDigits(s[0], s[1])
		year, ok1 := twoDigits(s[2], s[3])
		month, ok2 := twoDigits(s[5], s[6])
		day, ok3 := twoDigits(s[8], s[9])
		if !ok0 || !ok1 || !ok2 || !ok3 {
			return 0, problemForm
		}
		c.year, c.month, c.day = century*100+year, month, day
		if problem := c.check(); problem != "" {
			return 0, problem
		}
		days = daysFromCivil(c.year, month, day)
		t.lastDays = days
		copy(t.lastDate[:], s)
	}
	seconds := days*86400 + int64(c.hour*3600+c.minute*60+c.second)
	p := 19
	if p < len(s) && (s[p] == '.' || s[p] == ',') {
		var n int
		if c.millis, n = parseFraction(s[p+1:]); n == 0 {
			return 0, "a digit is missing in the fraction"
		}
		p += 1 + n
	}
	offset := 0
	switch rest := s[p:]; {
	case len(rest) == 1 && rest[0]|0x20 == 'z':
	case len(rest) == 0:
		if !naive {
			return 0, "it has no offset such as Z or +01:00; name the zone with timezone"
		}
		offset = int(t.zone.offset(seconds))
	default:
		var ok bool
		if offset, ok = parseOffset(viewString(rest)); !ok {
			return 0, "its end is not an offset such as Z or +01:00"
		}
	}
	seconds -= int64(offset)
	if c.second == 60 && !leapSecond(seconds) {
		return 0, problemLeap
	}
	return seconds*1000 + int64(c.millis), ""
}

func twoDigits(a, b byte) (int, bool) {
	a, b = a-'0', b-'0'
	return int(a)*10 + int(b), a <= 9 && b <= 9
}

// parseFraction reads digits as a fraction of a second and returns whole milliseconds and the number of digits.
func parseFraction(s []byte) (millis, n int) {
	scale := 100
	for n < len(s) && s[n]-'0' <= 9 {
		millis += int(s[n]-'0') * scale
		scale /= 10
		n++
	}
	return millis, n
}

// parseOffset reads Z, +01, +0100, +01:00 or +01:00:00 as seconds east of UTC.
func parseOffset(s string) (seconds int, ok bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	seconds, n := scanOffset(viewBytes(s))
	return seconds, n > 0 && n == len(s)
}

// scanOffset reads a signed offset at the start of s and says how long it is, 0 when there is none.
func scanOffset(s []byte) (seconds, n int) {
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, 0
	}
	hours, ok := twoDigits(s[1], s[2])
	if !ok || hours > 23 {
		return 0, 0
	}
	seconds, n = hours*3600, 3
	colon := n < len(s) && s[n] == ':'
	for _, unit := range [...]int{60, 1} {
		p := n
		if colon {
			if p >= len(s) || s[p] != ':' {
				break
			}
			p++
		}
		if p+2 > len(s) {
			break
		}
		v, ok := twoDigits(s[p], s[p+1])
		if !ok {
			break
		}
		if v > 59 {
			return 0, 0
		}
		seconds, n = seconds+v*unit, p+2
	}
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, n
}
