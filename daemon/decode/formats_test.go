package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// rowCase is one row and what its cells show, or the code and message that refuse it.
type rowCase struct {
	row  string
	want string
}

// checkRows decodes each row alone and compares "cell | cell | …" or "code: message".
func checkRows(t *testing.T, spec Spec, cases []rowCase) {
	t.Helper()
	for _, c := range cases {
		d, errs := New(spec)
		require.NoError(t, errs.Err())
		d.SetReference(1700000000000)
		b := lines(c.row)
		if spec.Header {
			b.Header = []byte("a,b")
		}
		d.Decode(b)
		got := ""
		if len(b.Bad) > 0 {
			require.Empty(t, b.Sel)
			got = b.Bad[0].Code + ": " + b.Bad[0].Message
		} else {
			var cells []string
			for i := range b.Columns {
				cells = append(cells, show(b, &b.Columns[i], 0))
			}
			got = strings.Join(cells, " | ")
		}
		require.Equal(t, c.want, got, "row %q", c.row)
	}
}

func TestCSVRows(t *testing.T) {
	spec := Spec{Format: FormatCSV, Fields: fields("a", "b"), Declared: declared(t, "a", "b")}
	checkRows(t, spec, []rowCase{
		{`1,2`, `"1" | "2"`},
		{`"1","2"` + "\r", `"1" | "2"`},
		{`,`, `"" | ""`},
		{`"",""`, `"" | ""`},
		{` a , b `, `" a " | " b "`},
		{`"x, y","say ""hi"""`, `"x, y" | "say \"hi\""`},
		{"\"two\nlines\",b", `"two\nlines" | "b"`},
		{`""""""` + `,"` + `"`, `"\"\"" | ""`},
		{`1`, `"1" | -`},
		{`1,2,3`, `"1" | "2"`},
		{"\xef\xbb\xbf1,2", `"1" | "2"`},
		{`"1" ,2`, "malformed: something follows the closing quote at byte 3"},
		{`1,2"3`, "malformed: a quote stands inside an unquoted value at byte 4"},
		{`1,"2`, neverClosed(3)},
		{`1,2,"3`, neverClosed(5)},
		{``, "empty: the row is empty"},
		{" \t\r", "empty: the row is empty"},
		{"\xff,2", `invalid_utf8: byte 1 (0xff) is not valid UTF-8; invalid_utf8 = "replace" puts U+FFFD there`},
	})
	spec.Lazy = true
	checkRows(t, spec, []rowCase{
		{`1,2"3`, `"1" | "2\"3"`},
		{`"1" ,2"`, `"1\" ,2" | -`},
		{`"1" ,2`, neverClosed(1)},
		{`"1" x",2`, `"1\" x" | "2"`},
	})
	spec.Quote, spec.Delimiter = "'", ";"
	checkRows(t, spec, []rowCase{{`'a;''b''';"c"`, `"a;'b'" | "\"c\""`}})
	spec.Quote = "none"
	checkRows(t, spec, []rowCase{{`'a;b`, `"'a" | "b"`}})

	spec = Spec{Format: FormatCSV, Fields: fields("b"), Declared: declared(t, "a", "b"), Short: "reject", Extra: "reject"}
	checkRows(t, spec, []rowCase{
		{`1`, "columns: the row has 1 column, 2 are named"},
		{`1,2,3`, "columns: the row has 3 columns, 2 are named"},
		{`1,2`, `"2"`},
	})
	spec = Spec{Format: FormatCSV, Header: true, Fields: fields("b", "a")}
	checkRows(t, spec, []rowCase{{`1,2`, `"2" | "1"`}})
}

