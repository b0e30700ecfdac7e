package batch

import "strings"

// aside begins the names of columns that no plugin sees. No field of a record begins with it: a path has no such character.
const aside = "\x00"

// Aside is the name of a column that is put aside for another one that is called name. Plugins are not given such columns.
func Aside(name string) string { return aside + name }

// IsAside says whether a column of that name is put aside.
func IsAside(name string) bool { return strings.HasPrefix(name, aside) }

// NotAside is the name that a column had before it was put aside; other names are what they are.
func NotAside(name string) string { return strings.TrimPrefix(name, aside) }
