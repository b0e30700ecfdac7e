package transform

import (
	"fmt"
	"strings"
)

// Codes of mistakes in expressions. They are never renumbered.
const (
	CodeSyntax      = "TM5001" // the text is no expression
	CodeField       = "TM5002" // a field that is not there
	CodeFunction    = "TM5003" // a function that is not there
	CodeOperand     = "TM5004" // a value of the wrong type
	CodeArguments   = "TM5005" // too few or too many arguments
	CodeUnsupported = "TM5006" // something that the language does not have here
	CodeConstant    = "TM5007" // a constant that cannot be right: a pattern, a duration, a division by zero
	CodeResult      = "TM5008" // the expression gives something else than what is needed
)

// Mistake is one thing that is wrong with an expression.
type Mistake struct {
	Code    string
	Offset  int // characters before it in the source text
	Width   int // characters to underline, at least 1
	Summary string
	Hint    string // how to mend it; may be empty
}

func (m Mistake) Error() string {
	s := fmt.Sprintf("%s at character %d: %s", m.Code, m.Offset+1, m.Summary)
	if m.Hint != "" {
		s += " (" + m.Hint + ")"
	}
	return s
}

// Mistakes is a list of them as an error.
type Mistakes []Mistake

func (l Mistakes) Error() string {
	lines := make([]string, len(l))
	for i, m := range l {
		lines[i] = m.Error()
	}
	return strings.Join(lines, "\n")
}

// nearest is the candidate that a misspelt name most likely means; "" when none is close.
func nearest(name string, candidates []string) string {
	best, least := "", 1+len(name)/3
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(name), strings.ToLower(c), least); d <= least && (d < least || best == "") {
			best, least = c, d
		}
	}
	return best
}

// editDistance is the number of insertions, deletions, replacements and swaps of neighbours, or more than limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var two, one []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		two, one, row = one, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
