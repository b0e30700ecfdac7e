package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/config"
)

// expectedRow is a row as a case gives it: text that must be equal, or an object with exactly these fields.
type expectedRow struct {
	text   string
	fields any // of a table, as JSON gives it; nil for text
}

func newExpected(v *config.Value) expectedRow {
	if v.Kind == config.KindString {
		return expectedRow{text: v.Str}
	}
	text, err := object(v.Table)
	if err != nil {
		return expectedRow{text: err.Error()}
	}
	return expectedRow{text: string(text), fields: parse(string(text))}
}

// matches reports whether a row that came out is the expected one. The fields of a table may come in any order; 5 and 5.0 are equal, and
// so are two ways to write one moment.
func (e expectedRow) matches(actual string) bool {
	if e.fields == nil {
		return e.text == actual
	}
	got := parse(actual)
	return got != nil && equal(e.fields, got)
}

func parse(text string) any {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return nil
	}
	return v
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(m) != len(a) {
			return false
		}
		for k, v := range a {
			w, there := m[k]
			if !there || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		l, ok := b.([]any)
		if !ok || len(l) != len(a) {
			return false
		}
		for i := range a {
			if !equal(a[i], l[i]) {
				return false
			}
		}
		return true
	case json.Number:
		n, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, xok := new(big.Rat).SetString(a.String())
		y, yok := new(big.Rat).SetString(n.String())
		return a == n || xok && yok && x.Cmp(y) == 0
	}
	if s, ok := a.(string); ok && a != b {
		other, ok := b.(string)
		return ok && sameMoment(s, other)
	}
	return a == b
}

// sameMoment reports whether two texts are the same time written in two ways.
func sameMoment(a, b string) bool {
	if len(a) < len("2026-01-01T00:00:00Z") || len(b) < len("2026-01-01T00:00:00Z") {
		return false
	}
	x, err := time.Parse(time.RFC3339Nano, a)
	if err != nil {
		return false
	}
	y, err := time.Parse(time.RFC3339Nano, b)
	return err == nil && x.Equal(y)
}

// line is a row of a comparison: what was expected, what came, or both.
type line struct {
	expected, actual *string
	same             bool
}

// compare lays expected and actual rows side by side.
func compare(expected []expectedRow, actual []string, order Order) ([]line, bool) {
	if order == AnyOrder {
		return compareAny(expected, actual)
	}
	lines := align(expected, actual)
	for _, l := range lines {
		if !l.same {
			return lines, false
		}
	}
	return lines, true
}

// compareAny pairs rows that are equal, wherever they stand, and puts the rest behind.
func compareAny(expected []expectedRow, actual []string) ([]line, bool) {
	used := make([]bool, len(actual))
	var lines []line
	var missing []*string
	for i := range expected {
		found := false
		for k := range actual {
			if !used[k] && expected[i].matches(actual[k]) {
				used[k], found = true, true
				lines = append(lines, line{&expected[i].text, &actual[k], true})
				break
			}
		}
		if !found {
			missing = append(missing, &expected[i].text)
		}
	}
	var surplus []*string
	for k := range actual {
		if !used[k] {
			surplus = append(surplus, &actual[k])
		}
	}
	same := len(missing) == 0 && len(surplus) == 0
	nearestFirst(missing, surplus)
	return append(lines, pair(missing, surplus)...), same
}

// nearestFirst orders what came so that rows stand beside those that they resemble most.
func nearestFirst(missing, surplus []*string) {
	if len(missing)*len(surplus) > 10_000 {
		return
	}
	for i := range min(len(missing), len(surplus)) {
		best := i
		for k := i + 1; k < len(surplus); k++ {
			if alike(*missing[i], *surplus[k]) > alike(*missing[i], *surplus[best]) {
				best = k
			}
		}
		surplus[i], surplus[best] = surplus[best], surplus[i]
	}
}

