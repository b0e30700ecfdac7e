package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/state/deadletter"
)

// row is a line of JSON, with its numbers as they are written.
type row map[string]any

// rows reads lines, each of which has to be a JSON object in valid UTF-8.
func (t *trial) rows(lines []string) []row {
	t.Helper()
	var out []row
	for _, line := range lines {
		require.True(t, utf8.ValidString(line), "%q", line)
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var r row
		require.NoError(t, d.Decode(&r), "%q", line)
		out = append(out, r)
	}
	return out
}

// rows are the program's rows on stdout so far.
func (p *program) rows() []row { p.t.Helper(); return p.t.rows(p.out.lines()) }

// file reads the rows of a file; a last line may lack its end.
func (t *trial) file(name string) []row {
	t.Helper()
	return t.rows(wholeLines(strings.TrimSuffix(t.read(name), "\n") + "\n"))
}

// same compares results with the rows of a file as a multiset. There windows are key, start, end and aggregates; here they have a key field,
// window_start, window_end and the same aggregates. Keys are compared as text, since numbers in text formats may stay text.
func (t *trial) same(expect, key string, got []row) {
	t.Helper()
	t.sameRows(t.file(expect), key, got)
}

func (t *trial) sameRows(want []row, key string, got []row) {
	t.Helper()
	if len(want) == 0 {
		require.Empty(t, got)
		return
	}
	names := map[string]string{"start": "window_start", "end": "window_end", "key": key}
	line := func(r row, mapped bool) string {
		var b strings.Builder
		for _, f := range slices.Sorted(keysOf(want[0])) {
			from := f
			if to, ok := names[f]; ok && mapped {
				from = to
			}
			fmt.Fprintf(&b, "%s=%v ", f, r[from])
		}
		return b.String()
	}
	t.sameLines(render(want, func(r row) string { return line(r, false) }), render(got, func(r row) string { return line(r, true) }))
}

func keysOf(r row) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range r {
			if !yield(k) {
				return
			}
		}
	}
}

// fields are the values of a field, as text.
func fields(rows []row, name string) []string {
	return render(rows, func(r row) string { return fmt.Sprint(r[name]) })
}

// render makes a text of each row.
func render(rows []row, f func(row) string) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, f(r))
	}
	return out
}

// whole renders all of a row, as JSON with sorted names.
func whole(r row) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// sameLines compares two lists in any order.
func (t *trial) sameLines(want, got []string) {
	t.Helper()
	want, got = slices.Clone(want), slices.Clone(got)
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// last keeps the last row of each key and window.
func last(rows []row, key string) []row {
	at := map[string]int{}
	var out []row
	for _, r := range rows {
		id := fmt.Sprint(r[key], r["window_start"], r["window_end"])
		if i, seen := at[id]; seen {
			out[i] = r
			continue
		}
		at[id] = len(out)
		out = append(out, r)
	}
	return out
}

// letters are the dead letters of a pipeline that has ended.
func (t *trial) letters(pipeline string) []deadletter.Letter {
	t.Helper()
	var out []deadletter.Letter
	dir := t.path("state/" + pipeline + "/deadletters")
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	require.NoError(t, deadletter.Read(vfs.Default, dir, deadletter.Filter{}, func(l deadletter.Letter) error {
		out = append(out, l)
		return nil
	}))
	return out
}

// lettersAre requires the raw texts of the dead letters, in any order.
func (t *trial) lettersAre(pipeline string, raw ...string) []deadletter.Letter {
	t.Helper()
	letters := t.letters(pipeline)
	got := []string{}
	for _, l := range letters {
		require.NotEmpty(t, l.Code)
		require.NotEmpty(t, l.Message)
		got = append(got, string(l.Raw))
	}
	t.sameLines(raw, got)
	return letters
}
