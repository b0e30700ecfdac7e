package plan

import (
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// ExprChecker compiles expressions, to know what they read and give.
type ExprChecker interface {
	// Check compiles src for rows of which typeOf tells the type of a field: ok is false for fields that rows cannot have.
	Check(src string, typeOf func(field string) (typ string, ok bool)) (ExprInfo, []ExprMistake)
}

// ExprInfo is what is known about an expression.
type ExprInfo struct {
	Reads []string // the fields it reads, as column names
	Type  string   // of its value: "any", "bool", "int", "float", "number", "string", "timestamp", "json"
	Field string   // when the expression is a field and nothing else
}

// ExprMistake is a mistake in an expression.
type ExprMistake struct {
	Offset, Length int // in characters
	Message        string
	Hint           string
}

// expr checks an expression that stands in a value, or in a part of one that begins skip characters into it. It gives a column called name.
func (b *builder) expr(name, src string, v *config.Value, skip int, shape Shape, what string) (Column, string, bool) {
	col := Column{Name: name, Expr: src}
	at := problem.Place{File: b.cfg.File}
	if v != nil {
		at = v.Inside(skip, utf8.RuneCountInString(src))
		col.At = at.String()
	}
	var unknown []string
	info, mistakes := b.exprs.Check(src, func(field string) (string, bool) {
		t, ok := shape.find(field)
		if !ok && !has(unknown, field) {
			unknown = append(unknown, field)
		}
		return t, ok
	})
	for _, m := range mistakes {
		place := at
		if v != nil {
			place = v.Inside(skip+m.Offset, m.Length)
		}
		b.problem("TM5001", place, m.Hint, "%s: %s", what, m.Message)
	}
	col.Reads, col.Field = info.Reads, info.Field
	if len(mistakes) > 0 {
		return col, "any", false
	}
	for _, f := range unknown {
		b.problem("TM3010", at, didYouMean(f, shape.names(), "there are"), "%s: there is no field %q", what, f)
	}
	return col, info.Type, len(unknown) == 0
}

// field checks the name of a field.
func (b *builder) field(name string, v *config.Value, shape Shape, what string) (typ string, ok bool) {
	typ, ok = shape.find(name)
	if !ok {
		at := problem.Place{File: b.cfg.File}
		if v != nil {
			at = v.At
		}
		b.problem("TM3010", at, didYouMean(name, shape.names(), "there are"), "%s: there is no field %q", what, name)
	}
	return typ, ok
}
