package transform

import (
	"strings"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Type is what is known about a value before any row has been seen.
type Type uint8

const (
	TypeAny    Type = iota // nothing: decided row by row
	TypeNull               // always null
	TypeBool               // true or false
	TypeInt                // a whole number
	TypeFloat              // a number with a fraction
	TypeNumber             // one of the two
	TypeString             // text
	TypeTime               // event time in milliseconds
	TypeList               // an array
	TypeObject             // an object
)

func (t Type) String() string {
	return [...]string{"any", "null", "bool", "int", "float", "number", "string", "timestamp", "list", "object"}[t]
}

// people is the type with its article.
func (t Type) people() string {
	switch t {
	case TypeNull:
		return "null"
	case TypeInt, TypeObject:
		return "an " + t.String()
	case TypeAny:
		return "any value"
	}
	return "a " + t.String()
}

// ParseType finds the type of a declared field by its name in a pipeline file; "json" and unknown ones are TypeAny.
func ParseType(name string) Type {
	switch name {
	case "string":
		return TypeString
	case "int", "uint":
		return TypeInt
	case "float":
		return TypeFloat
	case "number":
		return TypeNumber
	case "bool":
		return TypeBool
	case "timestamp":
		return TypeTime
	}
	return TypeAny
}

func (t Type) numeric() bool { return t == TypeInt || t == TypeFloat || t == TypeNumber }

// may reports whether a value of type t can be used where want is wanted. Null can be used everywhere.
func (t Type) may(want Type) bool {
	switch {
	case t == TypeAny || want == TypeAny || t == TypeNull || t == want:
		return true
	case want == TypeNumber:
		return t.numeric()
	case t == TypeNumber:
		return want.numeric()
	}
	return false
}

// canBe reports whether the value of n can be used where want is wanted. It knows more than the type says: whatever the fields are that
// arithmetic works on, it gives a number, a text or a time.
func canBe(n node, want Type) bool {
	switch n := n.(type) {
	case *arithNode:
		if n.static() == TypeAny && (want == TypeBool || isList(want)) {
			return false
		}
	case *condNode:
		return canBe(n.yes, want) || canBe(n.no, want)
	}
	return n.static().may(want)
}

// given is what n gives, for people who needed something else.
func given(n node) string {
	switch n := n.(type) {
	case *arithNode:
		if n.static() == TypeAny {
			return "a number, a string or a timestamp"
		}
	case *condNode:
		if n.static() == TypeAny {
			return given(n.yes)
		}
	}
	return n.static().people()
}

// joined is the type of a value that is one or the other.
func joined(a, b Type) Type {
	switch {
	case a == b || b == TypeNull:
		return a
	case a == TypeNull:
		return b
	case a.numeric() && b.numeric():
		return TypeNumber
	}
	return TypeAny
}

// kindName is what people call a cell's kind.
func kindName(k batch.Kind) string {
	switch k {
	case batch.Missing, batch.Null:
		return "null"
	case batch.Bool:
		return "a bool"
	case batch.Int, batch.Uint:
		return "an int"
	case batch.Float:
		return "a float"
	case batch.String:
		return "a string"
	case batch.Time:
		return "a timestamp"
	}
	return "a list or object"
}

// Schema says which fields an expression can use.
type Schema struct {
	// Fields are the known fields and their types, by path as [Ref.Path] writes it.
	Fields map[string]Type
	// Closed says that there are no others: another name is a mistake. Otherwise another name is a field of unknown type, which is
	// null where a row does not have it.
	Closed bool
	// Other is the type of fields that are not known; zero is TypeAny.
	Other Type
}

// look finds the type of a field, or of the known field that it lies in.
func (s *Schema) look(steps []Step) (Type, bool) {
	if t, ok := s.Fields[pathString(steps)]; ok {
		return t, true
	}
	for n := len(steps) - 1; n > 0; n-- {
		if t, ok := s.Fields[pathString(steps[:n])]; ok {
			if t == TypeAny || t == TypeObject || t == TypeList {
				return TypeAny, true
			}
			return t, false
		}
	}
	return s.Other, !s.Closed
}

// Step is one part of a path: a name, or an index when Array is set.
type Step struct {
	Name  string
	Index int
	Array bool
}

// pathString writes a path as pipeline files and decode do: a.b, a["x.y"], a[0].
func pathString(steps []Step) string {
	var sb strings.Builder
	for i, s := range steps {
		switch {
		case s.Array:
			sb.WriteByte('[')
			sb.WriteString(itoa(s.Index))
			sb.WriteByte(']')
		case s.Name == "" || strings.ContainsAny(s.Name, ".[]\"'\\") || i == 0 && strings.HasPrefix(s.Name, "$env"):
			sb.WriteString(`["`)
			sb.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.Name))
			sb.WriteString(`"]`)
		default:
			if i > 0 {
				sb.WriteByte('.')
			}
			sb.WriteString(s.Name)
		}
	}
	return sb.String()
}
