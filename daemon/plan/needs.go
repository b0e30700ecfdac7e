package plan

import (
	"sort"

	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/daemon/window"
)

// need is what the readers of a port want of its rows.
type need struct {
	fields map[string]bool
	whole  bool // all of a record that came in
}

func (n *need) add(fields ...string) {
	if n.fields == nil {
		n.fields = map[string]bool{}
	}
	for _, f := range fields {
		n.fields[f] = true
	}
}

func (n *need) union(o need) {
	n.whole = n.whole || o.whole
	for f := range o.fields {
		n.add(f)
	}
}

// needs walks the graph against the flow, from the sinks to the sources, and so finds the fields that each source has to decode.
func (b *builder) needs() {
	wanted := map[string]map[Port]*need{}
	want := func(in Input, n need) {
		if wanted[in.From] == nil {
			wanted[in.From] = map[Port]*need{}
		}
		if wanted[in.From][in.Port] == nil {
			wanted[in.From][in.Port] = &need{}
		}
		wanted[in.From][in.Port].union(n)
	}
	of := func(name string, port Port) need {
		if n := wanted[name][port]; n != nil {
			return *n
		}
		return need{}
	}
	for _, s := range b.plan.Sinks {
		for _, in := range s.Inputs {
			n := s.need(in.Shape)
			if in.Watermark {
				delete(n.fields, window.WatermarkColumn)
			}
			want(in, n)
		}
	}
	for i := len(b.plan.Steps) - 1; i >= 0; i-- {
		s := b.plan.Steps[i]
		n := s.need(of(s.Name, Main))
		late := of(s.Name, Late)
		for _, f := range LateFields() {
			delete(late.fields, f.Name)
		}
		n.union(late)
		for _, in := range s.Inputs {
			want(in, n)
		}
	}
	for _, s := range b.plan.Sources {
		s.project(of(s.Name, Main), b.ports[s.Name][Main])
		b.checkProjection(s)
	}
}

// need is what a sink wants of rows of that shape.
func (s *Sink) need(in Shape) need {
	var n need
	if s.Text && s.Format.Format == format.Raw {
		return n // the bytes are at hand
	}
	if s.Text {
		if f, err := format.New(s.Format); err == nil && f.Reads() != nil {
			n.add(f.Reads()...)
			return n
		}
	}
	if len(s.Format.Fields) > 0 {
		n.add(s.Format.Fields...)
		return n
	}
	n.add(in.columns()...)
	n.whole = in.Record
	return n
}

// need is what a step wants of its input so that its readers get what they want.
func (s *Step) need(out need) need {
	var n need
	switch {
	case s.Window != nil:
		n.add(s.Window.Keys...)
		for _, a := range s.Window.Aggregates {
			for _, arg := range append([]string{a.Arg}, a.Args...) {
				if arg != "" && !s.Window.computes(arg) {
					n.add(arg)
				}
			}
		}
		for _, c := range s.Window.Computed {
			n.add(c.Reads...)
		}
		if g := s.Window.Spec.GapColumn; g != "" {
			n.add(g)
		}
	case s.Filter != nil:
		n.union(out)
		n.add(s.Filter.Reads...)
	case s.Map != nil:
		return s.Map.need(out)
	case s.Unnest != nil:
		n.whole = out.whole
		for f := range out.fields {
			if root := rootOf(f); f != s.Unnest.As && root != s.Unnest.As && f != s.Unnest.Index {
				n.add(f)
			}
		}
		n.add(s.Unnest.Field)
	case s.Dedup != nil:
		n.union(out)
		n.add(s.Dedup.Keys...)
	case s.Fold != nil: // it reads what its window makes for it
	case s.Plugin != nil:
		n.add(s.Plugin.Fields...)
		for _, c := range s.Plugin.Columns {
			n.add(c.Reads...)
		}
		if s.Plugin.All {
			for _, in := range s.Inputs {
				n.whole = n.whole || in.Shape.Record
				n.add(in.Shape.names()...)
			}
		}
	}
	return n
}