func TestDeclaredTypesOfTexts(t *testing.T) {
	spec := Spec{Format: FormatCSV, Fields: fields("i", "u", "f", "b", "n", "j", "t"), Delimiter: ";", Quote: "none",
		Declared: declared(t, "i:int", "u:uint", "f:float", "b:bool", "n:number", "j:json", "t:timestamp:02.01.2006 15:04")}
	checkRows(t, spec, []rowCase{
		{`1;2;3.5;true;4;{"a":[1]};01.07.2023 12:00`, `1 | 2 | float 3.5 | true | 4 | json {"a":[1]} | timestamp 1688212800000`},
		{`;;;;;;`, "null | null | null | null | null | null | null"},
		{` 7 ; 8 ; 9 ; 0 ; 1.0 ; "x" ; 01.07.2023 12:00 `, `7 | 8 | float 9 | false | float 1 | json "x" | timestamp 1688212800000`},
		{`-9223372036854775808;18446744073709551615;1e3;F;-0;null;01.07.2023 12:00`,
			`-9223372036854775808 | uint 18446744073709551615 | float 1000 | false | float -0 | json null | timestamp 1688212800000`},
		{`+007;0010;.5;1;5.;1;01.07.2023 12:00`, `7 | 10 | float 0.5 | true | float 5 | json 1 | timestamp 1688212800000`},
		{`5.0;5e2;1;1;1;1;01.07.2023 12:00`, `5 | 500 | float 1 | true | 1 | json 1 | timestamp 1688212800000`},
		{`5.5;1;1;1;1;1;`, `type: field "i": "5.5" is not an int`},
		{`9223372036854775808;1;1;1;1;1;`, `type: field "i": "9223372036854775808" is not an int`},
		{`1;-1;1;1;1;1;`, `type: field "u": "-1" is not a uint`},
		{`1;1;9007199254740993;1;1;1;`, `type: field "f": "9007199254740993" is not a float`},
		{`1;1;NaN;1;1;1;`, `1 | 1 | float NaN | true | 1 | json 1 | null`},
		{`1;1;-Infinity;1;1;1;`, `1 | 1 | float -Inf | true | 1 | json 1 | null`},
		{`1;1;+inf;1;1;1;`, `1 | 1 | float +Inf | true | 1 | json 1 | null`},
		{`1;1;-nan;1;1;1;`, `type: field "f": "-nan" is not a float`},
		{`1;1;infinite;1;1;1;`, `type: field "f": "infinite" is not a float`},
		{`1;1;-;1;1;1;`, `type: field "f": "-" is not a float`},
		{`NaN;1;1;1;1;1;`, `type: field "i": "NaN" is not an int`},
		{`1;1;1;1;NaN;1;`, `type: field "n": "NaN" is not a number`},
		{`1;1;1e999;1;1;1;`, `type: field "f": "1e999" is not a float`},
		{`1;1;0x10;1;1;1;`, `type: field "f": "0x10" is not a float`},
		{`1;1;1;yes;1;1;`, `type: field "b": "yes" is not a bool`},
		{`1;1;1;1;one;1;`, `type: field "n": "one" is not a number`},
		{`1;1;1;1;1;{;`, `type: field "j": "{" is not a json`},
		{`1;1;1;1;1;1;yesterday`, `type: field "t": "yesterday" is not a time of unit "02.01.2006 15:04": it does not follow the layout at character 1`},
	})
}

