package decode

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPaths(t *testing.T) {
	name := func(s string) Step { return Step{Name: s} }
	index := func(i int) Step { return Step{Index: i, Array: true} }
	for s, want := range map[string]Path{
		`user`:             {name("user")},
		`a.b`:              {name("a"), name("b")},
		`["a.b"]`:          {name("a.b")},
		`"a.b"`:            {name("a.b")},
		`'a.b'.c`:          {name("a.b"), name("c")},
		`$env["a.b"]`:      {name("a.b")},
		`$env.a`:           {name("a")},
		`$envy`:            {name("$envy")},
		`a["b.c"].d[0]`:    {name("a"), name("b.c"), name("d"), index(0)},
		`[3].x`:            {index(3), name("x")},
		`a["say \"hi\""]`:  {name("a"), name(`say "hi"`)},
		`data["x@1"].name`: {name("data"), name("x@1"), name("name")},
		`größe.x y`:        {name("größe"), name("x y")},
	} {
		p, err := ParsePath(s)
		require.NoError(t, err, s)
		require.Equal(t, want, p, s)
		again, err := ParsePath(p.String())
		require.NoError(t, err, p.String())
		require.Equal(t, p, again)
	}
	for s, want := range map[string]string{
		``:        "a name is missing at character 1",
		`a.`:      "a name is missing at character 3",
		`.a`:      "a name is missing at character 1",
		`a..b`:    "a name is missing at character 3",
		`a[`:      "the bracket is not closed at character 2",
		`a[x]`:    "a quoted name or an index from 0 belongs in the brackets at character 2",
		`a[-1]`:   "a quoted name or an index from 0 belongs in the brackets at character 2",
		`a[]`:     "a quoted name or an index from 0 belongs in the brackets at character 2",
		`a["b]`:   "the quote is not closed at character 2",
		`a["b"`:   "the bracket is not closed at character 2",
		`a]`:      "a dot or a bracket is missing at character 2",
		`a[0]b`:   "a dot or a bracket is missing at character 5",
		`"a`:      "the quote is not closed at character 1",
		`a."b"`:   "a name is missing at character 3",
		`$env["a`: "the quote is not closed at character 5",
	} {
		_, err := ParsePath(s)
		require.ErrorContains(t, err, want, s)
	}
	require.Equal(t, "a.b[2].c d", Path{name("a"), name("b"), index(2), name("c d")}.Flat())
}

func TestPathsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Path
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "array") {
				p = append(p, Step{Index: rapid.IntRange(0, 1000).Draw(t, "index"), Array: true})
			} else {
				p = append(p, Step{Name: rapid.StringMatching(`[a-z.\[\]"'\\$ é]{0,6}|\$env.?`).Draw(t, "name")})
			}
		}
		again, err := ParsePath(p.String())
		require.NoError(t, err, p.String())
		require.Equal(t, p, again, p.String())
	})
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a.b", `["a.b"]`, `a[0]["x"]`, `$env["a"]`, `a[`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := ParsePath(s); err == nil {
			again, err := ParsePath(p.String())
			require.NoError(t, err)
			require.Equal(t, p, again)
		}
	})
}

func TestDeclaredFields(t *testing.T) {
	for s, want := range map[string]Declared{
		"user":                   {Name: "user", Path: Path{{Name: "user"}}},
		"ts:int":                 {Name: "ts", Path: Path{{Name: "ts"}}, Type: TypeInt},
		"a.b:json":               {Name: "a.b", Path: Path{{Name: "a"}, {Name: "b"}}, Type: TypeJSON},
		`"a:b.c":float`:          {Name: "a:b.c", Path: Path{{Name: "a:b.c"}}, Type: TypeFloat},
		"t:timestamp":            {Name: "t", Path: Path{{Name: "t"}}, Type: TypeTimestamp},
		"t:timestamp:%H:%M %d%m": {Name: "t", Path: Path{{Name: "t"}}, Type: TypeTimestamp, Unit: "%H:%M %d%m"},
	} {
		d, err := ParseDeclared(s)
		require.NoError(t, err, s)
		require.Equal(t, want, d)
	}
	for s, want := range map[string]string{
		"":             "has no name",
		":int":         "has no name",
		"ts:":          "a type is missing after the colon",
		"ts:integer":   `type "integer" is not one of dynamic, string, int, uint, float, number, bool, timestamp, json`,
		"ts:exact":     "is not one of",
		"ts:int:ms":    "only a timestamp has a unit, int has none",
		"t:timestamp:": "the unit is missing after the colon",
		`"a`:           "the quote is not closed",
		`"a"x`:         "a colon and a type may follow",
		"a..b:int":     "a name is missing",
	} {
		_, err := ParseDeclared(s)
		require.ErrorContains(t, err, want, s)
	}
}

