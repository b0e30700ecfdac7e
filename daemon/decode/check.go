package decode

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// checker collects the mistakes of a spec while the decoder is built.
type checker struct {
	spec *Spec
	errs Errors
}

func (c *checker) fail(option string, index int, message, hint string) {
	c.errs = append(c.errs, OptionError{Option: option, Index: index, Message: message, Hint: hint})
}

// resolveFields gives each field its path, type and unit.
func (c *checker) resolveFields() []field {
	s := c.spec
	fields := make([]field, 0, len(s.Fields)+1)
	for i, f := range s.Fields {
		if f.Path == nil {
			p, err := ParsePath(f.Name)
			if err != nil {
				c.fail("fields", i, err.Error(), "")
				continue
			}
			f.Path = p
		}
		flat := f.Path.Flat()
		if f.Type == TypeDynamic {
			for _, d := range s.Declared {
				if d.Path.Equal(f.Path) || s.Format != FormatJSON && d.Name == flat {
					f.Type = d.Type
					if f.Unit == "" {
						f.Unit = d.Unit
					}
				}
			}
		}
		if f.Type == TypeDynamic {
			f.Type, f.Unit = c.ownType(flat, f.Unit)
		}
		r := field{Field: f, flat: flat}
		if f.Type == TypeTimestamp {
			r.times = c.timestamps(i, f)
		}
		fields = append(fields, r)
	}
	return fields
}

// ownType is the type that a format itself gives a field.
func (c *checker) ownType(name, unit string) (Type, string) {
	switch {
	case c.spec.Format == FormatCLF && name == clfTime:
		return TypeTimestamp, clfLayout
	case c.spec.Format == FormatSyslog && name == syslogTime:
		return TypeTimestamp, UnitSyslog
	}
	return TypeDynamic, unit
}

func (c *checker) timestamps(i int, f Field) *Timestamps {
	unit := f.Unit
	if unit == "" {
		unit = UnitRFC3339
	}
	t, err := NewTimestamps(unit, TimeOptions{Location: c.spec.Location, Zones: c.spec.Zones, Year: c.spec.Year})
	if err != nil {
		c.fail("fields", i, fmt.Sprintf("unit of %s: %v", f.Name, err), "")
	}
	return t
}

// build makes the format.
func (c *checker) build(d *Decoder) (format, *textDecoder) {
	s := c.spec
	c.oneOf("invalid_utf8", s.InvalidUTF8, InvalidReject, InvalidReplace)
	c.oneOf("extra", s.Extra, "ignore", "reject")
	c.oneOf("short", s.Short, "missing", "reject")
	for i, a := range s.Declared {
		for _, b := range s.Declared[:i] {
			if a.Path.Equal(b.Path) {
				c.fail("fields", i, fmt.Sprintf("field %q is declared twice", a.Name), "")
			}
		}
	}
	replace := s.InvalidUTF8 == InvalidReplace
	if s.Format == FormatJSON {
		return newJSONFormat(d.fields, s.Whole, replace), nil
	}
	text := &textDecoder{fields: d.fields, replace: replace, infer: s.Infer, whole: s.Whole, types: map[string]Type{}}
	for _, dec := range s.Declared {
		text.types[dec.Path.Flat()] = dec.Type
	}
	switch s.Format {
	case FormatRaw:
		return c.raw(d, text), text
	case FormatDelimited:
		return c.delimited(d, text), text
	case FormatCSV:
		return c.csv(d, text), text
	case FormatRegex:
		return c.regex(d, text), text
	case FormatLogfmt:
		return newLogfmtFormat(text), text
	case FormatCLF:
		d.named = clfNames()
		c.known(d)
		return newCLFFormat(text), text
	case FormatSyslog:
		return c.syslog(d, text), text
	case "":
		c.fail("format", 0, "the format is missing", "one of "+strings.Join(Formats(), ", "))
	default:
		c.fail("format", 0, fmt.Sprintf("there is no format %q", s.Format), "one of "+strings.Join(Formats(), ", "))
	}
	return nil, text
}

func (c *checker) raw(d *Decoder, text *textDecoder) format {
	f := &rawFormat{textDecoder: text, name: rawField}
	if len(c.spec.Declared) > 0 {
		f.name = c.spec.Declared[0].Path.Flat()
	}
	d.named = []string{f.name}
	c.known(d)
	return f
}