// alike counts what two rows have in common: fields, or characters from the left.
func alike(a, b string) int {
	x, xok := parse(a).(map[string]any)
	y, yok := parse(b).(map[string]any)
	n := 0
	if xok && yok {
		for k, v := range x {
			if w, there := y[k]; there && equal(v, w) {
				n++
			}
		}
		return n
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// differences names the fields in which two objects differ; nil when one of them is none, or they have nothing in common.
func differences(expected, actual string) []string {
	x, xok := parse(expected).(map[string]any)
	y, yok := parse(actual).(map[string]any)
	if !xok || !yok || alike(expected, actual) == 0 {
		return nil
	}
	names := map[string]bool{}
	for k := range x {
		names[k] = true
	}
	for k := range y {
		names[k] = true
	}
	if equal(x, y) {
		return []string{"these are the same values, written in another way: an expected row that is a table compares values"}
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(names)) {
		v, in := x[k]
		w, came := y[k]
		switch {
		case !came:
			out = append(out, fmt.Sprintf("%s: %s expected, but the field is not there", k, inJSON(v)))
		case !in:
			out = append(out, fmt.Sprintf("%s: %s came, and no such field was expected", k, inJSON(w)))
		case !equal(v, w):
			out = append(out, fmt.Sprintf("%s: %s expected, %s came", k, inJSON(v), inJSON(w)))
		}
	}
	return out
}

func inJSON(v any) string {
	var b bytes.Buffer
	if err := encode(&b, v); err != nil {
		return err.Error()
	}
	return b.String()
}

// align finds the longest common run of rows and shows what lies between side by side.
func align(expected []expectedRow, actual []string) []line {
	n, m := len(expected), len(actual)
	if n*m > 4_000_000 { // too long for a table: as they stand
		return alignPlain(expected, actual)
	}
	match := make([][]bool, n)
	best := make([][]int32, n+1)
	best[n] = make([]int32, m+1)
	for i := n - 1; i >= 0; i-- {
		match[i], best[i] = make([]bool, m), make([]int32, m+1)
		for k := m - 1; k >= 0; k-- {
			match[i][k] = expected[i].matches(actual[k])
			best[i][k] = max(best[i+1][k], best[i][k+1])
			if match[i][k] {
				best[i][k] = max(best[i][k], best[i+1][k+1]+1)
			}
		}
	}
	var lines []line
	var missing, surplus []*string
	flush := func() {
		lines = append(lines, pair(missing, surplus)...)
		missing, surplus = nil, nil
	}
	i, k := 0, 0
	for i < n && k < m {
		switch {
		case match[i][k] && best[i][k] == best[i+1][k+1]+1:
			flush()
			lines = append(lines, line{&expected[i].text, &actual[k], true})
			i, k = i+1, k+1
		case best[i+1][k] >= best[i][k+1]:
			missing = append(missing, &expected[i].text)
			i++
		default:
			surplus = append(surplus, &actual[k])
			k++
		}
	}
	for ; i < n; i++ {
		missing = append(missing, &expected[i].text)
	}
	for ; k < m; k++ {
		surplus = append(surplus, &actual[k])
	}
	flush()
	return lines
}

func alignPlain(expected []expectedRow, actual []string) []line {
	var lines []line
	for i := range max(len(expected), len(actual)) {
		var l line
		if i < len(expected) {
			l.expected = &expected[i].text
		}
		if i < len(actual) {
			l.actual = &actual[i]
		}
		l.same = l.expected != nil && l.actual != nil && expected[i].matches(actual[i])
		lines = append(lines, l)
	}
	return lines
}

func pair(missing, surplus []*string) []line {
	var lines []line
	for i := range max(len(missing), len(surplus)) {
		var l line
		if i < len(missing) {
			l.expected = missing[i]
		}
		if i < len(surplus) {
			l.actual = surplus[i]
		}
		lines = append(lines, l)
	}
	return lines
}