func (w *Window) computes(name string) bool {
	for _, c := range w.Computed {
		if c.Name == name {
			return true
		}
	}
	return false
}

// byName lists the fields that a keyed step takes from columns of their name.
func (s *Step) byName() []string {
	switch {
	case s.Dedup != nil:
		return s.Dedup.Keys
	case s.Window != nil:
		out := append([]string(nil), s.Window.Keys...)
		for _, a := range s.Window.Aggregates {
			for _, arg := range append([]string{a.Arg}, a.Args...) {
				if arg != "" && !s.Window.computes(arg) {
					out = append(out, arg)
				}
			}
		}
		if g := s.Window.Spec.GapColumn; g != "" {
			out = append(out, g)
		}
		return out
	}
	return nil
}

// byName lists the fields that a sink names.
func (s *Sink) byName() []string {
	if s.Text && s.Format.Format == format.Raw {
		return nil
	}
	if f, err := format.New(s.Format); err == nil && s.Text && f.Reads() != nil {
		return f.Reads()
	}
	return s.Format.Fields
}

// need goes backwards through keep, drop, rename and set.
func (m *Map) need(out need) need {
	n := need{whole: out.whole && len(m.Keep) == 0}
	for _, c := range m.Set {
		n.add(c.Reads...)
	}
	wanted := map[string]bool{}
	for f := range out.fields {
		wanted[f] = true
	}
	for _, r := range m.Rename {
		if out.whole {
			wanted[r.To] = true
		}
	}
	if out.whole {
		for _, k := range m.Keep {
			wanted[k] = true
		}
	}
	for f := range wanted {
		name := f
		if root := rootOf(f); root != f {
			for _, r := range m.Rename {
				if r.To == root && f != r.To {
					name = root // the whole of it has to be renamed
				}
			}
		}
		for _, r := range m.Rename {
			if r.To == name {
				name = r.From
			}
		}
		if !m.sets(name) && !m.sets(rootOf(name)) {
			n.add(name)
		}
	}
	return n
}

func (m *Map) sets(name string) bool {
	for _, c := range m.Set {
		if c.Name == name {
			return true
		}
	}
	return false
}

// project says which columns a source has to give.
func (s *Source) project(n need, shape Shape) {
	if t := s.Timestamp; t != nil {
		n.add(t.Reads...)
	}
	if a := s.Assigner; a != nil {
		n.add(a.Fields...)
		for _, c := range a.Columns {
			n.add(c.Reads...)
		}
		if a.All {
			n.whole = n.whole || shape.Record
			n.add(shape.columns()...)
			s.addDeclared(&n)
		}
	}
	if n.whole { // a record that goes out as a whole has been held against every type that was declared
		s.addDeclared(&n)
	}
	var names []string
	for f := range n.fields {
		if shape.inner(f) {
			f = rootOf(f)
		}
		if !has(names, f) {
			names = append(names, f)
		}
	}
	sort.Strings(names)
	s.Fields = names
	if s.Decode == nil {
		return
	}
	s.Decode.Whole = n.whole
	s.Decode.Fields = nil
	for _, f := range names {
		s.Decode.Fields = append(s.Decode.Fields, decode.Field{Name: f})
	}
}

// checkProjection reports what the decoder would not take of the fields that were added up. What it says about the file's own settings has
// been told by package config.
func (b *builder) checkProjection(s *Source) {
	if s.Decode == nil || b.list.HasErrors() {
		return
	}
	own := *s.Decode
	own.Fields, own.Whole = nil, false
	if len(decode.Check(own)) > 0 {
		return
	}
	for _, c := range b.cfg.Sources {
		if c.Name == s.Name {
			for _, e := range decode.Check(*s.Decode) {
				b.problem("TM2165", c.KeyPlace("decode"), e.Hint, "the records of %q: %s", s.Name, e.Message)
			}
		}
	}
}

func (s *Source) addDeclared(n *need) {
	if s.Decode == nil {
		return
	}
	for _, d := range s.Decode.Declared {
		n.add(d.Name)
	}
}
