package decode

import (
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// stringStop finds the first quote, backslash or control character at or after p. Beyond the end of buf it finds the end.
func stringStop(buf []byte, p int) int {
	for {
		w := load(buf, p)
		q := w ^ 0x2222222222222222
		s := w ^ 0x5c5c5c5c5c5c5c5c
		// A byte is found by the borrow it causes. Bytes above a found one may be wrong, the lowest never is.
		m := ((q-ones)&^q | (s-ones)&^s | (w-0x2020202020202020)&^w) & highs
		if m != 0 {
			return p + bits.TrailingZeros64(m)>>3
		}
		p += 8
	}
}

// escapedString checks a string with escapes from p, where the first backslash stands, and returns the place of its closing
// quote. lone tells that it has half a surrogate pair, which is not a character. On a mistake the place is ^p.
func escapedString(buf []byte, p int) (end int, lone bool, message string) {
	for {
		if p >= len(buf) {
			return ^p, lone, "the string is not closed"
		}
		switch c := buf[p]; {
		case c == '"':
			return p, lone, ""
		case c < 0x20:
			return ^p, lone, "a control character stands in the string"
		case c != '\\':
			p = stringStop(buf, p)
			continue
		}
		if p+1 >= len(buf) {
			return ^p, lone, "the string is not closed"
		}
		switch buf[p+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			p += 2
		case 'u':
			r := hex4(buf, p+2)
			if r < 0 {
				return ^p, lone, `four hexadecimal digits belong after \u`
			}
			p += 6
			if utf16.IsSurrogate(r) {
				if low := escapedUnit(buf, p); low >= 0 && utf16.DecodeRune(r, low) != utf8.RuneError {
					p += 6
				} else {
					lone = true
				}
			}
		default:
			return ^p, lone, "there is no such escape"
		}
	}
}

// hex4 reads four hexadecimal digits, -1 when there are not four.
func hex4(buf []byte, p int) rune {
	if p+4 > len(buf) {
		return -1
	}
	var r rune
	for _, c := range buf[p : p+4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// escapedUnit reads \uXXXX at p, -1 when there is none.
func escapedUnit(buf []byte, p int) rune {
	if p+6 > len(buf) || buf[p] != '\\' || buf[p+1] != 'u' {
		return -1
	}
	return hex4(buf, p+2)
}

// appendUnescaped appends the characters of a checked string (without its quotes) to dst. Half a surrogate pair becomes
// U+FFFD.
func appendUnescaped(dst, s []byte) []byte {
	for p := 0; p < len(s); {
		stop := p
		for stop < len(s) && s[stop] != '\\' {
			stop++
		}
		dst = append(dst, s[p:stop]...)
		if stop == len(s) {
			break
		}
		p = stop + 2
		switch c := s[stop+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(s, p)
			p += 4
			if utf16.IsSurrogate(r) {
				if full := utf16.DecodeRune(r, escapedUnit(s, p)); full != utf8.RuneError {
					r = full
					p += 6
				} else {
					r = utf8.RuneError
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