func TestDeclaredTypesOfJSON(t *testing.T) {
	spec := Spec{Format: FormatJSON, Declared: declared(t, "i:int", "u:uint", "f:float", "b:bool", "s:string", "j:json", "t:timestamp:ms", "n:number"), Fields: fields("i", "u", "f", "b", "s", "j", "t", "n")}
	checkRows(t, spec, []rowCase{
		{`{}`, "- | - | - | - | - | - | - | -"},
		{`{"i":null,"u":null,"f":null,"b":null,"s":null,"j":null,"t":null,"n":null}`, "null | null | null | null | null | json null | null | null"},
		{`{"i":5.0,"u":5,"f":5,"b":true,"s":1.50,"j":"x","t":1700000000123.9,"n":"12"}`, `5 | 5 | float 5 | true | "1.50" | json "x" | timestamp 1700000000123 | 12`},
		{`{"i":"5","u":"5","f":"5.5","b":"true","s":{"a": 1},"j":[1, 2],"t":"1700000000123","n":1e3}`,
			`5 | 5 | float 5.5 | true | "{\"a\": 1}" | json [1, 2] | timestamp 1700000000123 | float 1000`},
		{`{"i":5.5}`, `type: field "i": "5.5" is not an int`},
		{`{"i":18446744073709551615}`, `type: field "i": "18446744073709551615" is not an int`},
		{`{"i":[1]}`, `type: field "i": "[1]" is not an int`},
		{`{"i":true}`, `type: field "i": "true" is not an int`},
		{`{"u":-1}`, `type: field "u": "-1" is not a uint`},
		{`{"f":1e400}`, `type: field "f": "1e400" is not a float`},
		{`{"f":9007199254740993}`, `type: field "f": "9007199254740993" is not a float`},
		{`{"b":1}`, `type: field "b": "1" is not a bool`},
		{`{"t":"soon"}`, `type: field "t": "soon" is not a time of unit "ms": it is not a number`},
		{`{"f":"NaN"}`, "- | - | float NaN | - | - | - | - | -"},
		{`{"n":"x","i":"y"}`, `type: field "i": "y" is not an int`},
	})
}

// An integer is a time of a layout that has digits alone; of any other unit than a number's it is none.
func TestIntegersAsLayouts(t *testing.T) {
	spec := Spec{Format: FormatJSON, Declared: declared(t, "day:timestamp:%Y%m%d", "t:timestamp"), Fields: fields("day", "t")}
	checkRows(t, spec, []rowCase{
		{`{"day":20231231}`, "timestamp 1703980800000 | -"},
		{`{"day":20231301}`, `type: field "day": "20231301" is not a time of unit "%Y%m%d": there is no such month`},
		{`{"day":2023123}`, `type: field "day": "2023123" is not a time of unit "%Y%m%d": it has not the 8 digits of the layout`},
		{`{"day":-20231231}`, `type: field "day": "-20231231" is not a time of unit "%Y%m%d": it has not the 8 digits of the layout`},
		{`{"t":20231231}`, `type: field "t": "20231231" is not a time of unit "rfc3339": it is a number, not a text`},
	})
}

func TestInference(t *testing.T) {
	spec := Spec{Format: FormatDelimited, Infer: true, Whole: true, Fields: fields("v"), Declared: declared(t, "v")}
	checkRows(t, spec, []rowCase{
		{"7", `7 | json {"v":7}`},
		{"-7.50", `float -7.5 | json {"v":-7.5}`},
		{"007", `"007" | json {"v":"007"}`},
		{"+7", `"+7" | json {"v":"+7"}`},
		{"true", `true | json {"v":true}`},
		{"null", `"null" | json {"v":"null"}`},
		{"1e400", `"1e400" | json {"v":"1e400"}`},
		{"18446744073709551615", `uint 18446744073709551615 | json {"v":18446744073709551615}`},
	})
}

func TestDelimitedRows(t *testing.T) {
	spec := Spec{Format: FormatDelimited, Fields: fields("user", "ts"), Declared: declared(t, "user", "ts:int")}
	checkRows(t, spec, []rowCase{
		{"a 1", `"a" | 1`},
		{"a 1\r", `"a" | 1`},
		{"a 1 more", `"a" | 1`},
		{"a", `"a" | -`},
		{"a  1", `"a" | null`},
		{"a x", `type: field "ts": "x" is not an int`},
		{"a -170000000000000000", `"a" | -170000000000000000`},
		{"", "empty: the row is empty"},
	})
	spec.Collapse = true
	checkRows(t, spec, []rowCase{{"  a   1  ", `"a" | 1`}, {"a", `"a" | -`}})
	spec = Spec{Format: FormatDelimited, Delimiter: "::", Whole: true, Fields: fields("c"), Declared: declared(t, "a", "b:int", "c")}
	checkRows(t, spec, []rowCase{{"x::5::y:z::w", `"y:z" | json {"a":"x","b":5,"c":"y:z"}`}, {"x::y", `- | json {"a":"x","b":"y"}`}})
}

