package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/daemon/transform"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// use is a plugin as a component of the file asks for it.
type use struct {
	kind         sdk.Kind
	name         string
	nameAt       problem.Place
	isolation    string
	isoAt        problem.Place
	isolationSet bool // the file says it
	options      *config.Table
	optionsAt    problem.Place
	host         []string // keys of the table that are not the plugin's, for suggestions
	shape        Shape    // of the rows that field and expression options are about
	given        int      // so many of its fields are given otherwise, and need not be fields of the rows
}

// plugin finds a plugin and checks the options for it. ok is false when nothing is known about it.
func (b *builder) plugin(u use) (p Plugin, d sdk.Description, ok bool) {
	p = Plugin{Kind: u.kind, Name: u.name, Isolation: u.isolation}
	if u.name == "" {
		return p, d, false
	}
	found, err := b.catalog.Describe(u.kind, u.name)
	if err != nil {
		b.notFound(u, err)
		return p, d, false
	}
	d = found.Description
	p.Origin, p.Shipped = found.Origin, found.Shipped
	if p.Isolation == "" {
		// A shipped sink gets text that the daemon has formatted and writes it: a process of its own would add a copy and protect little.
		p.Isolation = "process"
		if found.Shipped {
			p.Isolation = "none"
		}
	}
	if u.isolation == "none" && !found.Shipped {
		b.problem("TM4007", u.isoAt, "remove isolation; only shipped plugins can run inside the daemon", "the plugin %q is an executable (%s), so it cannot run without isolation", u.name, found.Origin)
	}
	if u.isolation == "process" && d.InDaemon && found.Shipped && u.isolationSet {
		b.problem("TM4007", u.isoAt, "remove isolation", "the plugin %q works inside the daemon only", u.name)
	}
	o := &optionReader{b: b, use: u}
	effective, shown := o.table(u.options, d.Options, u.optionsAt, nil)
	p.Options, p.Shown = encode(effective), encode(shown)
	p.Columns = o.columns
	for i, f := range d.Fields {
		p.Fields = append(p.Fields, f.Name)
		if _, there := u.shape.find(f.Name); !there && f.Required && i >= u.given {
			b.problem("TM3010", u.nameAt, didYouMean(f.Name, u.shape.names(), "there are"), "the plugin %q needs the field %q, which the records do not have", u.name, f.Name)
		}
	}
	p.All = d.AllFields
	if o.wrong {
		return p, d, true
	}
	if checker, can := b.catalog.(OptionChecker); can {
		o.pluginErrors(checker.CheckOptions(u.kind, u.name, p.Options), u)
	}
	return p, d, true
}

func encode(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		// Everything in it has been made by Value.Any, which gives only what JSON can say.
		panic("plan: options: " + err.Error())
	}
	return out
}

func (b *builder) notFound(u use, err error) {
	// What happened to a process is told with its own code and remedy.
	var told interface{ Problem() problem.Problem }
	if errors.As(err, &told) {
		p := told.Problem()
		b.problem(p.Code, u.nameAt, p.Hint, "%s", p.Summary)
		return
	}
	if !errors.Is(err, ErrNotFound) {
		b.problem("TM4008", u.nameAt, "", "the %s plugin %q: %s", u.kind, u.name, err)
		return
	}
	for _, other := range wire.Kinds() {
		if other != u.kind && has(b.catalog.Names(other), u.name) {
			b.problem("TM4002", u.nameAt, didYouMean(u.name, b.names(u.kind), "there are"), "%q is %s plugin, and %s is needed here", u.name, withArticle(other), withArticle(u.kind))
			return
		}
	}
	names := b.names(u.kind)
	if u.kind == sdk.KindAssigner {
		names = append(names, config.AssignerSource, config.AssignerIngestion, config.AssignerProcessing)
	}
	hint := didYouMean(u.name, names, "there are")
	if config.Suggest(u.name, names) == "" {
		hint += fmt.Sprintf("\nan executable tidemark-%s-%s in a plugin directory would be found, too", u.kind, u.name)
		hint = strings.TrimPrefix(hint, "\n")
	}
	b.problem("TM4001", u.nameAt, hint, "there is no %s plugin %q", u.kind, u.name)
}

