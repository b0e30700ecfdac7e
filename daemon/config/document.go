package config

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Document is a TOML text of another kind than pipelines, such as test cases, with the places of all keys and values.
type Document struct {
	Root *Table
	// Broken says that lines were refused and left out. What seems to be missing may only be missing because of that.
	Broken bool

	text *text
}

// LoadDocument reads a file. Document is nil when nothing sensible could be read.
func LoadDocument(path string) (*Document, problem.List) {
	var l problem.List
	data, ok := readFile(path, &l)
	if !ok {
		return nil, l
	}
	return ParseDocument(path, data)
}

// ParseDocument is LoadDocument for a content that was read elsewhere. Strings are taken as they are: ${NAME} means nothing in them.
func ParseDocument(file string, data []byte) (*Document, problem.List) {
	var l problem.List
	r, ok := open(file, data, nil, nil, SectionRoot, &l)
	if !ok {
		return nil, l
	}
	return &Document{Root: r.table, Broken: r.broken, text: r.text}, l
}

// Problem makes a problem at a place of the text, with the line it stands in.
func (d *Document) Problem(code string, at problem.Place, hint, format string, args ...any) problem.Problem {
	return d.text.problem(code, at, fmt.Sprintf(format, args...), hint)
}
