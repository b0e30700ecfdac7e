package decode

import "bytes"

// forecast predicts the text between two values of an object, from `,` to the start of the next value: records of one
// source mostly have the same names in the same order with the same spaces, so a comparison of a few words replaces reading
// the name. It only ever saves time; where it is wrong the text is read the long way and learned.
type forecast struct {
	head  link
	spare link // stands for a text that is not learned
	used  int
	links [128]link
	table [256]uint8 // hash of a text -> 1 + index of its link
}

// link is the text before a value, with what followed it last time.
type link struct {
	words [2]uint64
	masks [2]uint64
	size  int    // length of the text
	text  []byte // the text again
	node  *node  // what its name leads to; nil when the name is not wanted
	next  *link  // the forecast; nil: the object ends
	spare *link  // the forecast before that, for records of two shapes
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
		clear(f.table[:])
	}
}

// learn makes text, whose name leads to n, the forecast after prev.
func (f *forecast) learn(prev *link, text []byte, n *node) *link {
	l := f.linkOf(text, n)
	if l != &f.spare && prev != &f.spare {
		prev.next, prev.spare = l, prev.next
	}
	return l
}

func (f *forecast) linkOf(text []byte, n *node) *link {
	h := textHash(text)
	if i := f.table[h]; i != 0 {
		if l := &f.links[i-1]; bytes.Equal(l.text, text) {
			return l
		}
	}
	// Names with escapes are not learned: a match would skip the look at their surrogates.
	if f.used == len(f.links) || f.table[h] != 0 || len(text) > maxLearned || bytes.IndexByte(text, '\\') >= 0 {
		f.spare.node = n
		return &f.spare
	}
	l := &f.links[f.used]
	f.used++
	f.table[h] = uint8(f.used)
	*l = link{size: len(text), node: n, text: append(l.text[:0], text...)}
	for i := range l.words {
		part := text[min(8*i, len(text)):min(8*i+8, len(text))]
		l.words[i] = nameWord(part)
		if len(part) > 0 {
			l.masks[i] = ^uint64(0) >> (64 - 8*len(part))
		}
	}
	return l
}

func textHash(text []byte) uint8 {
	h := uint64(len(text))
	for len(text) > 0 {
		part := text[:min(8, len(text))]
		h = (h ^ nameWord(part)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
		text = text[len(part):]
	}
	return uint8(h >> 56)
}
