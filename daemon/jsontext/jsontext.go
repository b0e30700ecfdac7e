// Package jsontext appends JSON: the one place that says how strings and numbers look in what Tidemark writes. It is pure and
// allocates only to grow dst.
package jsontext

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// plain tells which bytes stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// AppendString appends s as a JSON string (RFC 8259, section 7). What is not UTF-8 becomes U+FFFD, byte by byte, so that the text
// is always valid JSON.
func AppendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			for i+8 <= len(s) && plain8(binary.LittleEndian.Uint64(s[i:])) {
				i += 8
			}
			continue
		}
		if c >= utf8.RuneSelf {
			if r, n := utf8.DecodeRune(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// plain8 tells whether eight bytes all stand for themselves; it may say no where they do, never yes where they do not. A byte's top bit is
// set in the sum below if the byte is not ASCII, a control character, a quote or a backslash.
func plain8(v uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, slash := v^'"'*ones, v^'\\'*ones
	return (v|(v-0x20*ones)|(quote-ones)|(slash-ones))&tops == 0
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	if c >= utf8.RuneSelf {
		return append(dst, "\ufffd"...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendFloat appends the shortest decimal that reads back as f, in the form of encoding/json. NaN and the infinities, for which
// JSON has no numbers, become the names NaN, Infinity and -Infinity without quotes: see Finite.
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if dst, ok := appendShort(dst, f); ok {
		return dst
	}
	if abs := math.Abs(f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	at := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); n-at >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 is e-9
		dst = dst[:n-1]
	}
	return dst
}

// Finite tells whether JSON has a number for f. Where it has not, the name that AppendFloat writes needs quotes.
func Finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// AppendNumber appends f as a JSON value: a number, or the quoted name of what is none.
func AppendNumber(dst []byte, f float64) []byte {
	if Finite(f) {
		return AppendFloat(dst, f)
	}
	return append(AppendFloat(append(dst, '"'), f), '"')
}
