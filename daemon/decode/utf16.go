package decode

import "bytes"

const utf16Message = "it looks like UTF-16, where every other byte is 0; convert the input to UTF-8 first (iconv -f UTF-16 -t UTF-8)"

// utf16Marks are the byte order marks of UTF-16. Neither byte occurs in UTF-8.
var utf16Marks = [...][]byte{{0xff, 0xfe}, {0xfe, 0xff}}

// hasUTF16Mark reports whether b begins with a byte order mark of UTF-16.
func hasUTF16Mark(b []byte) bool {
	return bytes.HasPrefix(b, utf16Marks[0]) || bytes.HasPrefix(b, utf16Marks[1])
}

// isUTF16 reports whether a row, which has been cut at the byte of a line feed, is a line of UTF-16: every other byte of its beginning is 0,
// and none beside them. So it knows the letters of Latin scripts, and what every format is made of: digits, quotes, commas. It depends on the
// row alone.
func isUTF16(row []byte) bool {
	least := 4 // two characters
	if hasUTF16Mark(row) {
		row, least = row[2:], 2
	}
	row = row[:min(len(row), 16)]
	if len(row) < least {
		return false
	}
	for i, c := range row {
		if (c == 0) != (row[0] == 0) != (i%2 == 1) {
			return false
		}
	}
	return true
}
