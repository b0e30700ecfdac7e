package config

import (
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Env looks up an environment variable, as os.LookupEnv does.
type Env func(name string) (string, bool)

// substitute replaces ${NAME} and ${NAME:-default} in every string value (not in keys) of the table. $${ stands for a plain ${. What came from the
// environment is never looked at again, so a variable's content cannot bring in another one.
func substitute(t *text, table *Table, env Env, l *problem.List) {
	for _, k := range table.Keys {
		substituteValue(t, table.values[k], env, l)
	}
}

func substituteValue(t *text, v *Value, env Env, l *problem.List) {
	switch v.Kind {
	case KindTable:
		substitute(t, v.Table, env, l)
	case KindList:
		for _, e := range v.List {
			substituteValue(t, e, env, l)
		}
	case KindString:
		if strings.Contains(v.Str, "${") {
			substituteString(t, v, env, l)
		}
	}
}

func substituteString(t *text, v *Value, env Env, l *problem.List) {
	var b strings.Builder
	rest := v.Raw
	at := func(sub string) problem.Place {
		if i := strings.Index(v.Raw, sub); i >= 0 {
			return v.Inside(len([]rune(v.Raw[:i])), len([]rune(sub)))
		}
		return v.At
	}
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			b.WriteString(rest)
			break
		}
		if i > 0 && rest[i-1] == '$' {
			b.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		b.WriteString(rest[:i])
		rest = rest[i:]
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			l.Add(t.problem("TM2142", at(rest), "${ without a closing }", "write ${NAME} for an environment variable, or $${ for a plain ${"))
			b.WriteString(rest)
			break
		}
		whole := rest[:end+1]
		name, fallback, hasDefault := strings.Cut(whole[2:end], ":-")
		rest = rest[end+1:]
		if !isEnvName(name) {
			l.Add(t.problem("TM2142", at(whole), fmt.Sprintf("%q is no name of an environment variable", name), "write ${NAME} or ${NAME:-default}; $${ stands for a plain ${"))
			continue
		}
		value, ok := env(name)
		switch {
		case ok && (value != "" || !hasDefault):
			b.WriteString(value)
		case hasDefault:
			b.WriteString(fallback)
		default:
			l.Add(t.problem("TM2141", at(whole), fmt.Sprintf("the environment variable %s is not set", name), fmt.Sprintf("set it, or give a default: ${%s:-…}", name)))
		}
	}
	v.Str, v.inner = b.String(), -1
}

func isEnvName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
