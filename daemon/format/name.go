package format

import (
	"slices"
	"strings"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// shownName is the name that a column has in JSON. The column of a field whose name holds a dot is called by its path, ["a.b"]; the member is
// called a.b, as it came in, unless another column has that name.
func shownName(name string, columns []*batch.Column) string {
	plain, ok := unquoted(name)
	if !ok || slices.ContainsFunc(columns, func(c *batch.Column) bool { return c != nil && c.Name == plain }) {
		return name
	}
	return plain
}

// unquoted is the name inside a path that is nothing but a quoted name: ["a.b"], ['a.b'], "a.b" or 'a.b'.
func unquoted(path string) (name string, ok bool) {
	if strings.HasPrefix(path, "[") && strings.HasSuffix(path, "]") {
		path = path[1 : len(path)-1]
	}
	if len(path) < 2 || path[0] != '"' && path[0] != '\'' {
		return "", false
	}
	var b strings.Builder
	for i := 1; i < len(path); i++ {
		switch path[i] {
		case path[0]:
			return b.String(), i == len(path)-1 && b.Len() > 0
		case '\\':
			if i++; i == len(path) {
				return "", false
			}
		}
		b.WriteByte(path[i])
	}
	return "", false
}
