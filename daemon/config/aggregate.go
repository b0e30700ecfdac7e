package config

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Aggregate is one column of a window's result, as written: name = "func(arg, arg)". Which functions there are and what they take is
// the plan's business.
type Aggregate struct {
	Name  string // "" for a window function
	Func  string
	Args  []Arg
	At    problem.Place // the function's name
	Value *Value

	// Of a plugin: Func is "" then.
	Plugin     string
	Options    *Table // nil when it is written as a call
	MaxRecords int    // 0 = the default
	Isolation  string
	places     *Table
}

// Place is where a key of the table stands, or the plugin's name where it is written as a call.
func (a *Aggregate) Place(key string) problem.Place {
	if a.places != nil {
		if v := a.places.Get(key); v != nil {
			return v.At
		}
	}
	return a.At
}

// Arg is one argument of a call: a field, an expression or a number.
type Arg struct {
	Text   string
	At     problem.Place
	Value  *Value // that it stands in
	Offset int    // characters before it in the value
}

// pluginPrefix begins the call of a plugin.
const pluginPrefix = "plugin:"

func (t *Transform) readAggregates(r *reader) {
	v, k := r.get("aggregate")
	if v == nil {
		if !r.has("function") && !r.broken {
			r.report("TM1006", r.table.At, "add aggregate = "+k.Example, "%s is missing", quote("aggregate"))
		}
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
		switch e.Kind {
		case KindString:
			a, at, msg := parseCall(e)
			if msg != "" {
				r.report("TM2151", at, `write a call such as "count()", "sum(price * quantity)" or "quantile(latency, 0.99)"`, "aggregate %s: %s", name, msg)
				continue
			}
			a.Name = name
			t.Aggregate = append(t.Aggregate, a)
		case KindTable:
			if a, ok := readOfWindow(r.of(e.Table, SectionOfWindow), e); ok {
				a.Name = name
				t.Aggregate = append(t.Aggregate, a)
			}
		default:
			r.report("TM1005", e.At, `it takes a call such as "sum(price)"`, "aggregate %s is %s, which it cannot be", name, e.Kind)
		}
	}
}

// readFunction reads a window function.
func (t *Transform) readFunction(r *reader) {
	v, k := r.get("function")
	if v == nil {
		return
	}
	switch v.Kind {
	case KindString:
		a, at, msg := parseCall(v)
		switch {
		case msg != "":
			r.report("TM2151", at, "write function = "+k.Example, "function: %s", msg)
		case a.Plugin == "":
			r.report("TM2151", a.At, fmt.Sprintf("write %q for a plugin that is a window function; %s belongs under aggregate", pluginPrefix+a.Func+"(…)", a.Func), "function: %q names no plugin", a.Func)
		default:
			t.Function = &a
		}
	case KindTable:
		if a, ok := readOfWindow(r.of(v.Table, SectionOfWindow), v); ok {
			t.Function = &a
		}
	default:
		r.report("TM1005", v.At, "it takes a call such as "+k.Example+", or a table", "function is %s, which it cannot be", v.Kind)
	}
}

// readOfWindow reads the table of a plugin that works on windows.
func readOfWindow(r *reader, v *Value) (Aggregate, bool) {
	a := Aggregate{Plugin: r.str("plugin"), At: v.At, Value: v, MaxRecords: int(r.integer("max_records")), Isolation: r.str("isolation"), places: v.Table}
	if p := v.Table.Get("plugin"); p != nil {
		a.At = p.At
	}
	for _, arg := range r.strings("args") {
		a.Args = append(a.Args, Arg{Text: arg.Str, At: arg.At, Value: arg})
	}
	a.Options = v.Table.without(r.known())
	r.open = true
	r.done()
	return a, a.Plugin != ""
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
	plugin := strings.HasPrefix(s[i:], pluginPrefix)
	if plugin {
		i += len(pluginPrefix)
	}
	start := i
	for i < len(s) && (s[i] == '_' || s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z' || s[i] >= '0' && s[i] <= '9') {
		i++
	}
	what := "function"
	if plugin {
		what = "plugin behind " + quote(pluginPrefix)
	}
	if i == start {
		return a, v.At, quote(s) + " does not begin with the name of a " + what
	}
	name := s[start:i]
	a = Aggregate{Func: name, At: inside(start, i), Value: v}
	if plugin {
		a.Func, a.Plugin = "", name
	}
	for i < len(s) && s[i] == ' ' {
		i++
	}
	if i >= len(s) || s[i] != '(' {
		return a, v.At, quote(s) + " is no call: ( is missing after " + name
	}
	i++
	from, depth, closed := i, 0, -1
	arg := func(to int) {
		text := strings.TrimSpace(s[from:to])
		lead := len(s[from:to]) - len(strings.TrimLeft(s[from:to], " \t\r\n"))
		a.Args = append(a.Args, Arg{Text: text, At: inside(from+lead, from+lead+len(text)), Value: v, Offset: chars(from + lead)})
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