func TestRawRows(t *testing.T) {
	checkRows(t, Spec{Format: FormatRaw, Whole: true, Fields: fields("message")}, []rowCase{
		{"any \"text\"\t\x01\r", `"any \"text\"\t\x01" | json {"message":"any \"text\"\t\u0001"}`},
		{"", `"" | json {"message":""}`},
	})
	checkRows(t, Spec{Format: FormatRaw, Fields: fields("n"), Declared: declared(t, "n:int")}, []rowCase{{"12", "12"}, {"x", `type: field "n": "x" is not an int`}})
}

func TestRegexRows(t *testing.T) {
	spec := Spec{Format: FormatRegex, Pattern: `(?P<a>\w+)(?: (?P<b>\d*))?`, Declared: declared(t, "b:int"), Whole: true, Fields: fields("a", "b")}
	checkRows(t, spec, []rowCase{
		{"x 1", `"x" | 1 | json {"a":"x","b":1}`},
		{"x", `"x" | - | json {"a":"x"}`},
		{"x ", `"x" | null | json {"a":"x","b":null}`},
		{"x 1 y", "malformed: the row does not match the pattern"},
		{"", "empty: the row is empty"},
	})
	spec.Partial, spec.Whole = true, false
	checkRows(t, spec, []rowCase{{"?x 1 y", `"x" | 1`}})
}

func TestLogfmtRows(t *testing.T) {
	checkRows(t, Spec{Format: FormatLogfmt, Fields: fields("a", "b"), Declared: declared(t, "b")}, []rowCase{
		{`a=1 b=2`, `"1" | "2"`},
		{`  a=1	b="x y"  `, `"1" | "x y"`},
		{`a b=`, `true | ""`},
		{`a="\u00e9\ud83d\ude00\q\\" b="a=b"`, `"é😀\\q\\" | "a=b"`},
		{`a="\ud83d" b="\ud83dA"`, `"\\ud83d" | "\\ud83dA"`},
		{`a=1 a="2"`, `"2" | -`},
		{`a==x`, `"=x" | -`},
		{`a="1"b=2`, "malformed: something follows the closing quote at byte 5"},
		{`a="1`, "malformed: the quote at byte 3 is not closed"},
		{`=1`, "malformed: a name is missing before the equals sign at byte 1"},
		{`a"b=1`, "malformed: a quote stands in a name at byte 2"},
		{`just some words`, "malformed: the row has no name=value"},
	})
	checkRows(t, Spec{Format: FormatLogfmt, Fields: fields("a"), Declared: declared(t, "a:int")}, []rowCase{
		{`a=1 a=x`, `type: field "a": "x" is not an int`},
		{`a=x b="`, "malformed: the quote at byte 7 is not closed"},
		{`a b=1`, `type: field "a": "true" is not an int`},
	})
}

