package plan

import (
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/daemon/transform"
)

// schema is what a shape says to the compiler of expressions.
func (s Shape) schema() transform.Schema {
	out := transform.Schema{Fields: map[string]transform.Type{}, Closed: !s.Unknown && (!s.Record || s.Strict), Other: transform.ParseType(s.other())}
	for _, list := range [][]Field{s.Declared, s.Fields} {
		for _, f := range list {
			if !has(s.Dropped, f.Name) {
				out.Fields[canonical(f.Name)] = transform.ParseType(f.Type)
			}
		}
	}
	return out
}

// canonical writes a path as the expression language does; a name that is no path stays as it is.
func canonical(name string) string {
	if p, err := decode.ParsePath(name); err == nil {
		return p.String()
	}
	return name
}

// expr compiles an expression that stands in a value, or in a part of one that begins skip characters into it, and gives a column called
// name and the type of its values. The pipeline compiles it again when it runs.
func (b *builder) expr(name, src string, v *config.Value, skip int, shape Shape, want transform.Type, what string) (Column, string, bool) {
	col := Column{Name: name, Expr: src}
	at := problem.Place{File: b.cfg.File}
	inside := func(offset, n int) problem.Place { return at }
	if v != nil {
		at = v.Inside(skip, utf8.RuneCountInString(src))
		col.At = at.String()
		inside = func(offset, n int) problem.Place { return v.Inside(skip+offset, n) }
	}
	program, mistakes := transform.Compile(src, shape.schema(), want)
	for _, m := range mistakes {
		b.problem(m.Code, inside(m.Offset, m.Width), m.Hint, "%s: %s", what, m.Summary)
	}
	if program == nil {
		return col, "any", false
	}
	col.Reads = program.Paths()
	if field, plain := program.Field(); plain && !shape.inner(field) {
		col.Field = field
	}
	ok := true
	for _, r := range program.Fields() {
		if _, there := shape.find(r.Path); !there {
			b.problem("TM5002", inside(r.Offset, r.Width), didYouMean(r.Path, shape.names(), "there are"), "%s: there is no field %s", what, r.Path)
			ok = false
		}
	}
	return col, program.Type().String(), ok
}

// field checks the name of a field.
func (b *builder) field(name string, v *config.Value, shape Shape, what string) (typ string, ok bool) {
	at := problem.Place{File: b.cfg.File}
	if v != nil {
		at = v.At
	}
	if shape.Record {
		if _, err := decode.ParsePath(name); err != nil {
			b.problem("TM3010", at, `write a name, or a path such as user.name, items[0] or a["x.y"]`, "%s: %s", what, err)
			return "any", false
		}
	}
	typ, ok = shape.find(name)
	if !ok {
		b.problem("TM3010", at, didYouMean(name, shape.names(), "there are"), "%s: there is no field %q", what, name)
	}
	return typ, ok
}
