package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// reader takes the keys of one table, checks each against its description and remembers which ones were asked for. It gives the
// default where a key is absent or wrong: a wrong key has been reported, and the rest can be checked all the same.
type reader struct {
	text    *text
	list    *problem.List
	table   *Table
	keys    []Key
	all     []Key // of the whole file, to say where a misplaced key belongs
	section Section
	owner   string // name of the component that the table belongs to
	broken  bool   // lines were refused: do not complain about what is missing
	open    bool   // other keys may follow, for a plugin
}

func (r *reader) key(name string) Key {
	for _, k := range r.keys {
		if k.Name == name {
			return k
		}
	}
	panic(fmt.Sprintf("config: key %s of %s is not described", name, r.section))
}

// get gives the value of a described key, or nil; it reports a required one that is absent.
func (r *reader) get(name string) (*Value, Key) {
	k := r.key(name)
	v := r.table.Get(name)
	if v == nil && k.Required && !r.broken {
		hint := ""
		if k.Example != "" {
			hint = fmt.Sprintf("add %s = %s", name, k.Example)
		}
		r.report("TM1006", r.table.At, hint, "%s is missing", quote(name))
	}
	return v, k
}

func (r *reader) report(code string, at problem.Place, hint, format string, args ...any) {
	r.list.Add(r.text.problem(code, at, fmt.Sprintf(format, args...), hint))
}

func (r *reader) wrongType(v *Value, k Key) {
	hint := ""
	if d := k.describe(); d != "" {
		hint = "it takes " + d
	}
	r.report("TM1005", v.At, hint, "%s is %s, which it cannot be", k.Name, v.Kind)
}

func (r *reader) has(name string) bool { return r.table.Get(name) != nil }

// notEmpty reports a text that is given and has nothing in it, where that would be taken for one that is not given.
func (r *reader) notEmpty(name string) {
	if v := r.table.Get(name); v != nil && v.Kind == KindString && v.Str == "" {
		r.report("TM2123", v.At, "leave it out to have the default", "%s is empty", name)
	}
}

func (r *reader) str(name string) string {
	v, k := r.get(name)
	if v == nil {
		return k.Default
	}
	if v.Kind != KindString {
		r.wrongType(v, k)
		return k.Default
	}
	if k.Required && v.Str == "" {
		r.report("TM2123", v.At, "", "%s is empty", name)
	}
	if k.Type == TypeEnum && !contains(k.Values, v.Str) {
		r.report("TM2121", v.At, didYouMean(v.Str, k.Values), "%s cannot be %s", name, quote(v.Str))
		return k.Default
	}
	return v.Str
}

func (r *reader) boolean(name string) bool {
	v, k := r.get(name)
	if v == nil {
		return k.Default == "true"
	}
	if v.Kind != KindBool {
		r.wrongType(v, k)
		return k.Default == "true"
	}
	return v.Bool
}

func (r *reader) integer(name string) int64 {
	v, k := r.get(name)
	fallback, _ := strconv.ParseInt(k.Default, 10, 64)
	if v == nil {
		return fallback
	}
	if v.Kind != KindInt {
		r.wrongType(v, k)
		return fallback
	}
	if v.Int < k.Min || k.Max > 0 && v.Int > k.Max {
		bounds := fmt.Sprintf("it must be at least %d", k.Min)
		if k.Max > 0 {
			bounds = fmt.Sprintf("it must be from %d to %d", k.Min, k.Max)
		}
		r.report("TM2122", v.At, bounds, "%s = %d is out of range", name, v.Int)
		return fallback
	}
	return v.Int
}

func (r *reader) duration(name string) time.Duration {
	v, k := r.get(name)
	fallback, _ := ParseDuration(k.Default)
	if v == nil {
		return fallback
	}
	d, ok := r.durationOf(v, k, name)
	if !ok {
		return fallback
	}
	if int64(d) < k.Min {
		if k.Min > 1 {
			r.report("TM2102", v.At, fmt.Sprintf("it must be at least %s", quote(FormatDuration(time.Duration(k.Min)))), "%s is %s", name, v.Str)
		} else if k.Min == 1 {
			r.report("TM2102", v.At, "it must be longer than zero", "%s is %s", name, v.Str)
		} else {
			r.report("TM2102", v.At, "it cannot be negative", "%s is %s", name, v.Str)
		}
		return fallback
	}
	return d
}

// millis is a duration of event time: whole milliseconds.
func (r *reader) millis(name string) int64 {
	d := r.duration(name)
	if d%time.Millisecond != 0 {
		if v := r.table.Get(name); v != nil {
			r.report("TM2102", v.At, "event time is counted in whole milliseconds", "%s is %s, which is no whole number of milliseconds", name, v.Str)
		}
	}
	return d.Milliseconds()
}

func (r *reader) durationOf(v *Value, k Key, name string) (time.Duration, bool) {
	if v.Kind == KindInt || v.Kind == KindFloat {
		number := strconv.FormatInt(v.Int, 10)
		if v.Kind == KindFloat {
			number = strconv.FormatFloat(v.Float, 'g', -1, 64)
		}
		r.report("TM2107", v.At, unitHint(number), "%s %s has no unit", name, number)
		return 0, false
	}
	if v.Kind != KindString {
		r.wrongType(v, k)
		return 0, false
	}
	d, err := ParseDuration(v.Str)
	if err == nil {
		return d, true
	}
	r.badDuration(v, name, err)
	return 0, false
}