func TestSyslogRows(t *testing.T) {
	names := []Field{{Name: "facility"}, {Name: "severity"}, {Name: "version"}, {Name: "time"}, {Name: "host"}, {Name: "app"}, {Name: "procid"}, {Name: "msgid"}, {Name: "data"}, {Name: "message"}}
	checkRows(t, Spec{Format: FormatSyslog, Fields: names}, []rowCase{
		{`<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - 'su root' failed`,
			`4 | 2 | 1 | timestamp 1065910455003 | "mymachine.example.com" | "su" | null | "ID47" | null | "'su root' failed"`},
		{"<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - %% It's time.",
			`20 | 5 | 1 | timestamp 1061727255000 | "192.0.2.1" | "myproc" | "8710" | null | null | "%% It's time."`},
		{"<165>1 2003-10-11T22:14:15.003Z host evntslog - ID47 [exampleSDID@32473 iut=\"3\" eventSource=\"App\\]\\\"lication\"][priority@32473 class=\"high\"] \xef\xbb\xbfAn entry",
			`20 | 5 | 1 | timestamp 1065910455003 | "host" | "evntslog" | null | "ID47" | json {"exampleSDID@32473":{"iut":"3","eventSource":"App]\"lication"},"priority@32473":{"class":"high"}} | "An entry"`},
		{`<0>1 - - - - - -`, `0 | 0 | 1 | null | null | null | null | null | null | -`},
		{`<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick on /dev/pts/8`,
			`4 | 2 | - | timestamp 1697062455000 | "mymachine" | "su" | - | - | - | "'su root' failed for lonvick on /dev/pts/8"`},
		{`Jan  5 10:00:00 host sshd[123]: Accepted publickey`, `- | - | - | timestamp 1704448800000 | "host" | "sshd" | "123" | - | - | "Accepted publickey"`},
		{`<13>Jan 5 2024 10:00:00 host app[1]: x`, `1 | 5 | - | timestamp 1704448800000 | "host" | "app" | "1" | - | - | "x"`},
		{`<13>2024-01-05T10:00:00.5+01:00 host app: x`, `1 | 5 | - | timestamp 1704445200500 | "host" | "app" | - | - | - | "x"`},
		{`<13>Jan  5 10:00:00 kernel: no host`, `1 | 5 | - | timestamp 1704448800000 | - | "kernel" | - | - | - | "no host"`},
		{`<13>Jan  5 10:00:00 2001:db8::7 no tag here`, `1 | 5 | - | timestamp 1704448800000 | "2001:db8::7" | - | - | - | - | "no tag here"`},
		{`<13>no time at all`, `1 | 5 | - | - | - | - | - | - | - | "no time at all"`},
		{`<13>Feb 30 10:00:00 host app: x`, `type: field "time": "Feb 30 10:00:00" is not a time of unit "syslog": there is no such day`},
		{`<192>1 - - - - - -`, "malformed: not a syslog message: the priority in angle brackets is not a number from 0 to 191"},
		{`<>x`, "malformed: not a syslog message: the priority in angle brackets is not a number from 0 to 191"},
		{`<34>1 2003-10-11T22:14:15.003Z host`, "malformed: not a syslog message: the field host is missing"},
		{`<34>1 - - - - - [a b="c"`, "malformed: not a syslog message: an element of the structured data is not closed"},
		{`<34>1 - - - - - [a b=c]`, `malformed: not a syslog message: name="value" is expected in the structured data at byte 20`},
		{`plain text`, "malformed: not a syslog message: it begins neither with a priority nor with a time"},
		{``, "empty: the row is empty"},
	})
	checkRows(t, Spec{Format: FormatSyslog, Whole: true, Fields: []Field{{Name: `data["x@1"].a`}, {Name: `data["x@1"]`}, {Name: "data.y.b"}, {Name: "priority", Type: TypeString}}}, []rowCase{
		{`<34>1 2003-10-11T22:14:15.003Z - - - - [x@1 a="1" a="2"] m`,
			`"2" | json {"a":"1","a":"2"} | - | "34" | json {"priority":34,"facility":4,"severity":2,"version":1,"time":"2003-10-11T22:14:15.003Z","host":null,"app":null,"procid":null,"msgid":null,"data":{"x@1":{"a":"1","a":"2"}},"message":"m"}`},
	})
}

