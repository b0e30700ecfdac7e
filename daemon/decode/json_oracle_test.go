package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// oracleFields are what the oracle compares: plain, nested, through arrays, and a name with a dot.
var oracleFields = []Field{
	{Name: "k"}, {Name: "ts"}, {Name: "a.b"}, {Name: "a[1].b"}, {Name: `["a.b"]`}, {Name: "a"}, {Name: "longer_than_eight"},
	{Name: "ts2", Path: Path{{Name: "ts"}}, Type: TypeExact}, {Name: "k2", Path: Path{{Name: "k"}}, Type: TypeString},
}

// nestedFields lead the fast way down into objects.
var nestedFields = []Field{{Name: "k"}, {Name: "a.b"}, {Name: "a.a.b"}, {Name: "a.k", Type: TypeExact}, {Name: "ts"}}

// oracle decodes a row with encoding/json and says what the cells should show, or which code refuses it.
func oracle(row []byte, fields []Field, replace bool) (cells []string, code string) {
	row = row[bomLength(row):]
	if !replace && !utf8.Valid(row) {
		return nil, CodeInvalidUTF8
	}
	if len(bytes.Trim(row, " \t\r\n")) == 0 {
		return nil, CodeEmpty
	}
	if !json.Valid(row) {
		return nil, CodeMalformed
	}
	if !replace && hasLoneSurrogate(row) {
		return nil, CodeInvalidUTF8
	}
	for _, f := range fields {
		p := f.Path
		if p == nil {
			p, _ = ParsePath(f.Name)
		}
		cells = append(cells, oracleCell(oracleFind(string(row), p), f.Type))
	}
	return cells, ""
}

// oracleFind returns the text of the value at p, "" where there is none.
func oracleFind(text string, p Path) string {
	for _, s := range p {
		if s.Array {
			var items []json.RawMessage
			if json.Unmarshal([]byte(text), &items) != nil || s.Index >= len(items) {
				return ""
			}
			text = string(items[s.Index])
			continue
		}
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &object) != nil {
			return ""
		}
		v, ok := object[s.Name]
		if !ok {
			return ""
		}
		text = string(v)
	}
	return text
}

func oracleCell(text string, typ Type) string {
	text = strings.Trim(text, " \t\r\n")
	if text == "" {
		return "-"
	}
	switch text[0] {
	case '"':
		var s string
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			panic(err)
		}
		return fmt.Sprintf("%q", s)
	case 'n':
		return "null"
	}
	if typ == TypeString {
		return fmt.Sprintf("%q", fixUTF8(text))
	}
	switch text[0] {
	case 't', 'f':
		return text
	case '{', '[':
		return "json " + fixUTF8(text)
	}
	if !strings.ContainsAny(text, ".eE") && text != "-0" {
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return text
		}
		if _, err := strconv.ParseUint(text, 10, 64); err == nil {
			return "uint " + text
		}
		return "json " + text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f == 0 && strings.ContainsAny(strings.FieldsFunc(text, func(r rune) bool { return r == 'e' || r == 'E' })[0], "123456789") || typ == TypeExact {
		return "json " + text
	}
	if f == 0 && math.Signbit(f) {
		return "float -0"
	}
	return "float " + strconv.FormatFloat(f, 'g', -1, 64)
}

func fixUTF8(s string) string { return string(appendReplaced(nil, []byte(s))) }

// hasLoneSurrogate looks for half a surrogate pair among the escapes of valid JSON, the slow way.
func hasLoneSurrogate(row []byte) bool {
	for i := 0; i < len(row); i++ {
		if row[i] != '\\' {
			continue
		}
		if row[i+1] != 'u' {
			i++
			continue
		}
		v, _ := strconv.ParseUint(string(row[i+2:i+6]), 16, 16)
		i += 5
		if v < 0xd800 || v > 0xdfff {
			continue
		}
		if v >= 0xdc00 || i+6 >= len(row) || row[i+1] != '\\' || row[i+2] != 'u' {
			return true
		}
		low, err := strconv.ParseUint(string(row[i+3:i+7]), 16, 16)
		if err != nil || low < 0xdc00 || low > 0xdfff {
			return true
		}
		i += 6
	}
	return false
}

