package problem

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestALongLineIsCutAroundTheMistake(t *testing.T) {
	long := strings.Repeat("ä", 5000) + "HERE" + strings.Repeat("z", 5000)
	text := Problem{Place: Place{File: "f", Line: 3, Column: 5001, Width: 4}, Summary: "wrong", Source: long}.Error()
	lines := strings.Split(text, "\n")
	require.Equal(t, "f:3:5001: wrong", lines[0], "the place is the one in the file")
	require.Contains(t, lines[1], "3 | …ää")
	require.Contains(t, lines[1], "äHEREz")
	require.True(t, strings.HasSuffix(lines[1], "zz…"))
	require.Less(t, utf8.RuneCountInString(lines[1]), 200)
	require.Equal(t, "HERE", underlined(lines[1], lines[2]))
}

func TestALineOfOrdinaryLengthIsNotCut(t *testing.T) {
	line := strings.Repeat("x", maxExcerpt)
	require.Contains(t, Problem{Place: Place{File: "f", Line: 1, Column: 1, Width: 1}, Source: line}.Error(), "1 | "+line+"\n")
}

// underlined is what stands above the carets.
func underlined(source, carets string) string {
	var out []rune
	chars := []rune(source)
	for i, c := range []rune(carets) {
		if c == '^' && i < len(chars) {
			out = append(out, chars[i])
		}
	}
	return string(out)
}

// TestTheCaretsStandBelowTheMistake wherever it is in whatever line.
func TestTheCaretsStandBelowTheMistake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, behind := rapid.IntRange(0, 400).Draw(t, "before"), rapid.IntRange(0, 400).Draw(t, "behind")
		width := rapid.IntRange(1, 300).Draw(t, "width")
		line := strings.Repeat("é", before) + "[" + strings.Repeat("w", width-1) + strings.Repeat("z", behind)
		text := Problem{Place: Place{File: "f", Line: 1, Column: before + 1, Width: width}, Source: line}.Error()
		lines := strings.Split(text, "\n")
		got := underlined(lines[1], lines[2])
		require.True(t, strings.HasPrefix(got, "["), got)
		require.NotContains(t, got, "é")
		require.NotContains(t, got, "z")
		if width < maxExcerpt/2 {
			require.Equal(t, width, utf8.RuneCountInString(got))
		}
	})
}