func (c *checker) delimited(d *Decoder, text *textDecoder) format {
	delimiter := c.spec.Delimiter
	if delimiter == "" {
		delimiter = " "
	}
	d.named = c.declaredNames()
	if len(d.named) == 0 {
		c.fail("fields", 0, "delimited rows have no names of their own", `name the columns: fields = ["user", "ts:int"]`)
	} else {
		c.known(d)
	}
	f := &delimitedFormat{
		tableRow:  tableRow{textDecoder: text, table: newTable(d.named, d.fields, c.spec)},
		delimiter: []byte(delimiter), collapse: c.spec.Collapse,
	}
	f.planFast()
	return f
}

func (c *checker) csv(d *Decoder, text *textDecoder) format {
	s := c.spec
	f := &csvFormat{tableRow: tableRow{textDecoder: text}, delimiter: ',', quote: '"', lazy: s.Lazy, header: s.Header, spec: s, tables: map[string]*table{}}
	if s.Delimiter != "" {
		f.delimiter = c.oneByte("delimiter", s.Delimiter)
	}
	if s.Quote == "none" {
		f.quote = 0
	} else if s.Quote != "" {
		f.quote = c.oneByte("quote", s.Quote)
	}
	if f.delimiter == f.quote && f.quote != 0 {
		c.fail("quote", 0, "the quote is also the delimiter", "")
	}
	if s.Header {
		return f
	}
	d.named = c.declaredNames()
	if len(d.named) == 0 {
		c.fail("fields", 0, "without a header row the columns have no names", `name them: fields = ["user", "ts:int"], or set header = true`)
	} else {
		c.known(d)
	}
	f.table = newTable(d.named, d.fields, s)
	return f
}

func (c *checker) regex(d *Decoder, text *textDecoder) format {
	if c.spec.Pattern == "" {
		c.fail("pattern", 0, "the pattern is missing", `write an expression with named groups: pattern = '(?P<user>\S+) (?P<ts>\d+)'`)
		return nil
	}
	re, err := compilePattern(c.spec.Pattern, c.spec.Partial)
	if err != nil {
		e := OptionError{Option: "pattern", Message: err.Error()}
		var se *syntax.Error
		if errors.As(err, &se) {
			e.Message = se.Code.String()
			if se.Expr != "" {
				e.Message += ": " + se.Expr
			}
			e.Offset = max(0, strings.Index(c.spec.Pattern, se.Expr))
		}
		c.errs = append(c.errs, e)
		return nil
	}
	f := &regexFormat{textDecoder: text, pattern: re, names: re.SubexpNames()}
	for _, n := range f.names {
		if n != "" && !slices.Contains(d.named, n) {
			d.named = append(d.named, n)
		}
	}
	if len(d.named) == 0 {
		c.fail("pattern", 0, "the pattern has no named groups", `(?P<name>...) names what a group matches`)
		return nil
	}
	c.known(d)
	for i := range d.fields {
		f.groups = append(f.groups, re.SubexpIndex(d.fields[i].flat))
	}
	return f
}

func (c *checker) syslog(d *Decoder, text *textDecoder) format {
	d.named = syslogNames()
	for i := range d.fields {
		if p := d.fields[i].Path; p[0].Name != syslogData {
			continue
		} else if len(p) > 3 {
			c.fail("fields", i, fmt.Sprintf("structured data has no field %s", p), `data, data["id"] and data["id"].name are possible`)
		}
	}
	if len(d.fields) > 0 {
		c.known(d)
	}
	return newSyslogFormat(text)
}

func (c *checker) declaredNames() []string {
	names := make([]string, len(c.spec.Declared))
	for i, d := range c.spec.Declared {
		names[i] = d.Path.Flat()
	}
	return names
}

// known refuses wanted fields that rows of this format cannot have.
func (c *checker) known(d *Decoder) {
	for i := range d.fields {
		found := false
		for _, n := range d.named {
			found = found || n == d.fields[i].flat || n == d.fields[i].Path[0].Name && n == syslogData && c.spec.Format == FormatSyslog
		}
		if !found {
			c.fail("fields", i, fmt.Sprintf("there is no field %q", d.fields[i].flat), "there are "+strings.Join(d.named, ", "))
		}
	}
}

func (c *checker) oneOf(option, value string, allowed ...string) {
	if value == "" {
		return
	}
	for _, a := range allowed {
		if value == a {
			return
		}
	}
	c.fail(option, 0, fmt.Sprintf("%q is not possible", value), `write "`+strings.Join(allowed, `" or "`)+`"`)
}

// oneByte checks an option that is a single ASCII character.
func (c *checker) oneByte(option, value string) byte {
	if len(value) != 1 || value[0] >= utf8.RuneSelf || value[0] == '\n' || value[0] == '\r' {
		c.fail(option, 0, fmt.Sprintf("%q is not one ASCII character", value), "")
		return 0
	}
	return value[0]
}