func TestAccessLogRows(t *testing.T) {
	checkRows(t, Spec{Format: FormatCLF, Fields: fields("remote", "user", "time", "method", "path", "protocol", "status", "bytes", "referer", "extra"), Declared: declared(t, "status:int", "bytes:int")}, []rowCase{
		{`192.0.2.1 - john doe [10/Oct/2023:13:55:36 -0700] "GET /a b HTTP/1.0" 200 -`,
			`"192.0.2.1" | "john doe" | timestamp 1696971336000 | "GET" | "/a b" | "HTTP/1.0" | 200 | null | - | -`},
		{`::1 - - [10/Oct/2023:13:55:36 -0700] "GET / HTTP/1.0" 200 5 "-" "-" "203.0.113.9" 0.004`,
			`"::1" | null | timestamp 1696971336000 | "GET" | "/" | "HTTP/1.0" | 200 | 5 | null | "\"203.0.113.9\" 0.004"`},
		{`::1 - - [10/Oct/2023] "GET / HTTP/1.0" 200 5`, `type: field "time": "10/Oct/2023" is not a time of unit "02/Jan/2006:15:04:05 -0700": it does not follow the layout at character 12`},
		{`::1 - - [10/Oct/2023:13:55:36 -0700] "GET / HTTP/1.0" 200`, "malformed: not a line of an access log: status and size are missing after the request"},
		{`::1 - - [10/Oct/2023:13:55:36 -0700] "GET / HTTP/1.0" ok 5`, "malformed: not a line of an access log: status and size are not numbers"},
		{`::1 - - [10/Oct/2023:13:55:36 -0700] "GET / 200 5`, "malformed: not a line of an access log: a quote is not closed"},
		{`www.example.org:443 192.0.2.1 - john [10/Oct/2023:13:55:36 -0700] "GET / HTTP/1.0" 200 5`,
			`malformed: not a line of an access log: the address is its second field; for a line that begins with the virtual host use format = "regex"`},
		{`::1 - - 10/Oct/2023 "GET / HTTP/1.0" 200 5`, "malformed: not a line of an access log: the time in brackets is missing"},
	})
}

func TestJSONRows(t *testing.T) {
	checkRows(t, Spec{Format: FormatJSON, Fields: fields("a", "a.b", "list[1].x")}, []rowCase{
		{`{"a":{"b":1},"list":[0,{"x":true}]}`, `json {"b":1} | 1 | true`},
		{`{"a":{"b":1},"a":{}}`, "json {} | - | -"},
		{`{"list":[{"x":1},{"x":2}],"list":[1]}`, "- | - | -"},
		{`[1,2]`, "- | - | -"},
		{"\xef\xbb\xbf{\"a\":1}\r", "1 | - | -"},
		{`{"a":"\u0000"}`, `"\x00" | - | -`},
		{`{"a":1`, "malformed: not valid JSON at byte 7: a comma or the end of the object is missing"},
		{`{"a":1}}`, "malformed: not valid JSON at byte 8: something follows the JSON value"},
		{`{"a" 1}`, "malformed: not valid JSON at byte 6: a colon is missing after the name"},
		{`{a:1}`, "malformed: not valid JSON at byte 2: a name in quotes is missing"},
		{`{"a":1,}`, "malformed: not valid JSON at byte 8: a name in quotes is missing"},
		{`{"a":}`, "malformed: not valid JSON at byte 6: no JSON value begins like this"},
		{`{"a":`, "malformed: not valid JSON at byte 6: a value is missing"},
		{`{"a":"x`, "malformed: not valid JSON at byte 8: the string is not closed"},
		{`{"a":"x\y"}`, "malformed: not valid JSON at byte 8: there is no such escape"},
		{"{\"a\":\"x\ty\"}", "malformed: not valid JSON at byte 8: a control character stands in the string"},
		{`{"a":01}`, "malformed: not valid JSON at byte 6: a digit is missing, or one too many"},
		{`{"x":"\ud800"}`, `invalid_utf8: a string has half a surrogate pair (\ud800 to \udfff), which is not a character`},
		{strings.Repeat("[", 10001) + strings.Repeat("]", 10001), "malformed: not valid JSON at byte 10002: nested too deep"},
		{`  `, "empty: the row is empty"},
	})
}

// textSpec is a spec of a format of text, with rows that it takes.
type textSpec struct {
	spec Spec
	rows []string
}

// checks are those for both policies about invalid UTF-8.
func (s textSpec) checks(t require.TestingT) (c [2]*textCheck) {
	c[0] = newTextCheck(t, s.spec)
	s.spec.InvalidUTF8 = InvalidReplace
	c[1] = newTextCheck(t, s.spec)
	return c
}