func withArticle(k sdk.Kind) string {
	if k[0] == 'a' {
		return "an " + string(k)
	}
	return "a " + string(k)
}

// names lists the plugins of a kind in the order of their names.
func (b *builder) names(kind sdk.Kind) []string {
	out := append([]string(nil), b.catalog.Names(kind)...)
	sort.Strings(out)
	return out
}

// optionReader checks options against their description.
type optionReader struct {
	b       *builder
	use     use
	columns []Column
	wrong   bool
}

func (o *optionReader) problem(code string, at problem.Place, hint, format string, args ...any) {
	o.wrong = true
	o.b.problem(code, at, hint, format, args...)
}

// table checks the keys of a table and gives what the plugin gets, and the same as it may be shown.
func (o *optionReader) table(t *config.Table, options []sdk.Option, at problem.Place, path []string) (effective, shown map[string]any) {
	effective, shown = map[string]any{}, map[string]any{}
	var names []string
	for _, opt := range options {
		names = append(names, opt.Name)
		v := t.Get(opt.Name)
		if v == nil {
			if opt.Required && !o.b.cfg.Broken {
				o.problem("TM4004", at, fmt.Sprintf("%s: %s", opt.Name, opt.Help), "%s needs %s", o.who(path), quote(opt.Name))
			}
			o.fallback(opt, path)
			continue
		}
		value, show, ok := o.value(v, opt, append(path, opt.Name))
		if ok {
			effective[opt.Name], shown[opt.Name] = value, show
		}
	}
	if t == nil {
		return effective, shown
	}
	for _, key := range t.Keys {
		if has(names, key) {
			continue
		}
		known := names
		if len(path) == 0 {
			known = append(append([]string(nil), names...), o.use.host...)
		}
		hint := didYouMean(key, known, "known are")
		if config.Suggest(key, known) == "" {
			if other := o.elsewhere(key); other != "" {
				hint = other
			}
		}
		o.problem("TM4003", t.Get(key).KeyAt, hint, "%s has no option %s", o.who(path), quote(key))
	}
	return effective, shown
}

// fallback gives a field or expression option that has a default its column.
func (o *optionReader) fallback(opt sdk.Option, path []string) {
	if opt.Default == "" || len(path) > 0 || opt.Type != sdk.FieldOption && opt.Type != sdk.ExprOption {
		return
	}
	program, _ := transform.Compile(opt.Default, o.use.shape.schema(), transform.TypeAny)
	if program == nil {
		return // a default that these records cannot serve is as good as none
	}
	field, _ := program.Field()
	o.columns = append(o.columns, Column{Name: opt.Name, Expr: opt.Default, Field: field, Reads: program.Paths(), Time: opt.Result == wire.TimeCell})
}

func (o *optionReader) who(path []string) string {
	who := fmt.Sprintf("the %s %q", o.use.kind, o.use.name)
	if len(path) > 0 {
		who = fmt.Sprintf("%s of %s", strings.Join(path, "."), who)
	}
	return who
}

// elsewhere says which other plugin of the kind has the option.
func (o *optionReader) elsewhere(key string) string {
	for _, name := range o.b.names(o.use.kind) {
		if name == o.use.name {
			continue
		}
		if f, err := o.b.catalog.Describe(o.use.kind, name); err == nil {
			if _, ok := f.Description.Option(key); ok {
				return fmt.Sprintf("%s is an option of the %s %q", quote(key), o.use.kind, name)
			}
		}
	}
	return ""
}

