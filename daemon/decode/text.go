package decode

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// isASCII looks at the whole arena of a batch at once, which is cheaper than at each row, and mostly spares looking further.
func isASCII(b []byte) bool {
	var acc uint64
	for len(b) >= 32 {
		acc |= binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
			binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		b = b[32:]
	}
	for _, c := range b {
		acc |= uint64(c)
	}
	return acc&highs == 0
}

func validUTF8(b []byte) bool { return utf8.Valid(b) }

// appendReplaced appends b with each byte that is not part of valid UTF-8 replaced by U+FFFD.
func appendReplaced(dst, b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n <= 1 {
			dst = append(dst, "\uFFFD"...)
		} else {
			dst = append(dst, b[:n]...)
		}
		b = b[n:]
	}
	return dst
}

// invalidUTF8Message says where b is wrong first.
func invalidUTF8Message(b []byte) string {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			if hasUTF16Mark(b) {
				return "it begins with a byte order mark of UTF-16; convert the input to UTF-8 first (iconv -f UTF-16 -t UTF-8)"
			}
			return fmt.Sprintf("byte %d (0x%02x) is not valid UTF-8; invalid_utf8 = \"replace\" puts U+FFFD there", i+1, b[i])
		}
		i += n
	}
	return "not valid UTF-8"
}

// bomLength is 3 when b begins with a byte order mark, else 0.
func bomLength(b []byte) int {
	if len(b) >= 3 && b[0] == 0xef && b[1] == 0xbb && b[2] == 0xbf {
		return 3
	}
	return 0
}

// maxQuoted bounds how much of a value a message repeats.
const maxQuoted = 64

// quoteValue shows a value in a message: valid text, in quotes, cut when it is long.
func quoteValue(b []byte) string {
	if len(b) <= maxQuoted {
		return fmt.Sprintf("%q", b)
	}
	n := maxQuoted
	for n > maxQuoted-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return fmt.Sprintf("%q… (%d bytes)", b[:n], len(b))
}
