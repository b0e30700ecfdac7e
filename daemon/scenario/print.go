package scenario

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Width is the number of characters that a comparison may take.
const Width = 160

// Print writes the results for people: a line for each case, and for those that failed what was expected beside what came.
func (r *Result) Print(w io.Writer, verbose bool) {
	for _, c := range r.Cases {
		if c.Passed {
			if verbose {
				fmt.Fprintf(w, "ok    %s (%.1f ms)\n", c.Name, 1000*c.Seconds)
			}
			continue
		}
		fmt.Fprintf(w, "FAIL  %s: %s\n", c.Place, c.Name)
		if c.Error != "" {
			fmt.Fprintf(w, "      %s\n", c.Error)
		}
		for _, m := range c.Failures {
			m.print(w)
		}
	}
}

func (m *Mismatch) print(w io.Writer) {
	where := "at the end of the case"
	if m.Step > 0 {
		where = fmt.Sprintf("step %d", m.Step)
	}
	order := "in this order"
	if m.Order == AnyOrder {
		order = "in any order"
	}
	fmt.Fprintf(w, "      %s: %s, %s, %s: %d rows expected, %d came\n", m.Place, m.Component, where, order, len(m.Expected), len(m.Actual))
	left := len("expected")
	for _, l := range m.lines {
		if l.expected != nil {
			left = max(left, utf8.RuneCountInString(*l.expected))
		}
	}
	if left > (Width-12)/2 { // no room for both: one above the other
		for _, l := range m.lines {
			switch {
			case l.same:
				fmt.Fprintf(w, "          %s\n", *l.actual)
			default:
				if l.expected != nil {
					fmt.Fprintf(w, "        - %s\n", *l.expected)
				}
				if l.actual != nil {
					fmt.Fprintf(w, "        + %s\n", *l.actual)
				}
				l.explain(w)
			}
		}
		return
	}
	fmt.Fprintf(w, "          %s   actual\n", pad("expected", left))
	for _, l := range m.lines {
		sign, expected, actual := "≠", "", ""
		switch {
		case l.same:
			sign = " "
		case l.actual == nil:
			sign = "-"
		case l.expected == nil:
			sign = "+"
		}
		if l.expected != nil {
			expected = *l.expected
		}
		if l.actual != nil {
			actual = *l.actual
		}
		fmt.Fprintf(w, "        %s %s\n", sign, strings.TrimRight(pad(expected, left)+"   "+actual, " "))
		l.explain(w)
	}
}

// explain names the fields that differ.
func (l line) explain(w io.Writer) {
	if l.same || l.expected == nil || l.actual == nil {
		return
	}
	for _, d := range differences(*l.expected, *l.actual) {
		fmt.Fprintf(w, "            %s\n", d)
	}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}