func (o *optionReader) value(v *config.Value, opt sdk.Option, path []string) (value, shown any, ok bool) {
	name := strings.Join(path, ".")
	wrong := func(takes string) (any, any, bool) {
		hint := "it takes " + takes
		if opt.Help != "" {
			hint += ": " + opt.Help
		}
		o.problem("TM4005", v.At, hint, "%s is %s, which it cannot be", name, v.Kind)
		return nil, nil, false
	}
	switch opt.Type {
	case sdk.StringOption:
		if v.Kind != config.KindString {
			return wrong("a string")
		}
		if len(opt.Enum) > 0 && !has(opt.Enum, v.Str) {
			o.problem("TM4006", v.At, didYouMean(v.Str, opt.Enum, "it takes"), "%s cannot be %s", name, quote(v.Str))
			return nil, nil, false
		}
	case sdk.IntOption:
		if v.Kind != config.KindInt {
			return wrong("an integer")
		}
		if len(opt.Enum) > 0 && !has(opt.Enum, strconv.FormatInt(v.Int, 10)) {
			o.problem("TM4006", v.At, "it takes "+list(opt.Enum), "%s cannot be %d", name, v.Int)
			return nil, nil, false
		}
	case sdk.FloatOption:
		if v.Kind == config.KindInt {
			return float64(v.Int), float64(v.Int), true
		}
		if v.Kind != config.KindFloat {
			return wrong("a number")
		}
	case sdk.BoolOption:
		if v.Kind != config.KindBool {
			return wrong("true or false")
		}
	case sdk.DurationOption:
		return o.duration(v, name, wrong)
	case sdk.SizeOption:
		return o.size(v, name, wrong)
	case sdk.StringsOption:
		return o.strings(v, opt, name, wrong)
	case sdk.TableOption:
		if v.Kind != config.KindTable {
			return wrong("a table")
		}
		if len(opt.Options) == 0 {
			return o.texts(v, name)
		}
		effective, show := o.table(v.Table, opt.Options, v.At, path)
		return effective, show, true
	case sdk.FieldOption:
		if v.Kind != config.KindString {
			return wrong("the name of a field")
		}
		if _, there := o.b.field(v.Str, v, o.use.shape, name); !there {
			o.wrong = true
		} else if _, _, ok := o.b.expr(name, canonical(v.Str), v, 0, o.use.shape, wanted(opt.Result), name); !ok {
			o.wrong = true
		}
		o.columns = append(o.columns, Column{Name: path[len(path)-1], Expr: v.Str, Field: v.Str, Reads: []string{v.Str}, Time: opt.Result == wire.TimeCell, At: v.At.String()})
	case sdk.ExprOption:
		return o.expr(v, opt, path, wrong)
	default:
		o.problem("TM4008", v.At, "the plugin needs a newer daemon", "%s has the type %q, which is not known here", name, opt.Type)
		return nil, nil, false
	}
	return v.Any(false), v.Any(true), true
}

func (o *optionReader) duration(v *config.Value, name string, wrong func(string) (any, any, bool)) (any, any, bool) {
	if v.Kind == config.KindInt || v.Kind == config.KindFloat {
		n := fmt.Sprint(v.Any(false))
		o.problem("TM2107", v.At, fmt.Sprintf(`write "%ss", "%sm" or "%sms"`, n, n, n), "%s %s has no unit", name, n)
		return nil, nil, false
	}
	if v.Kind != config.KindString {
		return wrong(`a duration such as "5s"`)
	}
	d, err := config.ParseDuration(v.Str)
	if err != nil {
		if strings.Trim(v.Str, "0123456789.") == "" && v.Str != "" {
			o.problem("TM2107", v.At, fmt.Sprintf(`write "%ss", "%sm" or "%sms"`, v.Str, v.Str, v.Str), "%s %s has no unit", name, quote(v.Str))
		} else {
			o.problem("TM2101", v.At, `a duration is a number and a unit (ns, us, ms, s, m, h, d, w), as in "5s" or "1h30m"`, "%s %s %s", name, quote(v.Str), err)
		}
		return nil, nil, false
	}
	if d < 0 {
		o.problem("TM2102", v.At, "it cannot be negative", "%s is %s", name, v.Str)
		return nil, nil, false
	}
	return d.String(), config.FormatDuration(d), true
}

func (o *optionReader) size(v *config.Value, name string, wrong func(string) (any, any, bool)) (any, any, bool) {
	if v.Kind == config.KindInt && v.Int >= 0 {
		return v.Int, v.Int, true
	}
	if v.Kind != config.KindString {
		return wrong(`a size such as "64MiB"`)
	}
	n, err := config.ParseSize(v.Str)
	if err != nil {
		o.problem("TM2111", v.At, `a size is a number and a unit (B, KiB, MiB, GiB, KB, MB, GB), as in "64MiB"`, "%s %s %s", name, quote(v.Str), err)
		return nil, nil, false
	}
	return n, config.FormatSize(n), true
}