func (r *reader) badDuration(v *Value, name string, err error) {
	switch {
	case errors.Is(err, errNoUnit):
		r.report("TM2107", v.At, unitHint(v.Str), "%s %s has no unit", name, quote(v.Str))
	case errors.Is(err, errTooLarge):
		r.report("TM2102", v.At, "the longest is about 292 years", "%s %s is too long", name, quote(v.Str))
	default:
		hint := `a duration is a number and a unit (ns, us, ms, s, m, h, d, w), as in "5s" or "1h30m"`
		if strings.HasSuffix(v.Str, "mo") {
			hint = "months differ in length: only the size of a tumbling window may be given in months"
		}
		detail := strings.TrimPrefix(strings.TrimPrefix(err.Error(), errSyntax.Error()), ": ")
		if detail != "" {
			detail = ": " + detail
		}
		r.report("TM2101", v.At, hint, "%s %s is no duration%s", name, quote(v.Str), detail)
	}
}

func unitHint(number string) string {
	return fmt.Sprintf(`write "%ss", "%sm" or "%sms"`, number, number, number)
}

func (r *reader) size(name string) int64 {
	v, k := r.get(name)
	fallback, _ := ParseSize(k.Default)
	if v == nil {
		return fallback
	}
	if v.Kind == KindInt {
		r.report("TM2112", v.At, fmt.Sprintf(`write "%dB", "%dKiB" or "%dMiB"`, v.Int, v.Int, v.Int), "%s %d has no unit", name, v.Int)
		return fallback
	}
	if v.Kind != KindString {
		r.wrongType(v, k)
		return fallback
	}
	n, err := ParseSize(v.Str)
	switch {
	case errors.Is(err, errNoUnit):
		r.report("TM2112", v.At, fmt.Sprintf(`write "%sB", "%sKiB" or "%sMiB"`, v.Str, v.Str, v.Str), "%s %s has no unit", name, quote(v.Str))
		return fallback
	case errors.Is(err, errTooLarge):
		r.report("TM2113", v.At, "", "%s %s is too large", name, quote(v.Str))
		return fallback
	case err != nil:
		r.report("TM2111", v.At, `a size is a number and a unit (B, KiB, MiB, GiB, KB, MB, GB), as in "64MiB"`, "%s %s is no size", name, quote(v.Str))
		return fallback
	case n < k.Min:
		r.report("TM2113", v.At, fmt.Sprintf("it must be at least %s", quote(FormatSize(k.Min))), "%s %s is too small", name, quote(v.Str))
		return fallback
	}
	return n
}

// strings gives a list of strings; a single string counts as a list of one.
func (r *reader) strings(name string) []*Value {
	v, k := r.get(name)
	if v == nil {
		return nil
	}
	if v.Kind == KindString {
		return []*Value{v}
	}
	if v.Kind != KindList {
		r.wrongType(v, k)
		return nil
	}
	var out []*Value
	for _, e := range v.List {
		if e.Kind != KindString {
			r.report("TM1005", e.At, "it takes "+k.describe(), "%s holds %s", name, e.Kind)
			continue
		}
		out = append(out, e)
	}
	return out
}

// sub gives a reader for a table inside this one, or nil when it is absent or no table.
func (r *reader) sub(name string, section Section) *reader {
	v, k := r.get(name)
	if v == nil {
		return nil
	}
	if v.Kind != KindTable {
		r.wrongType(v, k)
		return nil
	}
	return r.of(v.Table, section)
}

// of makes a reader of the same file for another table. Reading an absent table gives the defaults.
func (r *reader) of(t *Table, sections ...Section) *reader {
	if t == nil {
		t = &Table{At: problem.Place{File: r.text.file}}
	}
	return &reader{text: r.text, list: r.list, table: t, keys: keysOf(r.all, sections...), all: r.all, section: sections[len(sections)-1], owner: r.owner, broken: r.broken}
}

// done reports the keys that nobody described; with open, they are a plugin's and stay.
func (r *reader) done() {
	if r.open {
		return
	}
	known := names(r.keys)
	for _, k := range r.table.Keys {
		if contains(known, k) {
			continue
		}
		r.unknown(k, known)
	}
}

func (r *reader) unknown(k string, known []string) {
	v := r.table.values[k]
	hint := ""
	if Suggest(k, known) == "" {
		hint = r.belongs(k)
	}
	if hint == "" {
		hint = didYouMean(k, known)
	}
	r.report("TM1004", v.KeyAt, hint, "%s is no key of %s", quote(k), r.where(r.section))
}

// where names a section with the component at hand.
func (r *reader) where(s Section) string {
	if r.owner == "" {
		return string(s)
	}
	return strings.NewReplacer("KIND-NAME", r.owner, "NAME", r.owner).Replace(string(s))
}

// belongs says in which other section a key is known, for keys that slipped a level.
func (r *reader) belongs(name string) string {
	var where []string
	for _, k := range r.all {
		if k.Name == name && k.Section != r.section && len(where) < 3 && !contains(where, r.where(k.Section)) {
			where = append(where, r.where(k.Section))
		}
	}
	if len(where) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is a key of %s", quote(name), strings.Join(where, " and of "))
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)

// checkName reports a component's or pipeline's name that could not stand in metrics, paths and commands.
func (r *reader) checkName(what, name string, at problem.Place) {
	if !namePattern.MatchString(name) {
		r.report("TM1010", at, "a name begins with a letter and has letters, digits, _ and -, at most 63", "%q is no name for a %s", name, what)
	}
}

func clampInt(n int64) int {
	if n > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(n)
}
