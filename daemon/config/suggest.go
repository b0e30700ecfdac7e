package config

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Suggest gives the name that was probably meant instead of got: the one with the fewest changed, added, missing or swapped
// letters, or "" when none is near. Case and the signs - and _ do not count.
func Suggest(got string, names []string) string {
	got = plain(got)
	if got == "" || len(got) > 100 {
		return ""
	}
	sorted := append([]string(nil), names...)
	sort.Strings(sorted)
	best, bestAt := "", 1+max(1, utf8.RuneCountInString(got)/3)
	for _, name := range sorted {
		if d := distance([]rune(got), []rune(plain(name))); d < bestAt {
			best, bestAt = name, d
		}
	}
	if best != "" {
		return best
	}
	// A long name cut short, or one with something added, is far away by letters but near to people.
	for _, name := range sorted {
		if p := plain(name); len(got) >= 4 && (strings.HasPrefix(p, got) || strings.HasSuffix(p, got) || len(p) >= 4 && (strings.HasPrefix(got, p) || strings.HasSuffix(got, p))) {
			return name
		}
	}
	return ""
}

func plain(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(s), "-", ""), "_", "")
}

// distance is the number of edits between a and b; swapping two neighbours is one.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// didYouMean is the hint for a wrong name: the likely one, or all when there are few.
func didYouMean(got string, names []string) string {
	if s := Suggest(got, names); s != "" {
		return "did you mean " + quote(s) + "?"
	}
	if n := len(names); n > 0 && n <= 40 {
		sorted := append([]string(nil), names...)
		sort.Strings(sorted)
		return "known are: " + strings.Join(sorted, ", ")
	}
	return ""
}

func quote(s string) string { return `"` + s + `"` }