func textSpecs(t require.TestingT) map[string]textSpec {
	parse := func(all ...string) (out []Declared) {
		for _, s := range all {
			d, err := ParseDeclared(s)
			require.NoError(t, err)
			out = append(out, d)
		}
		return out
	}
	return map[string]textSpec{
		"csv":       {Spec{Format: FormatCSV, Declared: parse("a", "b:int", "c")}, []string{`x,1,y`, `"x ""q""",2,"a,b"`, `,,`, "é,3,\r"}},
		"lazy csv":  {Spec{Format: FormatCSV, Lazy: true, Declared: parse("a", "b:number", "c")}, []string{`x"y,1.5,"a"b"`, `"a" b,2,c`}},
		"delimited": {Spec{Format: FormatDelimited, Delimiter: "||", Declared: parse("a", "b:float")}, []string{`x||1`, `||`, `x||-1e5||y`}},
		"key ts":    {Spec{Format: FormatDelimited, Declared: parse("key:string", "ts:int")}, []string{`user-00005191 1699999999894`, `a 1`, `b 12345678 `, `c -1`, `d`, `e 12345678901234567 x`}},
		"collapse":  {Spec{Format: FormatDelimited, Collapse: true, Infer: true, Declared: parse("a", "b")}, []string{`x  1`, ` true 2.5 `}},
		"regex":     {Spec{Format: FormatRegex, Pattern: `(?P<a>\S+) (?P<b>\d+)(?P<c>.*)`, Declared: parse("b:uint")}, []string{`x 1 rest`, `é 2`}},
		"logfmt":    {Spec{Format: FormatLogfmt, Declared: parse("a", "b:bool", "c:string")}, []string{`a=1 b c="x \"y\""`, `a="\u00e9" b=false`, `a= c`}},
		"clf":       {Spec{Format: FormatCLF, Declared: parse("status:int")}, []string{`192.0.2.10 - - [10/Oct/2023:13:55:36 -0700] "GET /i \"x\" HTTP/1.1" 200 2326 "-" "curl/8.0" extra`}},
		"syslog": {Spec{Format: FormatSyslog}, []string{`<34>1 2003-10-11T22:14:15.003Z m su - ID47 [x@1 a="b\"c"][y] msg`, `<34>Oct 11 22:14:15 m su[1]: msg`,
			`2024-01-05T10:00:00Z host app: x`}},
		"raw": {Spec{Format: FormatRaw, Declared: parse("text")}, []string{"anything\r", ""}},
	}
}

// image is all that decoding a batch has brought, row by row.
func image(b *batch.Batch, names []string) (rows []string) {
	rows = make([]string, b.N)
	for _, r := range b.Bad {
		rows[r.Row] = r.Code + ": " + r.Message
	}
	for k := range b.Alive() {
		i := k
		if b.Sel != nil {
			i = int(b.Sel[k])
		}
		for _, n := range names {
			rows[i] += show(b, b.Column(n), i) + " | "
		}
	}
	return rows
}

// textCheck holds decoders of one spec that want all fields, these and the whole row, and nothing.
type textCheck struct{ fields, whole, nothing *Decoder }

func newTextCheck(t require.TestingT, spec Spec) *textCheck {
	make := func(f []Field, whole bool) *Decoder {
		spec.Fields, spec.Whole = f, whole
		d, errs := New(spec)
		require.NoError(t, errs.Err())
		d.SetReference(1700000000000)
		return d
	}
	c := &textCheck{nothing: make(nil, false)}
	all := fields(c.nothing.Names()...)
	c.fields, c.whole = make(all, false), make(all, true)
	return c
}

