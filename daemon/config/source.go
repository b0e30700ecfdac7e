package config

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Source is [sources.NAME].
type Source struct {
	Component
	Plugin    string
	Isolation string // "process" or "none"
	Options   *Table // the plugin's own

	// Decode is nil when the file says nothing: JSON lines for a source of raw rows, nothing for one whose records have fields.
	Decode  *Decode
	Time    *Time // nil = no event time
	Journal Journal
}

// Decode is [sources.NAME.decode].
type Decode struct {
	Spec      decode.Spec // without Fields, which the plan knows
	MaxRecord int64       // bytes
	Framing   string      // "lines", "csv" or "none"
	HeaderSet bool        // header is given

	fields []*Value
}

// FieldValue is the value that declares field i, for problems.
func (d *Decode) FieldValue(i int) *Value {
	if i < 0 || i >= len(d.fields) {
		return nil
	}
	return d.fields[i]
}

// Journal is [sources.NAME.journal].
type Journal struct {
	Set     bool   // the file has the table
	Sync    string // "commit", "always" or "none"
	Segment int64  // bytes
	MaxSize int64  // bytes
}

// Time is [sources.NAME.time].
type Time struct {
	Assigner   string
	Isolation  string
	Timestamp  string // a field or an expression; "" = none
	Unit       string
	Timezone   string
	Location   *time.Location // of Timezone; nil when the file names none
	Zones      map[string]string
	Year       int
	Interval   time.Duration // 0 = after every record
	IdleAfter  time.Duration // 0 = never
	OnAllIdle  string        // "advance" or "hold"
	MaxAhead   time.Duration // 0 = no limit
	Confirm    *Confirm      // nil = jumps are not confirmed
	MaxDrift   time.Duration // 0 = no limit
	DriftGroup string
	Options    *Table // the assigner's own
}

// Confirm is confirm_jump.
type Confirm struct {
	Span       time.Duration
	Records    int
	Partitions int
	Hold       int
}

func readSource(comp Component, r *reader) *Source {
	r = r.of(comp.table, SectionSource)
	s := &Source{Component: comp, Plugin: r.str("plugin"), Isolation: r.str("isolation")}
	if d := r.sub("decode", SectionDecode); d != nil {
		s.Decode = readDecode(d)
	}
	if t := r.sub("time", SectionTime); t != nil {
		s.Time = readTime(t)
	}
	j := r.sub("journal", SectionJournal)
	s.Journal.Set = j != nil
	if j == nil {
		j = r.of(nil, SectionJournal)
	}
	s.Journal.Sync, s.Journal.Segment, s.Journal.MaxSize = j.str("sync"), j.size("segment"), j.size("max_size")
	j.done()
	s.Options = comp.table.without(r.known())
	return s
}

// known are the names of the keys that the section describes.
func (r *reader) known() map[string]bool {
	out := map[string]bool{}
	for _, k := range r.keys {
		out[k.Name] = true
	}
	return out
}

// DefaultDecode is what a source of raw rows gets without a decode table: an object a line.
func DefaultDecode() *Decode {
	r := (&reader{text: newText("", ""), list: &problem.List{}, all: Keys()}).of(nil, SectionDecode)
	return readDecode(r)
}

func readDecode(r *reader) *Decode {
	d := &Decode{}
	s := &d.Spec
	s.Format = r.str("format")
	s.Delimiter = r.str("delimiter")
	r.notEmpty("delimiter")
	s.Collapse = r.boolean("collapse")
	given := r.strings("fields")
	var declaredAt []*Value
	for _, v := range given {
		declared, err := decode.ParseDeclared(v.Str)
		if err != nil {
			r.report("TM2161", v.At, `a field is "name" or "name:type"; types are `+strings.Join(decode.TypeNames(), ", "), "%s", err)
			continue
		}
		s.Declared = append(s.Declared, declared)
		declaredAt = append(declaredAt, v)
	}
	d.HeaderSet = r.has("header")
	s.Header = r.boolean("header")
	if !d.HeaderSet {
		s.Header = s.Format == decode.FormatCSV && len(given) == 0
	}
	d.fields = declaredAt
	s.Quote = r.str("quote")
	s.Lazy = r.boolean("lazy_quotes")
	s.Extra, s.Short = r.str("extra"), r.str("short")
	s.Pattern = r.str("pattern")
	s.Partial = r.boolean("partial")
	s.Infer = r.boolean("infer")
	s.InvalidUTF8 = r.str("invalid_utf8")
	d.MaxRecord = r.size("max_record")
	d.Framing = r.str("framing")
	if d.Framing == "" {
		d.Framing = "lines"
		if s.Format == decode.FormatCSV && s.Quote != "none" {
			d.Framing = "csv"
		}
	}
	if s.Location = r.location("timezone"); r.str("timezone") == "UTC" {
		s.Location = time.UTC
	}
	s.Zones = r.zones("zones")
	s.Year = clampInt(r.integer("year"))
	if v := r.table.Get("format"); v != nil && v.Str != s.Format {
		r.done()
		return d // the format is wrong, so nothing can be said about its options
	}
	r.onlyFor(s.Format, map[string][]string{
		"delimiter": {"csv", "delimited"}, "collapse": {"delimited"}, "header": {"csv"}, "quote": {"csv"}, "lazy_quotes": {"csv"},
		"extra": {"csv", "delimited"}, "short": {"csv", "delimited"}, "pattern": {"regex"}, "partial": {"regex"},
	})
	if s.Format == decode.FormatRegex && !r.has("pattern") || s.Format == decode.FormatDelimited && len(given) == 0 {
		if !r.broken && s.Format == decode.FormatRegex {
			r.report("TM1006", r.table.At, `add pattern = '(?P<name>…)'`, "format \"regex\" needs a pattern")
		} else if !r.broken {
			r.report("TM1006", r.table.At, `add fields = ["first", "second:int"]`, "format \"delimited\" needs fields: they name the columns")
		}
		r.done()
		return d
	}
	for _, e := range decode.Check(d.Spec) {
		d.badOption(r, e)
	}
	r.done()
	return d
}

