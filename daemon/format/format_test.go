package format

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/daemon/jsontext"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

const evening = 1_700_000_000_000 // 2023-11-14T22:13:20Z

// results is a batch like those that windows give.
func results() *batch.Batch {
	b := batch.Get()
	b.Grow(3)
	user := b.AddColumn("user")
	for i, name := range []string{"ann", `b"ö`, ""} {
		b.SetText(user, i, batch.String, name)
	}
	start := b.AddColumn("window_start")
	end := b.AddColumn("window_end")
	for i := range 3 {
		start.SetTime(i, evening)
		end.SetTime(i, evening+5000)
	}
	n := b.AddColumn("events")
	n.SetInt(0, 3)
	n.SetInt(1, math.MaxInt64)
	n.SetUint(2, math.MaxUint64)
	sum := b.AddColumn("sum")
	sum.SetFloat(0, 88.04)
	sum.SetNull(1)
	sum.SetMissing(2)
	return b
}

func lines(t *testing.T, o Options, in *batch.Batch) []string {
	f, err := New(o)
	require.NoError(t, err)
	out := batch.Get()
	require.Empty(t, f.Append(out, in))
	got := []string{}
	for i := range out.N {
		got = append(got, string(out.Row(i)))
	}
	require.Equal(t, in.Alive(), out.N)
	require.True(t, out.N == 0 || strings.HasSuffix(string(out.Data), "\n"))
	return got
}

func TestTheSameRowsInEveryFormat(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want []string
	}{
		{"json is the default", Options{}, []string{
			`{"user":"ann","window_start":"2023-11-14T22:13:20.000Z","window_end":"2023-11-14T22:13:25.000Z","events":3,"sum":88.04}`,
			`{"user":"b\"ö","window_start":"2023-11-14T22:13:20.000Z","window_end":"2023-11-14T22:13:25.000Z","events":9223372036854775807,"sum":null}`,
			`{"user":"","window_start":"2023-11-14T22:13:20.000Z","window_end":"2023-11-14T22:13:25.000Z","events":18446744073709551615}`,
		}},
		{"times as integers, fields chosen", Options{TimeFormat: EpochMillis, Fields: []string{"events", "nothing", "window_end"}}, []string{
			`{"events":3,"window_end":1700000005000}`,
			`{"events":9223372036854775807,"window_end":1700000005000}`,
			`{"events":18446744073709551615,"window_end":1700000005000}`,
		}},
		{"csv tells empty text from null", Options{Format: CSV, Fields: []string{"user", "sum", "events", "nothing"}}, []string{
			`ann,88.04,3,`, `"b""ö",,9223372036854775807,`, `"",,18446744073709551615,`,
		}},
		{"csv with another delimiter", Options{Format: CSV, Fields: []string{"user", "events"}, Delimiter: ";"}, []string{
			`ann;3`, `"b""ö";9223372036854775807`, `"";18446744073709551615`,
		}},
		{"a template", Options{Format: Text, Template: "窗口中共有 {{.events}} 条元素"}, []string{
			"窗口中共有 3 条元素", "窗口中共有 9223372036854775807 条元素", "窗口中共有 18446744073709551615 条元素",
		}},
		{"a template may end its line itself", Options{Format: Text, Template: "{{.user}}\n"}, []string{"ann", `b"ö`, ""}},
		{"a template that computes", Options{Format: Text, Template: `{{if .sum}}{{printf "%.1f" .sum}}{{else}}none{{end}} {{json .user}} {{.window_end.Format "15:04"}} {{.window_end.In "Asia/Shanghai" "15:04"}} {{.window_end}}`}, []string{
			`88.0 "ann" 22:13 06:13 2023-11-14T22:13:25.000Z`,
			`none "b\"ö" 22:13 06:13 2023-11-14T22:13:25.000Z`,
			`none "" 22:13 06:13 2023-11-14T22:13:25.000Z`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, lines(t, c.o, results())) })
	}
}