func (o *optionReader) strings(v *config.Value, opt sdk.Option, name string, wrong func(string) (any, any, bool)) (any, any, bool) {
	elements := v.List
	if v.Kind == config.KindString {
		elements = []*config.Value{v}
	} else if v.Kind != config.KindList {
		return wrong("a list of strings")
	}
	effective, shown, ok := []string{}, []string{}, true
	for _, e := range elements {
		switch {
		case e.Kind != config.KindString:
			o.problem("TM4005", e.At, "it takes strings", "%s holds %s", name, e.Kind)
			ok = false
		case len(opt.Enum) > 0 && !has(opt.Enum, e.Str):
			o.problem("TM4006", e.At, didYouMean(e.Str, opt.Enum, "it takes"), "%s cannot hold %s", name, quote(e.Str))
			ok = false
		}
		effective, shown = append(effective, e.Str), append(shown, e.Raw)
	}
	return effective, shown, ok
}

// texts is a table of any keys with strings.
func (o *optionReader) texts(v *config.Value, name string) (any, any, bool) {
	effective, shown, ok := map[string]string{}, map[string]string{}, true
	for _, key := range v.Table.Keys {
		e := v.Table.Get(key)
		if e.Kind != config.KindString {
			o.problem("TM4005", e.At, "it takes strings", "%s.%s is %s, which it cannot be", name, key, e.Kind)
			ok = false
			continue
		}
		effective[key], shown[key] = e.Str, e.Raw
	}
	return effective, shown, ok
}

func (o *optionReader) expr(v *config.Value, opt sdk.Option, path []string, wrong func(string) (any, any, bool)) (any, any, bool) {
	var src, shown string
	switch v.Kind {
	case config.KindString:
		src, shown = v.Str, v.Raw
	case config.KindBool, config.KindInt, config.KindFloat:
		src = fmt.Sprint(v.Any(false))
		shown = src
	default:
		return wrong("an expression, as a string")
	}
	name := path[len(path)-1]
	col, _, ok := o.b.expr(name, src, v, 0, o.use.shape, wanted(opt.Result), strings.Join(path, "."))
	if !ok {
		o.wrong = true
	}
	col.Time = opt.Result == wire.TimeCell
	o.columns = append(o.columns, col)
	return src, shown, true
}

// wanted is the type that an option's expression has to give. Times are read in the source's unit, so numbers and texts are fine.
func wanted(c wire.CellType) transform.Type {
	switch c {
	case wire.BoolCell:
		return transform.TypeBool
	case wire.IntCell:
		return transform.TypeInt
	case wire.FloatCell:
		return transform.TypeNumber
	case wire.StringCell:
		return transform.TypeString
	}
	return transform.TypeAny
}

// pluginErrors shows what the plugin's own check says.
func (o *optionReader) pluginErrors(err error, u use) {
	if err == nil {
		return
	}
	var several sdk.OptionErrors
	var told interface{ Problem() problem.Problem }
	switch {
	case errors.As(err, &several):
	case errors.As(err, &told): // what happened to its process says nothing about the options
		p := told.Problem()
		o.problem(p.Code, u.nameAt, p.Hint, "%s", p.Summary)
		return
	default:
		o.problem("TM4008", u.optionsAt, "", "the %s %q cannot be asked about its options: %s", u.kind, u.name, err)
		return
	}
	for _, e := range several {
		at, t := u.optionsAt, u.options
		for _, key := range e.Path {
			v := t.Get(key)
			if v == nil {
				break
			}
			at = v.At
			t = v.Table
		}
		name := strings.Join(e.Path, ".")
		if name != "" {
			name += ": "
		}
		o.problem("TM4006", at, e.Hint, "%s%s", name, e.Message)
	}
}

func quote(s string) string { return `"` + s + `"` }