// run says, for rows of one format: however they lie in batches, each row decodes to the same; the same rows are
// malformed whatever is wanted; the whole row is a valid JSON object; texts are valid UTF-8.
func (c *textCheck) run(t require.TestingT, rows [][]byte) {
	rows = append(rows, bytes.Repeat([]byte("z"), 40)) // something for the fast way to look ahead at
	checkFast(t, c.fields, rows)
	d := c.whole
	all := append(slices.Clone(d.Names()), WholeColumn)
	together := batchOf(rows, 1)
	d.Decode(together)
	want := image(together, all)
	malformed := map[uint32]string{}
	for _, r := range together.Bad {
		if r.Code != CodeType {
			malformed[r.Row] = r.Code + r.Message
		}
	}
	for k := range together.Alive() {
		i := k
		if together.Sel != nil {
			i = int(together.Sel[k])
		}
		for c := range together.Columns {
			col := &together.Columns[c]
			switch col.Kinds[i] {
			case batch.String:
				require.True(t, utf8.Valid(together.Text(col.Bits[i])))
			case batch.JSON:
				require.True(t, json.Valid(together.Text(col.Bits[i])), "%s", together.Text(col.Bits[i]))
			}
		}
	}
	for i, row := range rows {
		one := batchOf([][]byte{row}, 0)
		d.Decode(one)
		require.Equal(t, want[i], image(one, all)[0], "row %q alone", row)
	}
	// Only every other row is selected.
	some := batchOf(rows, 1)
	for i := 1; i < some.N; i += 2 {
		some.Bad = append(some.Bad, batch.BadRow{Row: uint32(i), Code: "before"})
	}
	some.Narrow(0)
	some.Bad = nil
	d.Decode(some)
	for i, got := range image(some, all) {
		if i%2 == 0 {
			require.Equal(t, want[i], got)
		} else {
			require.Empty(t, got)
		}
	}
	// Nothing is wanted.
	b := batchOf(rows, 1)
	c.nothing.Decode(b)
	bad := map[uint32]string{}
	for _, r := range b.Bad {
		bad[r.Row] = r.Code + r.Message
	}
	require.Equal(t, malformed, bad)
}

// checkFast says that rows which may go the fast way give the same as rows that end with their memory, and so cannot.
func checkFast(t require.TestingT, d *Decoder, rows [][]byte) {
	together := batchOf(rows, 1)
	d.Decode(together)
	want := image(together, d.Names())
	for i, row := range rows {
		one := batchOf([][]byte{row}, 0)
		d.Decode(one)
		require.Equal(t, want[i], image(one, d.Names())[0], "row %q alone", row)
	}
	for c := range together.Columns {
		col := &together.Columns[c]
		present := col.Present
		if resetPresent(together, col); together.Alive() > 0 {
			require.Equal(t, col.Present, present, "Present of %s", col.Name)
		}
	}
}

func TestTextFormatsInAnyBatches(t *testing.T) {
	for name, c := range textSpecs(t) {
		t.Run(name, func(t *testing.T) {
			checks := c.checks(t)
			rapid.Check(t, func(t *rapid.T) {
				check := checks[rapid.IntRange(0, 1).Draw(t, "replace")]
				var rows [][]byte
				for range rapid.IntRange(1, 5).Draw(t, "rows") {
					row := []byte(rapid.SampledFrom(c.rows).Draw(t, "row"))
					for range rapid.IntRange(0, 2).Draw(t, "damage") {
						if len(row) == 0 {
							break
						}
						i := rapid.IntRange(0, len(row)-1).Draw(t, "at")
						switch rapid.IntRange(0, 2).Draw(t, "how") {
						case 0:
							row = append(row[:i], row[i+1:]...)
						case 1:
							row[i] = rapid.SampledFrom([]byte("\",|= \t[]<>\\x1\xff\xc3\r\n-:")).Draw(t, "byte")
						case 2:
							row = row[:i]
						}
					}
					rows = append(rows, row)
				}
				check.run(t, rows)
			})
		})
	}
}

func FuzzText(f *testing.F) {
	specs := textSpecs(f)
	for _, c := range specs {
		for _, r := range c.rows {
			f.Add([]byte(r), []byte(r))
		}
	}
	type prepared struct {
		good   []byte
		checks [2]*textCheck
	}
	var all []prepared
	for _, c := range specs {
		all = append(all, prepared{[]byte(c.rows[0]), c.checks(f)})
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, p := range all {
			for _, c := range p.checks {
				c.run(t, [][]byte{a, b, p.good, a})
			}
		}
	})
}

func neverClosed(at int) string {
	return fmt.Sprintf("malformed: the quote that opens at byte %d is never closed, up to the end of the input or within max_record; each line behind it is read on its own (quoted line breaks need a source that cuts csv records)", at)
}
