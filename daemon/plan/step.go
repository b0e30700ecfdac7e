package plan

import (
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/transform"
	"github.com/tidemark-stream/tidemark/sdk"
)

func (b *builder) step(t *config.Transform) {
	inputs, shape, complete := b.inputsOf(t.Inputs)
	if !complete {
		b.broken[t.Name] = true
		// What is read is not known, so no field can be called unknown.
		shape = Shape{Unknown: true}
	}
	s := &Step{Name: t.Name, Type: t.Type, Inputs: inputs}
	b.eventTime[t.Name] = b.timeOf(t.Inputs)
	ports := map[Port]Shape{Errors: DeadLetterShape()}
	switch t.Type {
	case config.TransformWindow:
		s.Window = b.window(t, shape)
		s.Output = windowShape(s.Window, shape)
		ports[Late] = shape.late()
	case config.TransformFilter:
		s.Filter, s.Output = b.filter(t, shape), shape
	case config.TransformMap:
		s.Map, s.Output = b.mapping(t, shape)
	case config.TransformUnnest:
		s.Unnest, s.Output = b.unnest(t, shape)
	case config.TransformDedup:
		s.Dedup, s.Output = b.dedup(t, shape), shape
	case config.TransformPlugin:
		s.Plugin, s.Output = b.foreign(t, shape)
	default:
		b.broken[t.Name] = true
		s.Output = Shape{Unknown: true}
	}
	for i := range s.Inputs {
		s.Inputs[i].Computed = innerColumns(s.Inputs[i].Shape, s.byName())
	}
	b.plan.Steps = append(b.plan.Steps, s)
	ports[Main] = s.Output
	if s.Window != nil {
		ports[Main] = b.folds(s, s.Output)
	}
	b.ports[t.Name] = ports
}

func (b *builder) filter(t *config.Transform, shape Shape) *Column {
	if t.Where.Text == "" {
		return &Column{}
	}
	col, _, _ := b.expr("", t.Where.Text, t.Where.Value, 0, shape, transform.TypeBool, "where")
	return &col
}

func (b *builder) mapping(t *config.Transform, in Shape) (*Map, Shape) {
	m, out := &Map{}, in
	for _, n := range t.Set {
		col, typ, _ := b.expr(n.Name, n.Text, n.Value, 0, in, transform.TypeAny, "set."+n.Name)
		m.Set = append(m.Set, col)
		out = out.with(Field{n.Name, typ})
	}
	for _, n := range t.Rename {
		typ, ok := out.find(n.Name)
		if !ok {
			b.field(n.Name, keyOf(n), out, "rename")
			out = out.with(Field{n.Text, "any"}) // what is wrong is the old name
			continue
		}
		if _, taken := knownField(out, n.Text); taken {
			b.problem("TM3011", n.Value.At, "drop the other one before, in a map of its own, or choose another name", "rename: there is a field %q already", n.Text)
			continue
		}
		m.Rename = append(m.Rename, Rename{n.Name, n.Text})
		out = out.drop(n.Name).with(Field{n.Text, typ})
	}
	for _, n := range t.Drop {
		if _, ok := b.field(n.Name, n.Value, out, "drop"); ok {
			m.Drop = append(m.Drop, n.Name)
			out = out.drop(n.Name)
		}
	}
	if len(t.Keep) > 0 {
		var kept Shape
		for _, n := range t.Keep {
			typ, ok := b.field(n.Name, n.Value, out, "keep")
			if !ok {
				typ = "any"
			}
			m.Keep = append(m.Keep, n.Name)
			kept.Fields = append(kept.Fields, Field{n.Name, typ})
		}
		out = kept
	}
	return m, out
}

// keyOf is a value that stands for a key, for its place.
func keyOf(n config.Named) *config.Value {
	v := *n.Value
	v.At = v.KeyAt
	return &v
}

// knownField finds a field that is certainly there.
func knownField(s Shape, name string) (string, bool) {
	for _, f := range s.Fields {
		if f.Name == name {
			return f.Type, true
		}
	}
	for _, f := range s.Declared {
		if s.Strict && f.Name == name && !has(s.Dropped, name) {
			return f.Type, true
		}
	}
	return "", false
}

func (b *builder) unnest(t *config.Transform, in Shape) (*Unnest, Shape) {
	u := &Unnest{Field: t.Field.Text, As: t.As, Index: t.Index}
	if u.As == "" {
		u.As = u.Field
	}
	if u.Field == "" {
		return u, in
	}
	if typ, ok := b.field(u.Field, t.Field.Value, in, "field"); ok && typ != "any" && typ != "json" && typ != "list" {
		b.problem("TM5004", t.Field.Value.At, "", "unnest needs an array, and %s is of type %s", u.Field, typ)
	}
	out := in
	out.Split = true
	if u.As != u.Field {
		out = out.drop(u.Field)
	}
	out = out.with(Field{u.As, "any"})
	if u.Index != "" {
		out = out.with(Field{u.Index, "int"})
	}
	return u, out
}

func (b *builder) dedup(t *config.Transform, in Shape) *Dedup {
	d := &Dedup{Within: t.Within}
	for _, n := range t.KeyBy {
		if _, ok := b.field(n.Name, n.Value, in, "key_by"); ok {
			d.Keys = append(d.Keys, n.Name)
		}
	}
	b.needsEventTime(t, "a dedup")
	return d
}

// needsEventTime reports a step that works on event time and gets none.
func (b *builder) needsEventTime(t *config.Transform, what string) {
	if u := b.eventTime[t.Name]; len(u.processing) > 0 {
		b.problem("TM3104", t.At, "add [sources."+u.processing[0]+".time]", "%s works on event time, and the source %q has none", what, u.processing[0])
	}
}

func (b *builder) foreign(t *config.Transform, in Shape) (*Plugin, Shape) {
	p, d, found := b.plugin(use{
		kind: sdk.KindTransform, name: t.Plugin, nameAt: t.Place("plugin"), isolation: t.Isolation, isoAt: t.Place("isolation"),
		options: t.Options, optionsAt: t.At, host: []string{"type", "inputs", "plugin", "isolation"}, shape: in,
	})
	if !found {
		b.broken[t.Name] = true
		return &p, Shape{Unknown: true}
	}
	if len(d.Output) == 0 {
		return &p, Shape{Unknown: true}
	}
	var out Shape
	for _, f := range d.Output {
		out.Fields = append(out.Fields, Field{f.Name, string(f.Type)})
	}
	return &p, out
}
