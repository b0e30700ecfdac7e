package decode

import (
	"fmt"
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
		f := &rawFormat{textDecoder: text, name: rawField}
		if len(s.Declared) > 0 {
			f.name = s.Declared[0].Path.Flat()
		}
		d.named = []string{f.name}
		return f, text
	case FormatDelimited:
		delimiter := s.Delimiter
		if delimiter == "" {
			delimiter = " "
		}
		d.named = c.declaredNames()
		if len(d.named) == 0 {
			c.fail("fields", 0, "delimited rows have no names of their own", `name the columns: fields = ["user", "ts:int"]`)
		}
		c.known(d)
		return &delimitedFormat{tableRow: tableRow{textDecoder: text, table: newTable(d.named, d.fields, s)},
			delimiter: []byte(delimiter), collapse: s.Collapse}, text
	case "":
		c.fail("format", 0, "the format is missing", "one of "+strings.Join(Formats(), ", "))
	default:
		c.fail("format", 0, fmt.Sprintf("there is no format %q", s.Format), "one of "+strings.Join(Formats(), ", "))
	}
	return nil, text
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
			found = found || n == d.fields[i].flat
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
