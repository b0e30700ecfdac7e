package decode

import (
	"bytes"
	"encoding/binary"
)

// node is a place in a JSON value that is wanted itself or on the way to wanted ones. The tree of nodes is made of the paths
// of the fields; a value is walked along it, and everything beside it is only checked.
type node struct {
	targets []target // columns that get the value found here
	names   *names   // wanted names, if it is an object
	items   []*node  // wanted elements, if it is an array; nil for those that are not
	columns []int    // all columns at or below this node, to forget them when a name is there twice
}

// target is a column and the form in which it wants the value.
type target struct {
	column int
	form   form
}

// form says how a value is written into its cell.
type form uint8

const (
	formValue form = iota // in its own kind
	formText              // numbers and other values as the text that stands there, for fields of type string
	formExact             // like formValue, but what would become a float keeps its text
	formJSON              // the JSON text of any value, strings with their quotes
)

// grow adds the path of a column to the tree below n.
func (n *node) grow(p Path, column int, f form) {
	n.columns = append(n.columns, column)
	if len(p) == 0 {
		n.targets = append(n.targets, target{column, f})
		return
	}
	step := p[0]
	var child *node
	if step.Array {
		for len(n.items) <= step.Index {
			n.items = append(n.items, nil)
		}
		if child = n.items[step.Index]; child == nil {
			child = new(node)
			n.items[step.Index] = child
		}
	} else {
		if n.names == nil {
			n.names = new(names)
		}
		if child = n.names.find([]byte(step.Name)); child == nil {
			child = new(node)
			n.names.add(step.Name, child)
		}
	}
	child.grow(p[1:], column, f)
}

// names are the wanted names of one object, and what has been learned about the order in which names come there.
type names struct {
	entries []entry
	table   [64]int16 // hash of a name -> 1 + index of the last entry with that hash
	forecast
}

type entry struct {
	name []byte
	word uint64
	next int16 // 1 + index of the entry before with the same hash
	node *node
}

// nameWord packs the first eight bytes of a name. Together with the length it settles most comparisons.
func nameWord(name []byte) uint64 {
	if len(name) >= 8 {
		return binary.LittleEndian.Uint64(name)
	}
	return loadTail(name, 0)
}

func nameHash(word uint64, n int) uint64 {
	return (word*0x9e3779b97f4a7c15 + uint64(n)*0xd6e8feb86659fd93) >> 58
}

func (ns *names) add(name string, n *node) {
	e := entry{name: []byte(name), word: nameWord([]byte(name)), node: n}
	h := nameHash(e.word, len(name))
	e.next = ns.table[h]
	ns.entries = append(ns.entries, e)
	ns.table[h] = int16(len(ns.entries))
}

// find returns the node of a name, nil when the name is not wanted.
func (ns *names) find(name []byte) *node {
	w := nameWord(name)
	for i := ns.table[nameHash(w, len(name))]; i != 0; {
		e := &ns.entries[i-1]
		if e.word == w && len(e.name) == len(name) && (len(name) <= 8 || bytes.Equal(e.name, name)) {
			return e.node
		}
		i = e.next
	}
	return nil
}
