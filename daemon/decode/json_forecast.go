package decode

import "bytes"

// forecast predicts the text between two values of an object, from `,` to the start of the next value: records of one
// source mostly have the same names in the same order with the same spaces, so a comparison of a few words replaces reading
// the name. It only ever saves time; where it is wrong the text is read the long way and learned.
type forecast struct {
	head   link
	spare  link // stands for a text that is not learned
	used   int
	links  [128]link
	byText [256]uint8 // hash of a text -> 1 + index of its link
}

// link is the text before a value, with what followed it last time.
type link struct {
	words [2]uint64
	masks [2]uint64
	size  int // length of the text
	// Where the fast way puts a text and a number; exact leaves decimals to the other way.
	texts, numbers int32
	exact          bool
	text           []byte // the text again
	node           *node  // what its name leads to; nil when the name is not wanted
	next           *link  // the forecast; nil: the object ends
	spare          *link  // the forecast before that, for records of two shapes
}

// maxLearned bounds the text of a link; longer ones are always read the long way.
const maxLearned = 128

// matches says whether the text of l stands at p.
func (l *link) matches(buf []byte, p int) bool {
	if (load(buf, p)^l.words[0])&l.masks[0]|(load(buf, p+8)^l.words[1])&l.masks[1] != 0 {
		return false
	}
	return l.size <= 16 || len(buf)-p >= l.size && bytes.Equal(buf[p:p+l.size], l.text)
}

// forget starts anew at a batch when all links have been used up, so that a source whose records change is learned again.
// Within a batch nothing is forgotten, which bounds the work that hostile names can cause.
func (f *forecast) forget() {
	if f.used == len(f.links) {
		f.used, f.head = 0, link{}
		clear(f.byText[:])
	}
}

// learn makes the text buf[from:to], in which the name stands at buf[name:nameEnd] without its quotes, the forecast after prev.
// The name must have no escapes.
func (ns *names) learn(prev *link, buf []byte, from, name, nameEnd, to int) *link {
	w := load(buf, name)
	if n := nameEnd - name; n < 8 {
		w &= 1<<(8*uint(n)) - 1
	}
	h := uint8((w*0x9e3779b97f4a7c15 + uint64(nameEnd-name)*0xd6e8feb86659fd93 + uint64(to-from)*0xca5a826395121157) >> 56)
	l := ns.lookUp(h, buf, from, name, nameEnd, to)
	if l != &ns.spare && prev != &ns.spare {
		prev.next, prev.spare = l, prev.next
	}
	return l
}

// probes is how many places of the table a text may be at.
const probes = 4

func (ns *names) lookUp(h uint8, buf []byte, from, name, nameEnd, to int) *link {
	for range probes {
		i := ns.byText[h]
		if i == 0 {
			return ns.newLink(h, buf[from:to], buf[name:nameEnd])
		}
		if l := &ns.links[i-1]; l.size == to-from && l.matches(buf, from) {
			return l
		}
		h++
	}
	return ns.passing(buf[name:nameEnd], to-from)
}

// passing is a link that is used once and not learned.
func (ns *names) passing(name []byte, size int) *link {
	l := &ns.spare
	l.setSlots(ns.find(name))
	l.size = size
	return l
}

func (ns *names) newLink(h uint8, text, name []byte) *link {
	if ns.used == len(ns.links) || len(text) > maxLearned || !learnable(text) {
		return ns.passing(name, len(text))
	}
	l := &ns.links[ns.used]
	ns.used++
	ns.byText[h] = uint8(ns.used)
	*l = link{size: len(text), text: append(l.text[:0], text...)}
	l.setSlots(ns.find(name))
	for i := range l.words {
		part := text[min(8*i, len(text)):min(8*i+8, len(text))]
		l.words[i] = nameWord(part)
		if len(part) > 0 {
			l.masks[i] = ^uint64(0) >> (64 - 8*len(part))
		}
	}
	return l
}

// learnable excludes line feeds and other control characters, on which the fast way counts, and escapes.
func learnable(text []byte) bool {
	for _, c := range text {
		if c == '\\' || c < 0x20 {
			return false
		}
	}
	return true
}
