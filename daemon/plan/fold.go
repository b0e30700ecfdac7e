package plan

import (
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Fold is what an aggregate or a window function of a plugin does with windows that fire. In the file it is a part of a window's step; in
// the plan it is a step of its own behind it, since its work is done elsewhere: the window keeps records and hands them on when it
// fires, in a column that only this step reads. So whatever is true of windows (restarts, lateness, retraction) is true of it.
type Fold struct {
	Of      string   // the window's step; what is refused here goes to that one's errors
	Column  string   // the column with the records, as aggregate.RowsFunc gives them; no field has such a name
	Result  string   // the column that an aggregate fills in, which stands where Column stood; "" = a window function
	Fields  []string // the columns of the records, as the plugin knows them
	Columns []string // the columns of the window that the plugin gets
	Limit   int      // records of a window
}

// Component is the name of the step in the file.
func (s *Step) Component() string {
	if s.Fold != nil {
		return s.Fold.Of
	}
	return s.Name
}

// Transforms is the number of steps as the file has them.
func (p *Plan) Transforms() int {
	n := 0
	for _, s := range p.Steps {
		if s.Fold == nil {
			n++
		}
	}
	return n
}

// ofWindow reads the call of a plugin that works on windows: what the window keeps for it, and the step that follows.
func (b *builder) ofWindow(t *config.Transform, a *config.Aggregate, kind sdk.Kind, w *Window, in Shape) (aggregate.Spec, bool) {
	spec := aggregate.Spec{Name: batch.Aside(a.Name), Func: aggregate.RowsFunc, Limit: a.MaxRecords}
	options := a.Options
	if options == nil {
		options = &config.Table{At: a.Value.At}
	}
	u := use{
		kind: kind, name: a.Plugin, nameAt: a.At, isolation: a.Isolation, isoAt: a.Place("isolation"), isolationSet: a.Isolation != "",
		options: options, optionsAt: a.Value.At, host: []string{"plugin", "args", "max_records", "isolation"}, shape: in, given: len(a.Args),
	}
	p, d, found := b.plugin(u)
	if !found {
		return spec, false
	}
	f := &Fold{Of: t.Name, Column: spec.Name, Result: a.Name, Limit: a.MaxRecords}
	if f.Limit == 0 {
		f.Limit = aggregate.DefaultRows
	}
	if ok := b.foldFields(a, d, f, &spec, w, in); !ok {
		return spec, false
	}
	for _, c := range p.Columns { // of its options, computed where records are counted
		f.Fields = append(f.Fields, c.Name)
		c.Name = "=" + a.Name + ":" + c.Name
		w.Computed = append(w.Computed, c)
		spec.Args = append(spec.Args, c.Name)
	}
	p.Columns = nil
	name, what := t.Name+"~"+a.Name, "aggregate"
	if kind == sdk.KindWindow {
		name, what = t.Name+"~"+a.Plugin, "window function"
	}
	w.folds = append(w.folds, &Step{Name: name, Type: what, Fold: f, Plugin: &p})
	w.folded = append(w.folded, d)
	return spec, true
}

// foldFields says which columns are kept for the plugin's fields: the arguments in order, then the fields of the same names.
func (b *builder) foldFields(a *config.Aggregate, d sdk.Description, f *Fold, spec *aggregate.Spec, w *Window, in Shape) bool {
	who := fmt.Sprintf("the %s %q", d.Kind, d.Name)
	if d.AllFields {
		if len(a.Args) == 0 {
			b.problem("TM2153", a.At, fmt.Sprintf(`name them: "plugin:%s(price, size)", or args = ["price", "size"]`, d.Name),
				"%s takes any fields, and a window keeps only those that are named", who)
			return false
		}
		for _, arg := range a.Args {
			column, _, ok := b.argument(*a, arg, w, in)
			if !ok {
				return false
			}
			f.Fields, spec.Args = append(f.Fields, arg.Text), append(spec.Args, column)
		}
		return true
	}
	var names []string
	for _, field := range d.Fields {
		names = append(names, field.Name)
	}
	if n := len(a.Args); n > len(names) {
		b.problem("TM2153", a.Args[len(names)].At, fmt.Sprintf("write plugin:%s(%s)", d.Name, strings.Join(names, ", ")), "%s has %s, not %d", who, fields(len(names)), n)
		return false
	}
	for i, field := range d.Fields {
		column := field.Name
		if i < len(a.Args) {
			var ok bool
			if column, _, ok = b.argument(*a, a.Args[i], w, in); !ok {
				return false
			}
		} else if _, there := in.find(column); !there {
			continue // it is optional, or it has been told
		}
		f.Fields, spec.Args = append(f.Fields, field.Name), append(spec.Args, column)
	}
	return true
}

func fields(n int) string {
	switch n {
	case 0:
		return "no fields"
	case 1:
		return "1 field"
	}
	return fmt.Sprintf("%d fields", n)
}

// folds puts the steps of plugins behind the window's, each behind the one before, and gives the shape of what comes out at last.
func (b *builder) folds(s *Step, at Shape) Shape {
	before, w := s, s.Window
	for i, f := range w.folds {
		d := w.folded[i]
		f.Inputs = []Input{{From: before.Name, Shape: at}}
		if f.Fold.Result != "" {
			at = at.replace(f.Fold.Column, Field{f.Fold.Result, string(d.Output[0].Type)})
		} else {
			for _, c := range at.columns() {
				if !batch.IsAside(c) {
					f.Fold.Columns = append(f.Fold.Columns, c)
				}
			}
			at = at.drop(f.Fold.Column)
			for _, c := range d.Output {
				at = at.with(Field{c.Name, string(c.Type)})
			}
			at.Unknown = at.Unknown || len(d.Output) == 0
		}
		f.Output = at
		b.plan.Steps = append(b.plan.Steps, f)
		before = f
	}
	if before != s {
		b.last[s.Name] = before.Name
	}
	return at
}

// replace puts a field in the place of another one.
func (s Shape) replace(name string, f Field) Shape {
	s.Fields = append([]Field(nil), s.Fields...)
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			s.Fields[i] = f
		}
	}
	return s
}

// functionClash reports a window function's fields that would hide what the results need: the bounds of the window.
func (b *builder) functionClash(a *config.Aggregate, d sdk.Description) {
	for _, c := range d.Output {
		if c.Name == window.StartColumn || c.Name == window.EndColumn {
			b.problem("TM3011", a.At, "the plugin's author has to choose another name", "the window function %q gives a field %q, which is the name of a column of the results already", d.Name, c.Name)
		}
	}
}