// batchOf makes a batch of rows whose ends are line feeds, or nothing.
func batchOf(rows [][]byte, trailer uint8) *batch.Batch {
	b := batch.Get()
	b.N, b.Trailer = len(rows), trailer
	b.Offsets = append(b.Offsets, 0)
	for _, r := range rows {
		b.Data = append(b.Data, r...)
		if trailer == 1 {
			b.Data = append(b.Data, '\n')
		}
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	}
	return b
}

// compareJSON decodes rows in one batch and compares each with the oracle.
func compareJSON(t require.TestingT, d *Decoder, fields []Field, rows [][]byte, replace bool, trailer uint8) {
	b := batchOf(rows, trailer)
	defer b.Release()
	before := bytes.Clone(b.Data)
	d.Decode(b)
	require.Equal(t, before, b.Data, "rows are never changed")
	bad := map[uint32]batch.BadRow{}
	for i, r := range b.Bad {
		if i > 0 {
			require.Greater(t, r.Row, b.Bad[i-1].Row)
		}
		bad[r.Row] = r
	}
	require.Equal(t, b.N, b.Alive()+len(bad))
	for i, row := range rows {
		want, code := oracle(row, fields, replace)
		got := bad[uint32(i)]
		require.Equal(t, code, got.Code, "row %q: %s", row, got.Message)
		if code != "" {
			continue
		}
		for c := range fields {
			require.Equal(t, want[c], show(b, &b.Columns[c], i), "field %s of row %q", fields[c].Name, row)
			if k := b.Columns[c].Kinds[i]; k == batch.String || k == batch.JSON {
				require.True(t, utf8.Valid(b.Text(b.Columns[c].Bits[i])))
			}
		}
	}
	for c := range b.Columns {
		present := uint16(0)
		for k := range b.Alive() {
			i := uint32(k)
			if b.Sel != nil {
				i = b.Sel[k]
			}
			present |= 1 << b.Columns[c].Kinds[i]
		}
		if b.Alive() > 0 {
			require.Equal(t, present, b.Columns[c].Present, "Present of %s", b.Columns[c].Name)
		}
	}
}

// genJSON draws a value as text, with names that collide, odd spaces and all kinds of numbers.
func genJSON(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", "", "", " ", "\t", "  ", "\r\n"})
	text := rapid.SampledFrom([]string{`""`, `"a"`, `"user-00005191"`, `"eight888"`, `"a\"b"`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\udc00x"`,
		`"é"`, `"\\"`, `"x\ny"`, "\"\xff\"", "\"tab\t\"", `"0123456789abcdef0123456789"`, `"\/\b\f\n\r\t"`})
	number := rapid.SampledFrom([]string{"0", "-0", "1", "-1", "12345678", "1700000000000", "9007199254740993", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "123456789012345678901234567890", "1.5", "88.04", "0.1",
		"-0.0", "1e3", "1E-7", "1e400", "1e-400", "0.30000000000000004", "123456789.123456789", "1.7976931348623157e308", "5e-324", "99999999.9999999", "100000000.5",
		"01", "1.", ".5", "-", "1e", "+1", "1700000000.123", "12345678901234567890.5", "0e0", "00"})
	kinds := []int{0, 0, 1, 1, 2}
	if depth > 0 {
		kinds = append(kinds, 3, 3, 4)
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case 0:
		return text.Draw(t, "text")
	case 1:
		return number.Draw(t, "number")
	case 2:
		return rapid.SampledFrom([]string{"true", "false", "null", "nul", "True"}).Draw(t, "literal")
	case 3:
		names := rapid.SampledFrom([]string{`"k"`, `"ts"`, `"a"`, `"b"`, `"a.b"`, `"other"`, `"longer_than_eight"`, `"longer_than_eighT"`, `"k"`, `"é"`, `""`, `"\ud800"`})
		var sb strings.Builder
		sb.WriteString("{" + space.Draw(t, "space"))
		for i := range rapid.IntRange(0, 6).Draw(t, "members") {
			if i > 0 {
				sb.WriteString("," + space.Draw(t, "space"))
			}
			sb.WriteString(names.Draw(t, "name") + space.Draw(t, "space") + ":" + space.Draw(t, "space") + genJSON(t, depth-1) + space.Draw(t, "space"))
		}
		return sb.String() + "}"
	}
	var sb strings.Builder
	sb.WriteString("[" + space.Draw(t, "space"))
	for i := range rapid.IntRange(0, 3).Draw(t, "items") {
		if i > 0 {
			sb.WriteString(",")
		}
		sb.WriteString(space.Draw(t, "space") + genJSON(t, depth-1))
	}
	return sb.String() + "]"
}