func TestOnlySelectedRows(t *testing.T) {
	b := results()
	b.Sel = []uint32{0, 2}
	require.Equal(t, []string{"3", "18446744073709551615"}, lines(t, Options{Format: Text, Template: "{{.events}}"}, b))
	b.Sel = []uint32{}
	require.Empty(t, lines(t, Options{}, b))
}

func TestRecordsAsTheyCame(t *testing.T) {
	b := batch.Get()
	b.N, b.Data, b.Offsets, b.Trailer = 2, []byte("a b\nc\r\n"), []uint32{0, 4, 7}, 1
	require.Equal(t, []string{"a b", "c\r"}, lines(t, Options{Format: Raw}, b))
}

func TestColumnsMayChangeBetweenBatches(t *testing.T) {
	f, err := New(Options{})
	require.NoError(t, err)
	for _, name := range []string{"a", "b", "a"} {
		b := batch.Get()
		b.Grow(1)
		b.AddColumn(name).SetInt(0, 1)
		row, err := f.AppendRow(nil, b, 0)
		require.NoError(t, err)
		require.Equal(t, `{"`+name+`":1}`, string(row))
	}
}

func TestARowThatATemplateCannotTakeIsReturned(t *testing.T) {
	f, err := New(Options{Format: Text, Template: `{{index .user 0}}`})
	require.NoError(t, err)
	require.Equal(t, []string{"user"}, f.Reads())
	out := batch.Get()
	bad := f.Append(out, results())
	require.Equal(t, 2, out.N)
	require.Len(t, bad, 1)
	require.Equal(t, uint32(2), bad[0].Row)
	require.Contains(t, bad[0].Message, "index out of range")
}

func TestWhatATemplateReads(t *testing.T) {
	for text, want := range map[string][]string{
		"x":                      {},
		"{{.a}} {{.b}} {{.a}}":   {"a", "b"},
		"{{if .a}}{{.b}}{{end}}": {"a", "b"},
		"{{with .t}}{{.Unix}}{{$.c}}{{end}}{{else_}}":         nil,
		"{{with .t}}{{.Seconds}}{{$.c}}{{else}}{{.d}}{{end}}": {"c", "d", "t"},
		`{{printf "%v" (json .x)}} {{(.y).Seconds}}`:          {"x", "y"},
	} {
		f, err := New(Options{Format: Text, Template: text})
		if want == nil {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, f.Reads(), text)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		o            Options
		option, text string
	}{
		{Options{Format: "jsn"}, "format", `"jsn" is not a format`},
		{Options{TimeFormat: "iso"}, "time_format", `"iso" is not a time format`},
		{Options{Format: Text}, "template", "needs a template"},
		{Options{Format: Text, Template: "{{.a"}, "template", "unclosed action"},
		{Options{Template: "x"}, "template", `format "json" has no template`},
		{Options{Format: CSV, Delimiter: ",,"}, "delimiter", `",," cannot be a delimiter`},
		{Options{Delimiter: ";"}, "delimiter", "no delimiter"},
	} {
		_, err := New(c.o)
		var e *OptionError
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.option, e.Option)
		require.Contains(t, e.Message, c.text)
	}
}

func TestTimes(t *testing.T) {
	for ms, want := range map[int64]string{
		0:                   "1970-01-01T00:00:00.000Z",
		-1:                  "1969-12-31T23:59:59.999Z",
		951_782_400_000:     "2000-02-29T00:00:00.000Z",
		-62_135_596_800_000: "0001-01-01T00:00:00.000Z",
		253_402_300_799_999: "9999-12-31T23:59:59.999Z",
		253_402_300_800_000: "+010000-01-01T00:00:00.000Z",
		-62_167_219_200_001: "-000001-12-31T23:59:59.999Z",
		math.MaxInt64 - 1:   "+292278994-08-17T07:12:55.806Z",
		math.MinInt64 + 1:   "-292275055-05-16T16:47:04.193Z",
	} {
		require.Equal(t, want, string(AppendTime(nil, ms)), ms)
	}
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-62_167_219_200_000, 253_402_300_799_999).Draw(t, "ms")
		require.Equal(t, time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"), string(AppendTime(nil, ms)))
	})
}

