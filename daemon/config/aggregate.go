package config

import (
	"strings"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Aggregate is one column of a window's result, as written: name = "func(arg, arg)". Which functions there are and what they take is
// the plan's business.
type Aggregate struct {
	Name  string
	Func  string
	Args  []Arg
	At    problem.Place // the function's name
	Value *Value
}

// Arg is one argument of a call: a field, an expression or a number.
type Arg struct {
	Text   string
	At     problem.Place
	Offset int // characters before it in the value
}

func (t *Transform) readAggregates(r *reader) {
	v, k := r.get("aggregate")
	if v == nil {
		return
	}
	if v.Kind != KindTable {
		r.wrongType(v, k)
		return
	}
	if v.Table.Len() == 0 {
		r.report("TM1006", v.At, `add a column such as events = "count()"`, "aggregate is empty")
	}
	for _, name := range v.Table.Keys {
		e := v.Table.Get(name)
		if e.Kind != KindString {
			r.report("TM1005", e.At, `it takes a call such as "sum(price)"`, "aggregate %s is %s, which it cannot be", name, e.Kind)
			continue
		}
		a, at, msg := parseCall(e)
		if msg != "" {
			r.report("TM2151", at, `write a call such as "count()", "sum(price * quantity)" or "quantile(latency, 0.99)"`, "aggregate %s: %s", name, msg)
			continue
		}
		a.Name = name
		t.Aggregate = append(t.Aggregate, a)
	}
}

// parseCall takes "f(a, b)" apart. Arguments are cut at commas outside parentheses, brackets, braces and quotes; what is inside is not looked
// at.
func parseCall(v *Value) (a Aggregate, at problem.Place, msg string) {
	s := v.Str
	chars := func(i int) int { return utf8.RuneCountInString(s[:i]) }
	inside := func(from, to int) problem.Place { return v.Inside(chars(from), utf8.RuneCountInString(s[from:to])) }
	i := 0
	for i < len(s) && s[i] == ' ' {
		i++
	}
	start := i
	for i < len(s) && (s[i] == '_' || s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z' || s[i] >= '0' && s[i] <= '9') {
		i++
	}
	if i == start {
		return a, v.At, quote(s) + " does not begin with the name of a function"
	}
	a = Aggregate{Func: s[start:i], At: inside(start, i), Value: v}
	for i < len(s) && s[i] == ' ' {
		i++
	}
	if i >= len(s) || s[i] != '(' {
		return a, v.At, quote(s) + " is no call: ( is missing after " + a.Func
	}
	i++
	from, depth, closed := i, 0, -1
	arg := func(to int) {
		text := strings.TrimSpace(s[from:to])
		lead := len(s[from:to]) - len(strings.TrimLeft(s[from:to], " \t\r\n"))
		a.Args = append(a.Args, Arg{Text: text, At: inside(from+lead, from+lead+len(text)), Offset: chars(from + lead)})
		from = to + 1
	}
	for ; i < len(s) && closed < 0; i++ {
		switch c := s[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth > 0 {
				depth--
			} else if c == ')' {
				if strings.TrimSpace(s[from:i]) != "" || len(a.Args) > 0 {
					arg(i)
				}
				closed = i
			} else {
				return a, inside(i, i+1), "the bracket does not fit"
			}
		case ',':
			if depth == 0 {
				arg(i)
			}
		case '"', '\'', '`':
			end := i + 1
			for end < len(s) && s[end] != c {
				if s[end] == '\\' && c != '`' {
					end++
				}
				end++
			}
			if end >= len(s) {
				return a, inside(i, len(s)), "the quote is not closed"
			}
			i = end
		}
	}
	switch {
	case closed < 0:
		return a, v.At, quote(s) + " has no closing )"
	case strings.TrimSpace(s[closed+1:]) != "":
		return a, inside(closed+1, len(s)), quote(strings.TrimSpace(s[closed+1:])) + " does not belong behind the call"
	}
	for _, arg := range a.Args {
		if arg.Text == "" {
			return a, v.At, quote(s) + " has an empty argument"
		}
	}
	return a, v.At, ""
}