// TestJSONLikeTheStandardLibrary is the differential test: whatever the rows and however they lie in batches, the same rows
// are accepted as by encoding/json, with the same values.
func TestJSONLikeTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replace := rapid.Bool().Draw(t, "replace")
		fields := rapid.SampledFrom([][]Field{oracleFields, nestedFields}).Draw(t, "fields")
		spec := Spec{Format: FormatJSON, Fields: fields}
		if replace {
			spec.InvalidUTF8 = InvalidReplace
		}
		d, errs := New(spec)
		require.NoError(t, errs.Err())
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			var rows [][]byte
			for range rapid.IntRange(1, 6).Draw(t, "rows") {
				row := []byte(genJSON(t, 3))
				if rapid.IntRange(0, 3).Draw(t, "object") > 0 {
					row = []byte(`{"k":` + genJSON(t, 0) + `,"ts":` + genJSON(t, 0) + `,"a":` + genJSON(t, 2) + `,"longer_than_eight":` + genJSON(t, 1) + `}`)
				}
				if rapid.IntRange(0, 2).Draw(t, "damage") == 0 && len(row) > 0 {
					i := rapid.IntRange(0, len(row)-1).Draw(t, "at")
					switch rapid.IntRange(0, 2).Draw(t, "how") {
					case 0:
						row = append(row[:i], row[i+1:]...)
					case 1:
						row[i] = rapid.SampledFrom([]byte("{}[],:\"\\ 0x\xff\n")).Draw(t, "byte")
					case 2:
						row = row[:i]
					}
				}
				rows = append(rows, row)
			}
			compareJSON(t, d, fields, rows, replace, uint8(rapid.IntRange(0, 1).Draw(t, "trailer")))
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"k":"a","ts":1}`, `{"a":{"b":1},"a":[1,{"b":2}]}`, `[1,2]`, `{"k":"\ud83d\ude00"}`, "{\"k\":\"\xff\"}", `{"k":1e400}`, "",
		`{"ts":18446744073709551615.0}`, `{"longer_than_eight":"x"}`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(s), []byte(s), true)
	}
	d1, _ := New(Spec{Format: FormatJSON, Fields: oracleFields})
	d3, _ := New(Spec{Format: FormatJSON, Fields: nestedFields})
	d2, _ := New(Spec{Format: FormatJSON, Fields: oracleFields, InvalidUTF8: InvalidReplace})
	f.Fuzz(func(t *testing.T, a, b []byte, lineFeed bool) {
		trailer := uint8(0)
		if lineFeed {
			trailer = 1
		}
		// The good rows around teach the forecast and give the fast way something to run into.
		good := []byte(`{"k":"a","ts":1700000000000,"a":{"b":1.5},"longer_than_eight":"x"}`)
		rows := [][]byte{good, a, b, a, good, good}
		compareJSON(t, d1, oracleFields, rows, false, trailer)
		compareJSON(t, d2, oracleFields, rows, true, trailer)
		compareJSON(t, d3, nestedFields, rows, false, trailer)
	})
}
