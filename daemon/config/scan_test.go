package config

import (
	"sort"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// marked is a text in which «…» stand around what has to be found.
func place(t *testing.T, text, path string) (key, value string) {
	t.Helper()
	var m map[string]any
	_, err := toml.Decode(text, &m)
	require.NoError(t, err, text)
	s, ok := scan(text).spots[strings.ReplaceAll(path, "/", pathSep)]
	require.True(t, ok, "no place for %s", path)
	return text[s.key.from:s.key.to], text[s.value.from:s.value.to]
}

func TestPlaces(t *testing.T) {
	const text = `
top = 1 # comment = 2
"quoted key" = 'a # b' # c
[a.b]
c . d = "x=\"y\"" # e
list = [ 1, "two", [ 3 ], # comment ]
  { k = 4 }
]
inline = { x = { y = 5 }, "z.w" = true }
[ "a" . 'f g' ]
multi = """
[not.a.table]
key = "no" \
""""
raw = '''it's'''
date = 1979-05-27 07:32:00
[[many]]
n = 1
[many.sub]
deep = 2
[[many]]
n = 3
[[many.inner]]
m = 1.5e3
`
	for path, want := range map[string][2]string{
		"top":                {"top", "1"},
		"quoted key":         {`"quoted key"`, "'a # b'"},
		"a/b":                {"b", "[a.b]"},
		"a/b/c/d":            {"d", `"x=\"y\""`},
		"a/b/c":              {"c", "c"},
		"a/b/list/#1":        {`"two"`, `"two"`},
		"a/b/list/#2/#0":     {"3", "3"},
		"a/b/list/#3/k":      {"k", "4"},
		"a/b/inline":         {"inline", `{ x = { y = 5 }, "z.w" = true }`},
		"a/b/inline/x/y":     {"y", "5"},
		"a/b/inline/z.w":     {`"z.w"`, "true"},
		"a/f g":              {"'f g'", "[ \"a\" . 'f g' ]"},
		"a/f g/raw":          {"raw", "'''it's'''"},
		"a/f g/date":         {"date", "1979-05-27 07:32:00"},
		"many/#0/n":          {"n", "1"},
		"many/#0/sub/deep":   {"deep", "2"},
		"many/#1/n":          {"n", "3"},
		"many/#1/inner/#0/m": {"m", "1.5e3"},
	} {
		key, value := place(t, text, path)
		require.Equal(t, want, [2]string{key, value}, path)
	}
}

func TestPlacesCountCharacters(t *testing.T) {
	text := newText("f", "\uFEFFa = 1\r\n\"größe\" = \"日本\" \r\nb = 2")
	s := scan(text.data)
	require.Equal(t, problem.Place{File: "f", Line: 1, Column: 1, Width: 1}, text.place(s.spots["a"].key))
	require.Equal(t, problem.Place{File: "f", Line: 2, Column: 1, Width: 7}, text.place(s.spots["größe"].key))
	require.Equal(t, problem.Place{File: "f", Line: 2, Column: 11, Width: 4}, text.place(s.spots["größe"].value))
	require.Equal(t, `"größe" = "日本" `, text.line(2))
	require.Equal(t, "a = 1", text.line(1))
	require.Equal(t, "b = 2", text.line(3))
}

// check is what must hold for every text that the TOML library takes: each key has a place, which is inside the text and says the key.
func checkPlaces(t *testing.T, data string) {
	var m map[string]any
	if _, err := toml.Decode(data, &m); err != nil {
		return
	}
	text := newText("f", data)
	s := scan(data)
	require.Empty(t, s.twice, "the library accepts it, so nothing is given twice")
	root := (&build{text: text, spots: s.spots}).table("", m)
	var walk func(v *Value)
	table := func(tb *Table) {
		require.Equal(t, len(tb.values), len(tb.Keys))
		for _, k := range tb.Keys {
			walk(tb.values[k])
		}
	}
	walk = func(v *Value) {
		for _, p := range []problem.Place{v.At, v.KeyAt} {
			require.Positive(t, p.Line)
			require.LessOrEqual(t, p.Line, len(text.lines))
			require.Positive(t, p.Column)
			require.LessOrEqual(t, p.Column, len([]rune(text.line(p.Line)))+1)
		}
		for _, e := range v.List {
			walk(e)
		}
		if v.Table != nil {
			table(v.Table)
		}
	}
	table(root)
	var missing []string
	for path := range pathsOf("", m) {
		if _, ok := s.spots[path]; !ok {
			missing = append(missing, strings.ReplaceAll(path, pathSep, "/"))
		}
	}
	sort.Strings(missing)
	require.Empty(t, missing, "keys without a place")
}

// pathsOf lists the paths of all keys and elements.
func pathsOf(path string, x any) map[string]bool {
	out := map[string]bool{}
	add := func(p string, v any) {
		out[p] = true
		for q := range pathsOf(p, v) {
			out[q] = true
		}
	}
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			add(join(path, k), v)
		}
	case []any:
		for i, v := range x {
			add(element(path, i), v)
		}
	case []map[string]any:
		for i, v := range x {
			add(element(path, i), v)
		}
	}
	return out
}

func FuzzPlaces(f *testing.F) {
	for _, s := range []string{
		"a = 1", "[a]\nb.c = 'x'", "[[a]]\n[[a]]\nb = [[1,2],{c=3}]", "a = \"\"\"x\n\"\"\"\"\"", "\"\" = 1", "a.\"b.c\".d = {}", "[a.b]\n[a]\nc=1", "a = '''\n'''",
		"\ufeffa=1\r\n", "a = [\n1, # x\n]\n", "[ x . \"y\" ]\n", "a={b.c=1,b.d=2}", "a\t=\t1979-05-27", "[a]\n[b]\n[a.c]", "\"\\u00e9\" = 1",
		"[[a.b]]\nc=1\n[a.b.d]\ne=2\n[[a.b]]", "a.b=1\na.c=2\n", "x = +inf", "'' = '#' # '",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) { checkPlaces(t, data) })
}