// badOption reports what the decoder would not take.
func (d *Decode) badOption(r *reader, e decode.OptionError) {
	name := e.Option
	if name == "lazy" {
		name = "lazy_quotes"
	}
	at := r.table.At
	if v := r.table.Get(name); v != nil {
		at = v.At
		if e.Offset > 0 {
			at = v.Inside(utf8.RuneCountInString(v.Str[:min(e.Offset, len(v.Str))]), 1)
		}
		if f := d.FieldValue(e.Index); name == "fields" && f != nil {
			at = f.At
		}
	}
	r.report("TM2165", at, e.Hint, "%s: %s", name, e.Message)
}

// onlyFor reports keys that mean nothing for the format.
func (r *reader) onlyFor(format string, uses map[string][]string) {
	for _, k := range r.table.Keys {
		formats, special := uses[k]
		if special && !contains(formats, format) {
			r.report("TM2163", r.table.Get(k).KeyAt, fmt.Sprintf("%s is for %s", k, strings.Join(formats, " and ")), "%s means nothing for format %s", quote(k), quote(format))
		}
	}
}

func readTime(r *reader) *Time {
	t := &Time{
		Assigner: r.str("assigner"), Isolation: r.str("isolation"), Timestamp: r.str("timestamp"), Unit: r.str("unit"),
		Timezone: r.str("timezone"), Zones: r.zones("zones"), Year: clampInt(r.integer("year")), Interval: r.duration("interval"), IdleAfter: r.duration("idle_after"),
		OnAllIdle: r.str("on_all_idle"), MaxAhead: r.duration("max_ahead"), MaxDrift: r.duration("max_drift"), DriftGroup: r.str("drift_group"),
	}
	t.Location = r.location("timezone")
	if t.Timezone == "UTC" {
		t.Location = time.UTC
	}
	t.checkUnit(r)
	if v, _ := r.get("confirm_jump"); v != nil {
		if v.Kind == KindTable {
			c := r.of(v.Table, SectionConfirm)
			t.Confirm = readConfirm(c)
			c.done()
		} else if d, ok := r.durationOf(v, r.key("confirm_jump"), "confirm_jump"); ok && d <= 0 {
			r.report("TM2102", v.At, "it must be longer than zero", "confirm_jump is %s", v.Str)
		} else if ok {
			t.Confirm = readConfirm(r.of(nil, SectionConfirm).quiet())
			t.Confirm.Span = d
		}
	}
	t.Options = r.table.without(r.known())
	return t
}

// checkUnit reports a unit or layout that no timestamp could be read with.
func (t *Time) checkUnit(r *reader) {
	if _, err := decode.NewTimestamps(t.Unit, decode.TimeOptions{Location: t.Location, Zones: t.Zones, Year: t.Year}); err != nil {
		if v := r.table.Get("unit"); v != nil && v.Kind == KindString {
			hint := ""
			if s := Suggest(v.Str, []string{"s", "ms", "us", "ns", "rfc3339", "auto"}); s != "" && len(v.Str) > 1 {
				hint = "did you mean " + quote(s) + "?"
			}
			r.report("TM2162", v.At, hint, "%s", err)
		}
	}
}

// quiet makes a reader that takes defaults without asking for what is required.
func (r *reader) quiet() *reader { r.broken = true; return r }

func readConfirm(r *reader) *Confirm {
	return &Confirm{Span: r.duration("span"), Records: clampInt(r.integer("records")), Partitions: clampInt(r.integer("partitions")), Hold: clampInt(r.integer("hold"))}
}

// location reads a time zone; nil means UTC.
func (r *reader) location(name string) *time.Location {
	s := r.str(name)
	if s == "" || s == "UTC" {
		return nil
	}
	loc, err := LoadLocation(s)
	if err != nil {
		r.report("TM2131", r.table.Get(name).At, `write a zone of the IANA database such as "Europe/Berlin" or "Asia/Shanghai", "UTC", or an offset such as "+05:30"`, "%s %s is no time zone that is known here", name, quote(s))
		return nil
	}
	return loc
}

// zones reads a table of zone abbreviations and offsets.
func (r *reader) zones(name string) map[string]string {
	v, k := r.get(name)
	if v == nil {
		return nil
	}
	if v.Kind != KindTable {
		r.wrongType(v, k)
		return nil
	}
	out := map[string]string{}
	for _, abbreviation := range v.Table.Keys {
		e := v.Table.Get(abbreviation)
		if e.Kind != KindString || !isOffset(e.Str) {
			r.report("TM2132", e.At, `write an offset such as "+01:00"`, "the offset of zone %s is none", abbreviation)
			continue
		}
		out[abbreviation] = e.Str
	}
	return out
}

func isOffset(s string) bool {
	if s == "Z" {
		return true
	}
	_, err := time.Parse("-07:00", s)
	return err == nil
}

// LoadLocation finds a zone by its IANA name, or makes one of an offset such as "+05:30". "Local" is refused: results would depend on the
// machine.
func LoadLocation(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	if isOffset(name) {
		t, err := time.Parse("-07:00", name)
		if err != nil {
			return time.UTC, nil
		}
		_, seconds := t.Zone()
		return time.FixedZone("UTC"+name, seconds), nil
	}
	if name == "Local" {
		return nil, fmt.Errorf("the zone of the machine is not allowed")
	}
	return time.LoadLocation(name)
}
