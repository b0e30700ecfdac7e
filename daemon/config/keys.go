package config

import (
	"fmt"
	"strings"
)

// KeyType says what a key takes, in the words of the reference.
type KeyType string

// The types of keys.
const (
	TypeString   KeyType = "string"
	TypeInt      KeyType = "integer"
	TypeBool     KeyType = "boolean"
	TypeDuration KeyType = "duration" // "5s", see ParseDuration
	TypeSize     KeyType = "size"     // "64MiB", see ParseSize
	TypeEnum     KeyType = "one of"
	TypeStrings  KeyType = "list of strings"
	TypeField    KeyType = "field"
	TypeExpr     KeyType = "expression"
	TypeTable    KeyType = "table"
	TypeOther    KeyType = "several" // the reader of the section takes it apart itself; Doc says what it may be
)

// Key describes one key of a file: the reader takes types and defaults from here, and the reference is written from here, so
// the two cannot drift apart.
type Key struct {
	Section  Section
	Name     string
	Type     KeyType
	Values   []string // TypeEnum
	Default  string   // as it would be written; "" = none
	Required bool
	Min, Max int64  // TypeInt: bounds; Min for durations in ns and sizes in bytes; both 0 = only "not negative"
	Doc      string // what it does; full sentences
	Example  string // the value as written in a file
}

// Section is a table of the file as the reference names it.
type Section string

// Keys describes every key of a pipeline's file, in the order of the reference.
func Keys() []Key {
	var out []Key
	for _, part := range [][]Key{pipelineKeys, sourceKeys, timeKeys, transformKeys, sinkKeys, operationKeys} {
		out = append(out, part...)
	}
	return out
}

// DaemonKeys describes every key of the daemon's own file.
func DaemonKeys() []Key { return append([]Key(nil), daemonKeys...) }

func keysOf(all []Key, sections ...Section) []Key {
	var out []Key
	for _, k := range all {
		for _, s := range sections {
			if k.Section == s {
				out = append(out, k)
			}
		}
	}
	return out
}

func names(keys []Key) []string {
	var out []string
	for _, k := range keys {
		out = append(out, k.Name)
	}
	return out
}

// describe says what a key takes, for the hint of a wrong type.
func (k Key) describe() string {
	s := ""
	switch k.Type {
	case TypeString:
		s = "a string"
	case TypeInt:
		s = "an integer"
	case TypeBool:
		s = "true or false"
	case TypeDuration:
		s = `a duration such as "5s"`
	case TypeSize:
		s = `a size such as "64MiB"`
	case TypeEnum:
		s = "one of " + strings.Join(k.Values, ", ")
	case TypeStrings:
		s = "a list of strings"
	case TypeField:
		s = "the name of a field"
	case TypeExpr:
		s = "an expression, as a string"
	case TypeTable:
		s = "a table"
	default:
		return ""
	}
	if k.Example != "" && k.Type != TypeTable && k.Type != TypeBool && k.Type != TypeEnum {
		s = fmt.Sprintf("%s, as in %s = %s", s, k.Name, k.Example)
	}
	return s
}
