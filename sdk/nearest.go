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

// distance counts letters that are wrong, missing, too many, or swapped with their neighbour.
func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			d := row[j]
			if a[i] != b[j] {
				d++
			}
			d = min(d, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			next[j+1] = d
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
