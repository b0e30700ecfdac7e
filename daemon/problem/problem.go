// Package problem holds what is wrong, where, and how to mend it, as data first and text second, so that people, tests and
// --json see the same.
//
// Functions that check input add to a [List] and go on, so that a user sees every mistake at once; they stop only when
// nothing sensible can follow.
package problem

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// Severity tells whether a problem stops what was asked for.
type Severity uint8

const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Place is where in the input a problem stands. The zero value means nowhere in particular; Line and Column count from 1, the
// column in characters.
type Place struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Width  int    `json:"width,omitempty"` // characters to underline
}

func (p Place) String() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Problem is one mistake. Code is stable and never renumbered (TM1xxx: TOML and structure, TM2xxx: values, TM3xxx: the graph and
// what it promises, TM4xxx: plugins, TM5xxx: expressions, TM6xxx: state, TM7xxx: the environment).
type Problem struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Place
	Summary string `json:"summary"`          // what is wrong, one line, no full stop
	Source  string `json:"source,omitempty"` // the offending line as it stands in the file
	Hint    string `json:"hint,omitempty"`   // how to mend it
}

// Error gives the text form:
//
//	pipelines/clicks.toml:14:20: TM2107: allowed_lateness "5" has no unit
//	    14 | allowed_lateness = "5"
//	       |                    ^^^
//	    write "5s", "5m" or "5ms"
func (p Problem) Error() string {
	var b strings.Builder
	if at := p.Place.String(); at != "" {
		b.WriteString(at + ": ")
	}
	if p.Severity == Warning {
		b.WriteString("warning: ")
	}
	if p.Code != "" {
		b.WriteString(p.Code + ": ")
	}
	b.WriteString(p.Summary)
	if p.Source != "" && p.Line > 0 {
		num := fmt.Sprint(p.Line)
		source, before := excerpt(p.Source, max(p.Column-1, 0), max(p.Width, 1))
		fmt.Fprintf(&b, "\n    %s | %s", num, strings.ReplaceAll(source, "\t", " "))
		under := max(min(max(p.Width, 1), utf8.RuneCountInString(source)-before), 1)
		fmt.Fprintf(&b, "\n    %s | %s%s", strings.Repeat(" ", len(num)), strings.Repeat(" ", before), strings.Repeat("^", under))
	}
	if p.Hint != "" {
		for _, line := range strings.Split(p.Hint, "\n") {
			b.WriteString("\n    " + line)
		}
	}
	return b.String()
}

// maxExcerpt is how many characters of a line are shown. Lines of files that people write are shorter.
const maxExcerpt = 160

// excerpt gives what is shown of a line with a mistake of some width behind the given number of characters, and how many characters
// stand before the mistake in that. A line that is too long is cut around the mistake; … stands where something was left out.
func excerpt(line string, before, width int) (string, int) {
	if len(line) <= maxExcerpt {
		return line, before
	}
	chars := []rune(line)
	if len(chars) <= maxExcerpt {
		return line, before
	}
	before = min(before, len(chars))
	from := max(before-maxExcerpt/2, 0)
	if width < maxExcerpt/2 { // all of the mistake is shown with as much before it as behind
		from = max(before+width/2-maxExcerpt/2, 0)
	}
	from = min(from, len(chars)-maxExcerpt)
	to := from + maxExcerpt
	out := string(chars[from:to])
	if to < len(chars) {
		out += "…"
	}
	if from > 0 {
		return "…" + out, before - from + 1
	}
	return out, before
}

// List collects problems. The zero value is ready to use.
type List struct{ problems []Problem }

// Add appends p.
func (l *List) Add(p Problem) { l.problems = append(l.problems, p) }

// Errorf appends an error at a place.
func (l *List) Errorf(code string, at Place, format string, args ...any) {
	l.Add(Problem{Code: code, Place: at, Summary: fmt.Sprintf(format, args...)})
}

// Append takes over all of other.
func (l *List) Append(other List) { l.problems = append(l.problems, other.problems...) }

// All returns the problems sorted by file, line and column; those without a place come last.
func (l *List) All() []Problem {
	out := append([]Problem(nil), l.problems...)
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].Place, out[j].Place
		if (a.Line == 0) != (b.Line == 0) {
			return b.Line == 0
		}
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	return out
}

// Len is the number of problems, warnings included.
func (l *List) Len() int { return len(l.problems) }

// HasErrors is true when something other than warnings was added.
func (l *List) HasErrors() bool {
	for _, p := range l.problems {
		if p.Severity == Error {
			return true
		}
	}
	return false
}

// Err returns an *Errors over all problems, or nil when there is no error among them.
func (l *List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return &Errors{Problems: l.All()}
}

// Errors is a List as an error.
type Errors struct{ Problems []Problem }

func (e *Errors) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = p.Error()
	}
	return strings.Join(parts, "\n")
}

func (e *Errors) MarshalJSON() ([]byte, error) { return json.Marshal(e.Problems) }
