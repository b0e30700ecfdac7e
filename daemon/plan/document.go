package plan

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// MarshalJSON writes the plan for programs. Keys are the names of the fields in lower case with underscores, durations are text as in a pipeline
// file, lengths of windows are milliseconds, and what has its zero value is left out. docs/reference/explain.md lists the keys, which are kept.
func (p *Plan) MarshalJSON() ([]byte, error) {
	d, _ := document(reflect.ValueOf(p).Elem())
	return json.Marshal(d)
}

var (
	jsonType  = reflect.TypeFor[json.Marshaler]()
	textType  = reflect.TypeFor[encoding.TextMarshaler]()
	rawType   = reflect.TypeFor[json.RawMessage]()
	zoneType  = reflect.TypeFor[*time.Location]()
	durations = reflect.TypeFor[time.Duration]()
	placeType = reflect.TypeFor[problem.Place]()
)

// inner is what pointers point to and lists have.
func inner(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// document is a value as what encoding/json writes; ok is false for what is left out.
func document(v reflect.Value) (out any, ok bool) {
	t := v.Type()
	switch {
	case v.IsZero():
		return nil, false
	case t == durations:
		return config.FormatDuration(time.Duration(v.Int())), true
	case t == zoneType:
		return v.Interface().(*time.Location).String(), true
	case t == rawType, t.Implements(jsonType), t.Implements(textType):
		return v.Interface(), true
	}
	switch t.Kind() {
	case reflect.Int, reflect.Uint8, reflect.Int64:
		if named, ok := v.Interface().(fmt.Stringer); ok {
			return named.String(), true
		}
	case reflect.Pointer, reflect.Interface:
		return document(v.Elem())
	case reflect.Struct:
		m := map[string]any{}
		for _, f := range reflect.VisibleFields(t) {
			if name := documentName(f); name != "" && len(f.Index) == 1 && !f.Anonymous {
				if e, ok := document(v.FieldByIndex(f.Index)); ok {
					m[name] = e
				}
			} else if f.Anonymous && f.IsExported() && len(f.Index) == 1 { // as encoding/json does
				if e, ok := document(v.FieldByIndex(f.Index)); ok {
					for k, x := range e.(map[string]any) {
						m[k] = x
					}
				}
			}
		}
		return m, len(m) > 0
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			list[i], _ = document(v.Index(i))
			if list[i] == nil && v.Index(i).IsZero() {
				list[i] = v.Index(i).Interface()
			}
		}
		return list, len(list) > 0
	case reflect.Map:
		m := map[string]any{}
		for _, k := range v.MapKeys() {
			if e, ok := document(v.MapIndex(k)); ok {
				m[k.String()] = e
			}
		}
		return m, len(m) > 0
	case reflect.Func, reflect.Chan:
		return nil, false
	}
	return v.Interface(), true
}

// documentName is the key of a field, "" for fields that are not shown.
func documentName(f reflect.StructField) string {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case !f.IsExported() || tag == "-":
		return ""
	case inner(f.Type) == placeType || f.Type.Kind() == reflect.Map && f.Type.Elem() == placeType:
		return "" // where something stands in the file
	case f.Name == "Env":
		return "" // of plugin processes: secrets may be among it"
	case tag != "":
		return underscored(tag)
	}
	return underscored(f.Name)
}

// underscored makes max_drift of MaxDrift.
func underscored(name string) string {
	var out strings.Builder
	letters := []rune(name)
	for i, c := range letters {
		if unicode.IsUpper(c) {
			if i > 0 && letters[i-1] != '_' && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
				out.WriteByte('_')
			}
			c = unicode.ToLower(c)
		}
		out.WriteRune(c)
	}
	return out.String()
}