func TestNoTimeIsNull(t *testing.T) {
	b := batch.Get()
	b.Grow(1)
	b.AddColumn("from").SetTime(0, batch.NoTimestamp)
	b.AddColumn("to").SetTime(0, batch.EndOfInput)
	require.Equal(t, []string{`{"from":null,"to":null}`}, lines(t, Options{}, b))
	require.Equal(t, []string{`{"from":null,"to":null}`}, lines(t, Options{TimeFormat: EpochMillis}, b))
	require.Equal(t, []string{`[]`}, lines(t, Options{Format: Text, Template: "[{{.to}}]"}, b))
	require.Equal(t, []string{`never`}, lines(t, Options{Format: Text, Template: "{{if .to}}{{.to}}{{else}}never{{end}}"}, b))
}

func TestFloatsAreThoseOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		want, err := json.Marshal(v)
		require.NoError(t, err)
		got := string(jsontext.AppendFloat(nil, v))
		require.Equal(t, string(want), got)
		back, err := strconv.ParseFloat(got, 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(v), math.Float64bits(back))
	})
	for v, want := range map[float64]string{math.Inf(1): "Infinity", math.Inf(-1): "-Infinity"} {
		require.Equal(t, want, string(jsontext.AppendFloat(nil, v)))
	}
	require.Equal(t, "NaN", string(jsontext.AppendFloat(nil, math.NaN())))
}

func FuzzTextInJSON(f *testing.F) {
	f.Add([]byte("a\x00\x1f\"\\\u2028\xff\xed\xa0\x80é\n\t"))
	f.Fuzz(func(t *testing.T, s []byte) {
		b := batch.Get()
		b.Grow(1)
		c := b.AddColumn("s")
		b.SetString(c, 0, s)
		fm, err := New(Options{})
		require.NoError(t, err)
		row, err := fm.AppendRow(nil, b, 0)
		require.NoError(t, err)
		require.True(t, utf8.Valid(row))
		require.NotContains(t, string(row), "\n")
		var back map[string]string
		require.NoError(t, json.Unmarshal(row, &back))
		require.Equal(t, strings.ToValidUTF8(string(s), "\ufffd"), collapse(back["s"], s))
		b.Release()
	})
}

// collapse makes runs of replacement characters single where ToValidUTF8 replaces a run of bad bytes by one.
func collapse(got string, s []byte) string {
	var out strings.Builder
	bad := false
	for i, rest := 0, got; len(rest) > 0; {
		r, n := utf8.DecodeRuneInString(rest)
		or, on := utf8.DecodeRune(s[i:])
		replaced := or == utf8.RuneError && on == 1
		if !(replaced && bad) {
			out.WriteRune(r)
		}
		bad = replaced
		rest, i = rest[n:], i+on
	}
	return out.String()
}

func BenchmarkAppend(b *testing.B) {
	in := batch.Get()
	const rows = 4096
	in.Grow(rows)
	user, start, end := in.AddColumn("key"), in.AddColumn("window_start"), in.AddColumn("window_end")
	n, sum, lo, hi := in.AddColumn("n"), in.AddColumn("sum"), in.AddColumn("min"), in.AddColumn("max")
	for i := range rows {
		in.SetText(user, i, batch.String, "user-0000"+strconv.Itoa(1000+i))
		start.SetTime(i, evening)
		end.SetTime(i, evening+5000)
		n.SetInt(i, int64(i))
		sum.SetFloat(i, float64(i)*12.34)
		lo.SetFloat(i, 0.5)
		hi.SetFloat(i, 999.99)
	}
	for _, o := range []Options{{}, {Format: CSV}, {Format: Text, Template: "{{.key}} {{.n}} {{.sum}}"}} {
		b.Run(o.Format, func(b *testing.B) {
			f, err := New(o)
			require.NoError(b, err)
			out := batch.Get()
			b.ReportAllocs()
			for left := b.N; left > 0; left -= rows {
				out.Reset()
				f.Append(out, in)
			}
		})
	}
}
