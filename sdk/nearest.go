package sdk

import (
	"maps"
	"slices"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func indexOf(list []string, s string) int { return slices.Index(list, s) }

// nearest is the name in the list that one most likely meant, or "" if none is near: at most a third of the letters may differ.
func nearest(name string, list []string) string {
	best, bestAt := "", max(1, len(name)/3)+1
	for _, s := range list {
		if d := distance(name, s); d < bestAt {
			best, bestAt = s, d
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
