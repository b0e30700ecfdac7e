package config

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// text is a file's content with its lines, to tell places and to quote lines in problems.
type text struct {
	file  string
	data  string
	lines []int // offset of the first byte of each line

	// The place that was told last, so that a line with many values is not counted from its beginning for each of them.
	lastFrom, lastStart, lastColumn int
}

func newText(file, data string) *text {
	t := &text{file: file, data: data, lines: []int{0}, lastColumn: 1}
	for i := range len(data) {
		if data[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// place turns a span into line, column and width in characters. A span of several lines is underlined to the end of its first.
func (t *text) place(s span) problem.Place {
	from := max(0, min(s.from, len(t.data)))
	line := sort.Search(len(t.lines), func(i int) bool { return t.lines[i] > from }) // 1-based: the first line has offset 0
	start := t.lines[line-1]
	if line == 1 {
		start = min(len(bomOf(t.data)), from)
	}
	end := t.end(line)
	to := max(min(s.to, end), from)
	width := max(utf8.RuneCountInString(t.data[from:to]), 1)
	column := 0
	if t.lastStart == start && t.lastFrom <= from {
		column = t.lastColumn + utf8.RuneCountInString(t.data[t.lastFrom:from])
	} else {
		column = utf8.RuneCountInString(t.data[start:from]) + 1
	}
	t.lastFrom, t.lastStart, t.lastColumn = from, start, column
	return problem.Place{File: t.file, Line: line, Column: column, Width: width}
}

// end is the offset after the last byte of a line, without its line end.
func (t *text) end(line int) int {
	end := len(t.data)
	if line < len(t.lines) {
		end = t.lines[line] - 1
	}
	for end > t.lines[line-1] && t.data[end-1] == '\r' {
		end--
	}
	return end
}

// line gives the text of a line, or "" when there is no such line.
func (t *text) line(n int) string {
	if n < 1 || n > len(t.lines) {
		return ""
	}
	s := strings.ToValidUTF8(t.data[t.lines[n-1]:t.end(n)], "\uFFFD")
	if n == 1 {
		s = strings.TrimPrefix(s, "\uFEFF")
	}
	return s
}

// problem makes a problem at a place, with the line it stands in.
func (t *text) problem(code string, at problem.Place, summary, hint string) problem.Problem {
	p := problem.Problem{Code: code, Place: at, Summary: summary, Hint: hint}
	if at.File == t.file && at.Line > 0 {
		p.Source = t.line(at.Line)
	}
	return p
}