// TestMistakes shows what people read about a spec that cannot be.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{}, "format: the format is missing; one of json, csv, delimited, regex, logfmt, clf, syslog, raw"},
		{Spec{Format: "yaml"}, `format: there is no format "yaml"; one of json, csv, delimited, regex, logfmt, clf, syslog, raw`},
		{Spec{Format: "json", InvalidUTF8: "ignore"}, `invalid_utf8: "ignore" is not possible; write "reject" or "replace"`},
		{Spec{Format: "json", Fields: fields("a..b")}, `fields: path "a..b": a name is missing at character 3`},
		{Spec{Format: "delimited"}, `fields: delimited rows have no names of their own; name the columns: fields = ["user", "ts:int"]`},
		{Spec{Format: "delimited", Declared: declared(t, "a", "b"), Fields: fields("c")}, `fields: there is no field "c"; there are a, b`},
		{Spec{Format: "delimited", Declared: declared(t, "a", "a")}, `fields: field "a" is declared twice`},
		{Spec{Format: "csv"}, `fields: without a header row the columns have no names; name them: fields = ["user", "ts:int"], or set header = true`},
		{Spec{Format: "csv", Header: true, Delimiter: ";;", Quote: "é"}, "delimiter: \";;\" is not one ASCII character\nquote: \"é\" is not one ASCII character"},
		{Spec{Format: "csv", Header: true, Delimiter: `"`}, "quote: the quote is also the delimiter"},
		{Spec{Format: "csv", Header: true, Extra: "x", Short: "y"}, "extra: \"x\" is not possible; write \"ignore\" or \"reject\"\nshort: \"y\" is not possible; write \"missing\" or \"reject\""},
		{Spec{Format: "regex"}, `pattern: the pattern is missing; write an expression with named groups: pattern = '(?P<user>\S+) (?P<ts>\d+)'`},
		{Spec{Format: "regex", Pattern: "(a"}, "pattern: missing closing ): (a"},
		{Spec{Format: "regex", Pattern: "(a)"}, "pattern: the pattern has no named groups; (?P<name>...) names what a group matches"},
		{Spec{Format: "regex", Pattern: "(?P<a>x)", Fields: fields("b")}, `fields: there is no field "b"; there are a`},
		{Spec{Format: "clf", Fields: fields("ip")}, `fields: there is no field "ip"; there are remote, ident, user, time, request, method, path, protocol, status, bytes, referer, agent, extra`},
		{Spec{Format: "syslog", Fields: fields("data.a.b.c")}, `fields: structured data has no field data.a.b.c; data, data["id"] and data["id"].name are possible`},
		{Spec{Format: "json", Declared: declared(t, "t:timestamp:never"), Fields: fields("t")}, `fields: unit of t: unit "never" is none of s, ms, us, ns, rfc3339, syslog, auto, and as a layout it has nothing of a date; ` +
			`a Go layout looks like "2006-01-02 15:04:05", one of strftime like "%Y-%m-%d %H:%M:%S"`},
	} {
		errs := Check(c.spec)
		require.Equal(t, c.want, errs.Error())
		require.Error(t, errs.Err())
		d, _ := New(c.spec)
		require.Nil(t, d)
	}
	require.NoError(t, Check(Spec{Format: FormatJSON}).Err())
	errs := Check(Spec{Format: "regex", Pattern: `(?P<a>x)[z-a]`})
	require.Equal(t, 9, errs[0].Offset)
}
