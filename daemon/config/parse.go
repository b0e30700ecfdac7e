package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// maxFile bounds what is read as configuration, so that a wrong path (a log, a device) gives a message instead of a full memory.
const maxFile = 8 << 20

// maxSyntaxErrors bounds how many syntax errors are told at once; the first ones are what a reader can act on.
const maxSyntaxErrors = 10

// parseText turns a text into a table with places. A nil table says that nothing sensible can follow. Broken says that some lines were
// refused and left out, so that what is missing may only be missing because of them.
func parseText(t *text, l *problem.List) (root *Table, broken bool) {
	if !checkEncoding(t, l) {
		return nil, true
	}
	data := t.data[len(bomOf(t.data)):]
	shift := len(t.data) - len(data)
	if at, deep := tooDeep(t.data); deep {
		l.Add(t.problem("TM1012", t.place(at), fmt.Sprintf("more than %d brackets, braces and parts of a key stand in each other", maxNesting), "pipelines need a few; is this the file that was meant, and is a closing bracket missing?"))
		return nil, true
	}
	lastLine := 0
	for n := 0; ; n++ {
		var m map[string]any
		_, err := toml.Decode(data, &m)
		if err == nil {
			b := &build{text: t, spots: scan(strings.Repeat(" ", shift) + data).spots}
			return b.table("", m), broken
		}
		broken = true
		// Keys given twice: all of them are found at once, and the later ones are left out for the checks that follow.
		if twice := scan(data).twice; len(twice) > 0 {
			before := data
			for _, d := range twice {
				first, second := t.place(d.first.move(shift)), t.place(d.second.move(shift))
				what := quote(lastKey(d.path))
				if d.header {
					what = "[" + strings.ReplaceAll(d.path, pathSep, ".") + "]"
				}
				l.Add(t.problem("TM1003", second, what+" is given twice",
					fmt.Sprintf("it stands at line %d already; a name or key may be given once", first.Line)))
				data = blank(data, d.region)
			}
			if data == before {
				return nil, true
			}
			continue
		}
		at, message, ok := syntaxError(t, err, shift)
		if !ok || at.Line <= lastLine || n >= maxSyntaxErrors || n > 0 && !looksLikePair(t.line(at.Line)) {
			if n == 0 {
				l.Add(t.problem("TM1001", at, message, syntaxHint(t.line(at.Line))))
			}
			return nil, true
		}
		l.Add(t.problem("TM1001", at, message, syntaxHint(t.line(at.Line))))
		if !looksLikePair(t.line(at.Line)) {
			return nil, true
		}
		lastLine = at.Line
		data = blank(data, span{t.lines[at.Line-1], t.end(at.Line)}.move(-shift))
	}
}

func (s span) move(by int) span { return span{s.from + by, s.to + by} }

// blank replaces what stands in s by spaces, keeping line ends, so that places stay the same.
func blank(data string, s span) string {
	from, to := max(s.from, 0), min(s.to, len(data))
	if from >= to {
		return data
	}
	b := []byte(data)
	for i := from; i < to; i++ {
		if b[i] != '\n' && b[i] != '\r' {
			b[i] = ' '
		}
	}
	return string(b)
}

func checkEncoding(t *text, l *problem.List) bool {
	at := problem.Place{File: t.file, Line: 1, Column: 1, Width: 1}
	if strings.HasPrefix(t.data, "\xff\xfe") || strings.HasPrefix(t.data, "\xfe\xff") || strings.IndexByte(t.data[:min(len(t.data), 8)], 0) >= 0 {
		l.Add(problem.Problem{Code: "TM1002", Place: at, Summary: "the file is not UTF-8 (it looks like UTF-16)", Hint: "save it as UTF-8"})
		return false
	}
	for i := 0; i < len(t.data); {
		r, n := utf8.DecodeRuneInString(t.data[i:])
		if r == utf8.RuneError && n == 1 {
			l.Add(t.problem("TM1002", t.place(span{i, i + 1}), fmt.Sprintf("the byte 0x%02x is not UTF-8", t.data[i]), "save the file as UTF-8"))
			return false
		}
		i += n
	}
	return true
}

// syntaxError gives the place and the message of an error of the TOML library.
func syntaxError(t *text, err error, shift int) (at problem.Place, message string, ok bool) {
	var pe toml.ParseError
	if !errors.As(err, &pe) {
		return problem.Place{File: t.file}, "this is not TOML: " + err.Error(), false
	}
	from := max(0, min(pe.Position.Start+shift, len(t.data)))
	// At the end of the text, and at a line end, the place is the last character that is there.
	for from > 0 && (from == len(t.data) || t.data[from] == '\n' || t.data[from] == '\r') && t.data[from-1] != '\n' {
		from--
	}
	for from > 0 && from < len(t.data) && !utf8.RuneStart(t.data[from]) {
		from--
	}
	at = t.place(span{from, from + max(pe.Position.Len, 1)})
	return at, "this is not TOML: " + strings.TrimSuffix(pe.Message, "."), true
}

// looksLikePair is true for a line that is one `key = value`.
func looksLikePair(line string) bool {
	s := &scanner{text: line, spots: map[string]spot{}, count: map[string]int{}}
	keys, _ := s.dotted()
	s.blank(false)
	return len(keys) > 0 && s.at < len(line) && line[s.at] == '='
}

// syntaxHint recognises the most usual slip: a text without quotes.
func syntaxHint(line string) string {
	key, value, ok := strings.Cut(line, "=")
	if !ok {
		return ""
	}
	value, _, _ = strings.Cut(value, " #")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case value == "":
		return "a value is missing after ="
	case strings.ContainsAny(value, "\"'[]{}"), len(value) > 80:
		return ""
	}
	return fmt.Sprintf("text stands in quotes: %s = %q", key, value)
}

func lastKey(path string) string {
	return path[strings.LastIndex(path, pathSep)+1:]
}
