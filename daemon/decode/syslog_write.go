package decode

import (
	"strconv"

	"github.com/tidemark-stream/tidemark/daemon/jsontext"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// write puts the parts of a message into the cells of row i.
func (f *syslogFormat) write(i int) {
	f.object = part{}
	for c, n := range f.fieldOf {
		p, ok := f.part(n, f.fields[c].Path)
		switch {
		case !ok && n < syslogTimeField:
			if v := f.numbers[n]; v < 0 {
				f.missing(c, i)
			} else if t := f.fields[c].Type; t == TypeDynamic || t == TypeExact || t == TypeInt || t == TypeUint || t == TypeNumber {
				f.cols[c].SetInt(i, int64(v))
			} else if !f.put(c, i, f.number(v)) {
				return
			}
		case p.kind == batch.Missing:
			f.missing(c, i)
		case p.kind == batch.Null:
			f.cols[c].SetNull(i)
		case p.kind == batch.JSON && f.fields[c].Type != TypeString:
			f.cols[c].Set(i, batch.JSON, p.cell())
		case !f.put(c, i, p.span):
			return
		}
	}
	if f.whole {
		f.writeWhole(i)
	}
}

// part finds the text part that a path leads to; ok is false for the integers.
func (f *syslogFormat) part(n int, path Path) (p part, ok bool) {
	switch {
	case n < syslogTimeField:
		return part{}, false
	case n != syslogDataField:
		return f.parts[n], true
	case f.parts[n].kind != batch.JSON:
		return f.parts[n], true
	case len(path) == 3:
		for i := range f.params {
			if q := &f.params[i]; q.name != nil && string(q.id) == path[1].Name && string(q.name) == path[2].Name {
				p = part{q.value, batch.String} // the last one counts
			}
		}
		return p, true
	case len(path) == 2:
		return f.dataObject(path[1].Name), true
	}
	if f.object.kind == batch.Missing {
		f.object = f.dataObject("")
	}
	return f.object, true
}

// number is an integer as a text in Extra.
func (f *syslogFormat) number(v int) span {
	b := f.b
	off := len(b.Extra)
	b.Extra = strconv.AppendInt(b.Extra, int64(v), 10)
	return span{b.Extra[off:len(b.Extra):len(b.Extra)], batch.ExtraRef(off, 0)}
}

// dataObject writes the structured data as JSON to Extra: all of it, or the values of one element.
func (f *syslogFormat) dataObject(only string) part {
	b := f.b
	off := len(b.Extra)
	b.Extra = append(b.Extra, '{')
	found := false
	for i := range f.params {
		element := &f.params[i]
		if element.name != nil || only != "" && string(element.id) != only {
			continue
		}
		if only == "" {
			if found {
				b.Extra = append(b.Extra, ',')
			}
			b.Extra = append(jsontext.AppendString(b.Extra, element.id), ':', '{')
		} else if found {
			b.Extra = append(b.Extra[:off], '{') // the last element of a name counts
		}
		found = true
		for k := i + 1; k < len(f.params) && f.params[k].name != nil; k++ {
			if k > i+1 {
				b.Extra = append(b.Extra, ',')
			}
			b.Extra = append(jsontext.AppendString(b.Extra, f.params[k].name), ':')
			b.Extra = jsontext.AppendString(b.Extra, f.params[k].value.text)
		}
		if only == "" {
			b.Extra = append(b.Extra, '}')
		}
	}
	if !found {
		b.Extra = b.Extra[:off]
		return part{}
	}
	b.Extra = append(b.Extra, '}')
	return part{span{b.Extra[off:len(b.Extra):len(b.Extra)], batch.ExtraRef(off, 0)}, batch.JSON}
}

// writeWhole makes the object of a message for Spec.Whole.
func (f *syslogFormat) writeWhole(i int) {
	data := f.parts[syslogDataField]
	if data.kind == batch.JSON {
		data = f.dataObject("")
	}
	f.openObject()
	for n, name := range syslogNames() {
		switch p := &f.parts[n]; {
		case n < syslogTimeField:
			if v := f.numbers[n]; v >= 0 {
				f.memberValue(name, batch.Int, uint64(v), nil)
			}
		case n == syslogDataField && data.kind != batch.Missing:
			f.memberValue(name, data.kind, 0, data.text)
		case p.kind == batch.Null:
			f.memberValue(name, batch.Null, 0, nil)
		case p.kind == batch.String:
			f.member(name, p.text, f.typeOf(name))
		}
	}
	f.closeObject(i)
}
