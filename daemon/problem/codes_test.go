package problem

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the reference")

// TestCodesAreInOrder keeps the list readable and free of doubles.
func TestCodesAreInOrder(t *testing.T) {
	last := ""
	for _, c := range Codes() {
		require.Regexp(t, `^TM[1-7]\d{3}$`, c.Code)
		require.Greater(t, c.Code, last)
		require.NotEmpty(t, c.Title, c.Code)
		require.True(t, strings.HasSuffix(c.Meaning, "."), "%s: full sentences", c.Code)
		last = c.Code
		found, ok := Explain(c.Code)
		require.True(t, ok)
		require.Equal(t, c, found)
	}
}

// TestEveryCodeIsExplained looks for codes in the program's source text.
func TestEveryCodeIsExplained(t *testing.T) {
	used := map[string]string{}
	pattern := regexp.MustCompile(`"(TM\d{4})"`)
	for _, dir := range []string{"daemon", "state", "sdk", "plugins", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "problem/codes.go") {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
				used[m[1]] = path
			}
			return nil
		})
		require.NoError(t, err)
	}
	for code, path := range used {
		_, ok := Explain(code)
		require.True(t, ok, "%s in %s is not in daemon/problem/codes.go", code, path)
	}
	for _, c := range Codes() {
		require.NotEmpty(t, used[c.Code], "nothing uses %s", c.Code)
	}
}

// TestReference compares docs/reference/problems.md with the codes.
func TestReference(t *testing.T) {
	const path = "../../docs/reference/problems.md"
	var b strings.Builder
	b.WriteString("# Problems\n\nEvery mistake has a code that never changes its meaning. Messages show the place, the line and a way to mend it; this page says more.\n" +
		"\n<!-- Written by `go test ./daemon/problem -rewrite` from daemon/problem/codes.go. -->\n")
	groups := map[byte]string{
		'1': "Text and structure", '2': "Values", '3': "The graph and what it promises", '4': "Plugins", '5': "Expressions", '6': "State", '7': "Environment",
	}
	last := byte(0)
	for _, c := range Codes() {
		if g := c.Code[2]; g != last {
			fmt.Fprintf(&b, "\n## TM%cxxx: %s\n\n", g, groups[g])
			last = g
		}
		fmt.Fprintf(&b, "**%s**: %s. %s\n\n", c.Code, c.Title, c.Meaning)
	}
	got := strings.TrimRight(b.String(), "\n") + "\n"
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run go test ./daemon/problem -rewrite")
}

func TestAllIsSortedByPlace(t *testing.T) {
	var l List
	l.Add(Problem{Code: "TM3001", Summary: "nowhere"})
	l.Add(Problem{Code: "TM1004", Place: Place{File: "b.toml", Line: 1, Column: 1}, Summary: "b"})
	l.Add(Problem{Code: "TM1004", Place: Place{File: "a.toml", Line: 10, Column: 1}, Summary: "a10"})
	l.Add(Problem{Code: "TM1004", Place: Place{File: "a.toml", Line: 2, Column: 9}, Summary: "a2-9"})
	l.Add(Problem{Code: "TM1004", Place: Place{File: "a.toml", Line: 2, Column: 3}, Severity: Warning, Summary: "a2-3"})
	var got []string
	for _, p := range l.All() {
		got = append(got, p.Summary)
	}
	require.Equal(t, []string{"a2-3", "a2-9", "a10", "b", "nowhere"}, got)
}

func TestTextForm(t *testing.T) {
	p := Problem{Code: "TM2107", Place: Place{File: "pipelines/clicks.toml", Line: 14, Column: 20, Width: 3}, Summary: `allowed_lateness "5" has no unit`,
		Source: `allowed_lateness = "5"`, Hint: `write "5s", "5m" or "5ms"`}
	require.Equal(t, `pipelines/clicks.toml:14:20: TM2107: allowed_lateness "5" has no unit
    14 | allowed_lateness = "5"
       |                    ^^^
    write "5s", "5m" or "5ms"`, p.Error())
	var l List
	require.NoError(t, l.Err())
	p.Severity = Warning
	l.Add(p)
	require.NoError(t, l.Err(), "a warning stops nothing")
	require.Contains(t, p.Error(), "warning: TM2107")
	p.Severity = Error
	l.Add(p)
	require.Error(t, l.Err())
}
