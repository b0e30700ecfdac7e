package file

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/zeebo/xxh3"
)

// generation is one life of a path: what stood in it until it was replaced or emptied. It is a partition.
type generation struct {
	name  string
	path  string // where it was first, as far as the name tells
	at    position
	known bool // at is set
	ended bool
	tail  *tail // being followed
	taken bool  // found in this run
}

// catalog holds the generations that were ever seen.
type catalog struct {
	list  []*generation
	names map[string]bool
}

func newCatalog(restored []sdk.RestoredPartition) *catalog {
	c := &catalog{names: map[string]bool{}}
	for _, r := range restored {
		g := &generation{name: r.Name, path: pathOf(r.Name), ended: r.Ended}
		if len(r.Position) > 0 {
			// A position that cannot be read stands for nothing read: a record twice is better than one lost.
			if p, err := decodePosition(r.Position); err == nil {
				g.at, g.known = p, true
			}
		}
		c.list = append(c.list, g)
		c.names[g.name] = true
	}
	return c
}

// pathOf is the path in a partition's name: all of it before ";2".
func pathOf(name string) string {
	if i := strings.LastIndexByte(name, ';'); i > 0 && digits(name[i+1:]) == len(name)-i-1 && len(name) > i+1 {
		return name[:i]
	}
	return name
}

// add makes the next generation of a path.
func (c *catalog) add(path string) *generation {
	name := path
	for n := 2; c.names[name] || pathOf(name) != path; n++ {
		name = fmt.Sprintf("%s;%d", path, n)
	}
	g := &generation{name: name, path: path}
	c.list = append(c.list, g)
	c.names[name] = true
	return g
}

// find returns the generation that a file is, or nil for a new one: the same file by the system's name, else one that was under the same
// path; in any case what was read of it must still be there. A generation that is being followed has its file.
func (c *catalog) find(f *candidate) *generation {
	var best *generation
	for _, g := range c.list {
		if !g.known || g.tail != nil {
			continue
		}
		sameFile := g.at.ID == f.id && f.id != id{}
		if !sameFile && g.path != f.path {
			continue
		}
		if !f.continues(g.at) {
			continue
		}
		if sameFile {
			return g
		}
		best = g
	}
	return best
}

// copied returns the generation that a file of another name is a copy of, made by a rotation. It may be longer than what was read.
func (c *catalog) copied(f *candidate) *generation {
	for _, g := range c.list {
		if g.known && g.at.Offset > 0 && !g.at.Packed && g.path != f.path && siblings(g.path, f.path) && f.continues(g.at) {
			return g
		}
	}
	return nil
}

// copying returns the followed generation whose beginning a file of another name is: a copy that has just been begun.
func (c *catalog) copying(f *candidate) *generation {
	for _, g := range c.list {
		if g.tail == nil || g.path == f.path || !siblings(g.path, f.path) || f.size == 0 || f.size > g.at.Offset {
			continue
		}
		n := int(min(f.size, headBytes))
		head, ok := headOf(f.f, n)
		if !ok {
			continue
		}
		if theirs, ok := headOf(g.tail.r.f, n); !ok || theirs != head {
			continue
		}
		guard, ok := guardOf(f.f, f.size)
		if theirs, ok2 := guardOf(g.tail.r.f, f.size); ok && ok2 && theirs == guard {
			return g
		}
	}
	return nil
}

// siblings reports whether one path looks like the other after a rotation: app.log and app.log.1, app.log-20260101 or app-20260101.log.
func siblings(a, b string) bool {
	if filepath.Dir(a) != filepath.Dir(b) {
		return false
	}
	a, b = filepath.Base(a), filepath.Base(b)
	if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
		return true
	}
	ea, eb := filepath.Ext(a), filepath.Ext(b)
	sa, sb := strings.TrimSuffix(a, ea), strings.TrimSuffix(b, eb)
	return ea == eb && (strings.HasPrefix(sa, sb) || strings.HasPrefix(sb, sa))
}

// packedCopy returns the generation that a compressed file of another name holds: rotations compress what has been read.
func (c *catalog) packedCopy(f *candidate, packing string) *generation {
	out, free, err := unpack(packing, io.NewSectionReader(f.f, 0, f.size))
	if err != nil {
		return nil
	}
	defer free()
	var head [headBytes]byte
	n, _ := io.ReadFull(out, head[:])
	for _, g := range c.list {
		if g.known && g.at.Head.n > 0 && !g.at.Packed && siblings(g.path, f.path) && n >= g.at.Head.n {
			if xxh3.Hash(head[:g.at.Head.n]) == g.at.Head.hash {
				return g
			}
		}
	}
	return nil
}
