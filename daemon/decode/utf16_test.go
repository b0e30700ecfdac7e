package decode

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// utf16Lines is a text in UTF-16, cut at the bytes of line feeds as a source does that knows nothing of it.
func utf16Lines(order binary.AppendByteOrder, mark bool, text string) []string {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xfeff)
	}
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return strings.SplitAfter(string(b), "\n")
}

// Input in UTF-16 is told as that: it is neither taken for data with strange bytes in it, nor told byte by byte.
func TestUTF16IsToldAsWhatItIs(t *testing.T) {
	specs := map[string]Spec{
		"json":      {Format: FormatJSON, Fields: fields("a")},
		"csv":       {Format: FormatCSV, Fields: fields("a"), Declared: declared(t, "a", "b")},
		"replaced":  {Format: FormatCSV, Fields: fields("a"), Declared: declared(t, "a", "b"), InvalidUTF8: "replace"},
		"delimited": {Format: FormatDelimited, Fields: fields("a"), Declared: declared(t, "a", "b")},
		"logfmt":    {Format: FormatLogfmt, Fields: fields("a")},
		"clf":       {Format: FormatCLF, Fields: fields("remote")},
		"syslog":    {Format: FormatSyslog, Fields: fields("message")},
	}
	text := "{\"a\":1} a,b\r\n{\"a\":2} c,d\r\n"
	for name, spec := range specs {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, mark := range []bool{false, true} {
				rows := utf16Lines(order, mark, text)[:2]
				d, errs := New(spec)
				require.NoError(t, errs.Err())
				b := lines(strings.TrimSuffix(rows[0], "\n"), strings.TrimSuffix(rows[1], "\n"))
				d.Decode(b)
				require.Empty(t, b.Sel, name)
				require.Len(t, b.Bad, 2, name)
				for _, bad := range b.Bad {
					require.Equal(t, CodeInvalidUTF8, bad.Code, name)
					require.Contains(t, bad.Message, "UTF-16", name)
				}
			}
		}
	}
}

func TestWhatIsUTF16(t *testing.T) {
	for row, want := range map[string]bool{
		"a\x00b\x00":                 true,
		"\x00a\x00b":                 true,
		"\xff\xfea\x00":              true,
		"\xfe\xff\x00a":              true,
		"\x00{\x00\"\x00a\x00\"\x00": true,  // the rest of a character that was cut at its line feed
		"a\x00":                      false, // a text that ends with NUL
		"a\x00b":                     false,
		"\x00\x00\x00\x00":           false,
		"abcd":                       false,
		"a\x00\x00b":                 false,
		"":                           false,
		"\xff\xfe":                   false,
	} {
		require.Equal(t, want, isUTF16([]byte(row)), "%q", row)
	}
}

// A header that is no text names no columns, so nothing can be decoded by it; where wrong bytes are replaced, they are in names, too.
func TestAHeaderThatIsNoText(t *testing.T) {
	decode := func(policy, header string) (rows []string, notices []Notice) {
		d, errs := New(Spec{Format: FormatCSV, Header: true, Whole: true, InvalidUTF8: policy})
		require.NoError(t, errs.Err())
		b := lines("1,2")
		b.Header = []byte(header)
		d.Decode(b)
		for _, bad := range b.Bad {
			rows = append(rows, bad.Code+": "+bad.Message)
		}
		if len(b.Bad) == 0 {
			rows = append(rows, show(b, &b.Columns[0], 0))
		}
		return rows, d.Notices()
	}
	rows, notices := decode("reject", "r\xe9sum\xe9,b")
	require.Equal(t, []string{`invalid_utf8: the header row cannot be read: byte 2 (0xe9) is not valid UTF-8; invalid_utf8 = "replace" puts U+FFFD there`}, rows)
	require.Len(t, notices, 1)
	require.True(t, notices[0].Severe)

	rows, notices = decode("replace", "r\xe9sum\xe9,b")
	require.Equal(t, []string{`json {"r` + "\uFFFD" + `sum` + "\uFFFD" + `":"1","b":"2"}`}, rows)
	require.Empty(t, notices)

	rows, _ = decode("replace", "\xff\xfea\x00,\x00b\x00")
	require.Contains(t, rows[0], "UTF-16")
}

// What a header makes of the columns without anybody having asked for it is told.
func TestNoticesAboutHeaders(t *testing.T) {
	for header, want := range map[string]string{
		"a,b":                "",
		"a,b\r":              "",
		"a,a":                `the header names "a" twice; the last one counts, and the values of the other are left out`,
		"a,b\r1,2\r3,4\r":    `the header row has a carriage return at byte 4: if lines end with carriage returns alone, all of the input is one row; turn them into line feeds first (tr '\r' '\n')`,
		"\"a\rb\",\"c\r\"\r": "", // in quotes it belongs to the name
	} {
		d, errs := New(Spec{Format: FormatCSV, Header: true, Whole: true})
		require.NoError(t, errs.Err())
		b := lines("1,2")
		b.Header = []byte(header)
		d.Decode(b)
		var said []string
		for _, n := range d.Notices() {
			if n.Code != NoticeExtraColumns {
				said = append(said, n.Message)
			}
		}
		require.Equal(t, want, strings.Join(said, "; "), "%q", header)
	}
}
