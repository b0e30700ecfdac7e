package config

import (
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// TestTooDeepIsToldAtOnce: the library would take minutes, gigabytes and in the end the stack for these.
func TestTooDeepIsToldAtOnce(t *testing.T) {
	n := 100_000
	for name, c := range map[string]struct {
		text         string
		line, column int
	}{
		"brackets that never close":     {"a = " + strings.Repeat("[", n), 1, 5 + maxNesting},
		"brackets that do":              {"a = " + strings.Repeat("[", n) + strings.Repeat("]", n), 1, 5 + maxNesting},
		"a line each":                   {"# a file\na = [\n" + strings.Repeat("[\n", n), 2 + maxNesting, 1},
		"tables in tables":              {"a = " + strings.Repeat("{b=", n), 1, 5 + 3*maxNesting},
		"a dotted key":                  {"a" + strings.Repeat(".a", n) + " = 1", 1, 2 + 2*maxNesting},
		"a header":                      {"[a" + strings.Repeat(".a", n) + "]", 1, 1 + 2*maxNesting},
		"a header of brackets":          {strings.Repeat("[", n), 1, 1 + maxNesting},
		"dotted keys in inline tables":  {"x = " + strings.Repeat("{a.a=", n), 1, 0},
		"behind a string with brackets": {"s = \"[[\"\na = " + strings.Repeat("[", n), 2, 5 + maxNesting},
	} {
		t.Run(name, func(t *testing.T) {
			_, l := Parse("p.toml", []byte(c.text), testEnv)
			var first problem.Problem
			for _, p := range l.All() {
				if p.Code == "TM1012" {
					first = p
				}
				require.Contains(t, []string{"TM1012", "TM1007"}, p.Code)
			}
			require.Equal(t, "TM1012", first.Code)
			require.Equal(t, c.line, first.Line)
			if c.column > 0 {
				require.Equal(t, c.column, first.Column)
			}
			require.Less(t, len(first.Error()), 2000)
		})
	}
}

// TestWhatIsNotDeep: brackets in strings and comments, many values beside each other, and mistakes that have a message of their own.
func TestWhatIsNotDeep(t *testing.T) {
	many := strings.Repeat("[", 1000)
	for _, text := range []string{
		"a = '" + many + "'", "a = \"" + many + "\"", "a = '''\n" + many + "\n'''", "a = 1 # " + many, "a = [" + strings.Repeat("[1.5],", 1000) + "]",
		"a = [" + strings.Repeat("{a.b.c=1.5},", 1000) + "]", strings.Repeat("[[a.b]]\nc.d = 1\n", 1000), "a = [\n" + strings.Repeat("  [1, 2],\n", 1000) + "]",
		"a = " + strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting),
		strings.Repeat("a = [\n", 1000), "a = ...................................................................................",
	} {
		_, deep := tooDeep(text)
		require.False(t, deep, "%.60s", text)
	}
}

// FuzzNesting: what passes is not deep for the library either, and what does not is deep in brackets, braces and dots.
func FuzzNesting(f *testing.F) {
	for _, s := range []string{"a = [[1],{b.c=[2]}]", "[a.b]\nc = '['", "a = [\nb = [\n", "a = \"\"\"[\n\"\"\"\n[[x]]", strings.Repeat("[", 100), "a=" + strings.Repeat("{a=", 70), strings.Repeat("a.", 90) + "a=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		if _, deep := tooDeep(data); deep {
			require.Greater(t, strings.Count(data, "[")+strings.Count(data, "{")+strings.Count(data, "."), maxNesting)
			return
		}
		var m map[string]any
		if _, err := toml.Decode(data, &m); err == nil {
			require.LessOrEqual(t, depthOf(m), 2*maxNesting+3) // a header's parts and those of what stands below it
		}
	})
}

func depthOf(x any) (deepest int) {
	switch x := x.(type) {
	case map[string]any:
		for _, v := range x {
			deepest = max(deepest, 1+depthOf(v))
		}
	case []any:
		for _, v := range x {
			deepest = max(deepest, 1+depthOf(v))
		}
	case []map[string]any:
		for _, v := range x {
			deepest = max(deepest, 1+depthOf(v))
		}
	}
	return deepest
}
