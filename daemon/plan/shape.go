package plan

import (
	"slices"
	"sort"
	"strings"

	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Shape is what is known about the rows of a port.
type Shape struct {
	// Record says that a row is a record as it came in (its bytes are at hand, and [decode.WholeColumn] can be decoded), so that any field
	// may be there; Fields then are those that were added or replaced on the way, and Dropped those that were taken out. Without it the
	// row is exactly Fields.
	Record  bool
	Fields  []Field
	Dropped []string
	// Unknown says that columns are known only while running: what a plugin gives.
	Unknown bool
	// Split says that rows are parts of records, so that the bytes of a record are no longer at hand.
	Split bool
	// Declared are fields of a Record whose types the file declares.
	Declared []Field
	// Strict says that a Record has the declared fields and no others, as rows of a table with named columns.
	Strict bool
	// Other is the type of a Record's fields that are not declared, where they all have the same: "string" of csv with a header row.
	Other string
}

// Field is a column and the kind of its values.
type Field struct {
	Name string
	Type string // "any", "bool", "int", "float", "number", "string", "timestamp", "json"
}

// find gives the type of a field; ok is false when rows certainly do not have it. name may be a path: it is there if its root is.
func (s Shape) find(name string) (typ string, ok bool) {
	if t, ok := findIn(s.Fields, name); ok {
		return t, true
	}
	if has(s.Dropped, name) || has(s.Dropped, rootOf(name)) {
		return "", false
	}
	if t, ok := findIn(s.Declared, name); ok {
		return t, true
	}
	if s.Unknown || s.Record && !s.Strict {
		return s.other(), true
	}
	return "", false
}

// other is the type of a field that nothing is said about.
func (s Shape) other() string {
	if s.Other == "" || s.Unknown {
		return "any"
	}
	return s.Other
}

// findIn finds a field, or the one that it lies in when that one may have something inside.
func findIn(list []Field, name string) (typ string, ok bool) {
	root := rootOf(name)
	for _, f := range list {
		if f.Name == name {
			return f.Type, true
		}
	}
	for _, f := range list {
		if f.Name == root && (f.Type == "any" || f.Type == "json" || f.Type == "object" || f.Type == "list") {
			return "any", true
		}
	}
	return "", false
}

// inner says whether a field has no column of its own, but lies within one: in a column that a step has made, or in a JSON column of a
// table. Fields of records as they came can be decoded wherever they lie.
func (s Shape) inner(name string) bool {
	root := rootOf(name)
	if root == name {
		return false
	}
	inColumn := false
	lists := [][]Field{s.Fields}
	if s.Strict || !s.Record {
		lists = append(lists, s.Declared)
	}
	for _, list := range lists {
		for _, f := range list {
			if f.Name == name {
				return false
			}
			inColumn = inColumn || f.Name == root
		}
	}
	return inColumn
}

// innerColumns are the columns to be computed so that all of names are there.
func innerColumns(s Shape, names []string) []Column {
	var out []Column
	for _, n := range names {
		if s.inner(n) {
			out = append(out, Column{Name: n, Expr: canonical(n), Reads: []string{canonical(n)}})
		}
	}
	return out
}

// names lists the fields that are known by name.
func (s Shape) names() []string {
	var out []string
	for _, list := range [][]Field{s.Fields, s.Declared} {
		for _, f := range list {
			if !has(out, f.Name) && !has(s.Dropped, f.Name) {
				out = append(out, f.Name)
			}
		}
	}
	return out
}

// columns are the names of Fields.
func (s Shape) columns() []string {
	var out []string
	for _, f := range s.Fields {
		out = append(out, f.Name)
	}
	return out
}

// with adds or replaces a field.
func (s Shape) with(f Field) Shape {
	fields := append([]Field(nil), s.Fields...)
	s.Dropped = without(s.Dropped, f.Name)
	for i := range fields {
		if fields[i].Name == f.Name {
			fields[i] = f
			s.Fields = fields
			return s
		}
	}
	s.Fields = append(fields, f)
	return s
}

// drop takes a field out.
func (s Shape) drop(name string) Shape {
	var fields []Field
	for _, f := range s.Fields {
		if f.Name != name {
			fields = append(fields, f)
		}
	}
	s.Fields = fields
	if s.Record || s.Unknown {
		s.Dropped = append(without(s.Dropped, name), name)
		sort.Strings(s.Dropped)
	}
	return s
}

// merge is the shape of rows that may have either shape.
func (s Shape) merge(o Shape) Shape {
	out := Shape{Record: s.Record || o.Record, Unknown: s.Unknown || o.Unknown, Strict: s.Strict && o.Strict, Split: s.Split || o.Split}
	if slices.Equal(s.Declared, o.Declared) && s.Other == o.Other {
		out.Other = s.Other
	}
	for _, f := range s.Fields {
		if t, ok := o.find(f.Name); !ok || t != f.Type {
			f.Type = "any"
		}
		out.Fields = append(out.Fields, f)
	}
	for _, f := range o.Fields {
		if !has(s.columns(), f.Name) {
			if t, ok := s.find(f.Name); !ok || t != f.Type {
				f.Type = "any"
			}
			out.Fields = append(out.Fields, f)
		}
	}
	for _, f := range s.Declared {
		for _, g := range o.Declared {
			if f == g {
				out.Declared = append(out.Declared, f)
			}
		}
	}
	for _, d := range s.Dropped {
		if has(o.Dropped, d) {
			out.Dropped = append(out.Dropped, d)
		}
	}
	if out.Strict {
		// Fields that only one side has may be missing, but are no mistake.
		out.Declared = append(append([]Field(nil), s.Declared...), o.Declared...)
	}
	return out
}

// DeadLetterShape is the shape of the port errors: one row for each record that went no further. raw_base64 is there only where raw is no
// UTF-8, and would lose bytes as text.
func DeadLetterShape() Shape {
	return Shape{Fields: []Field{
		{"reason", "string"}, {"message", "string"}, {"component", "string"}, {"source", "string"}, {"partition", "string"},
		{"position", "int"}, {"event_time", "timestamp"}, {"raw", "string"}, {"raw_base64", "string"},
	}}
}

// LateFields are added to the rows of the port late, which are otherwise as they came to the window.
func LateFields() []Field {
	return []Field{{"_source", "string"}, {"_partition", "string"}, {"_position", "int"}, {"_event_time", "timestamp"}, {"_reason", "string"}}
}

func (s Shape) late() Shape {
	for _, f := range LateFields() {
		s = s.with(f)
	}
	return s
}

// rootOf is the first step of a path.
func rootOf(name string) string {
	p, err := decode.ParsePath(name)
	if err != nil || len(p) == 0 || p[0].Array {
		return name
	}
	return p[0].Name
}

func has(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func without(list []string, s string) []string {
	var out []string
	for _, e := range list {
		if e != s {
			out = append(out, e)
		}
	}
	return out
}

// String shows a shape on one line.
func (s Shape) String() string {
	var parts []string
	for _, f := range s.Fields {
		if batch.IsAside(f.Name) { // see Fold
			parts = append(parts, strings.TrimSpace("the window's records "+batch.NotAside(f.Name)))
			continue
		}
		if f.Type == "any" || f.Type == "" {
			parts = append(parts, f.Name)
		} else {
			parts = append(parts, f.Name+":"+f.Type)
		}
	}
	fields := strings.Join(parts, ", ")
	switch {
	case s.Record && fields == "" && len(s.Dropped) == 0:
		return "records as they came"
	case s.Record:
		text := "records as they came"
		if fields != "" {
			text += " with " + fields
		}
		if len(s.Dropped) > 0 {
			text += " without " + strings.Join(s.Dropped, ", ")
		}
		return text
	case s.Unknown && fields == "":
		return "whatever the plugin gives"
	case s.Unknown:
		return "whatever the plugin gives, with " + fields
	}
	return fields
}
