package decode

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// The fast way through a row follows the forecast of the top object and reads the commonest values in place: strings without
// escapes and numbers of few digits. Whatever else comes, it hands over in the middle, to the scanner that knows everything.
// It is the same reading with fewer checks, and may leave them out because of what fastRows makes sure of:
//
//	(a) every byte of the batch is ASCII;
//	(b) the byte after the row is a line feed, and no learned text holds a control character. So whatever starts inside the
//	    row (a string, a number, a text of a link) stops at the line feed at the latest;
//	(c) readAhead more bytes follow in the arena, so eight or sixteen bytes may be loaded from any place in the row.
//
// Measured with rows of 109 bytes and three fields, this halves the time of a row.

// readAhead is how far beyond the end of a row the fast way may look: at most 8 bytes of a text start at the line feed, and
// two words are loaded there.
const readAhead = 32

// slot is where a column's cells are written on the fast way.
type slot struct {
	kinds   []batch.Kind
	bits    []uint64
	present uint16
}

// Slots of links: what the value after their text is for.
const (
	slotSkip  = -1 // nobody wants it
	slotOther = -2 // something that the fast way does not do
)

// setSlots says where the values of n go, if it is as simple as that.
func (l *link) setSlots(n *node) {
	l.node = n
	l.texts, l.numbers, l.exact = slotOther, slotOther, false
	switch {
	case n == nil:
		l.texts, l.numbers = slotSkip, slotSkip
	case n.names != nil || n.items != nil || len(n.targets) != 1 || n.targets[0].form == formJSON:
	default:
		t := n.targets[0]
		l.texts = int32(t.column)
		if t.form != formText {
			l.numbers, l.exact = int32(t.column), t.form == formExact
		}
	}
}

// fastLoad reads eight bytes at p, the lowest first. The caller knows that they are there; see (c).
func fastLoad(base unsafe.Pointer, p int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(base, p))[:])
}

func fastByte(base unsafe.Pointer, p int) byte { return *(*byte)(unsafe.Add(base, p)) }

// asciiDigits is digitsIn for ASCII.
func asciiDigits(t uint64) int { return bits.TrailingZeros64((t+0x7676767676767676)&highs) >> 3 }

// asciiStops marks the quotes, backslashes and control characters among eight ASCII characters.
func asciiStops(w uint64) uint64 {
	const notZero = 0x7f7f7f7f7f7f7f7f // plus a byte of ASCII: the highest bit says that the byte is not 0
	return ^(((w ^ 0x2222222222222222) + notZero) & ((w ^ 0x5c5c5c5c5c5c5c5c) + notZero) & (w + 0x6060606060606060)) & highs
}

// fastRow reads the object whose brace stands before p, in a row that ends at end. It returns the place after the object, or a
// negative number for a mistake. The columns seen are added to s.seen[0]. The caller compares the place with end.
func (s *jsonScanner) fastRow(p, end int, ns *names) int {
	base := unsafe.Pointer(unsafe.SliceData(s.buf))
	row := s.row
	seen, again := s.seen[0], uint64(0)
	prev := &ns.head
	for {
		l := prev.next
		switch {
		case l == nil && fastByte(base, p) == '}' && prev != &ns.head:
			s.seen[0] = seen
			s.overwrote = s.overwrote || again != 0
			return p + 1
		case l == nil || (fastLoad(base, p)^l.words[0])&l.masks[0]|(fastLoad(base, p+8)^l.words[1])&l.masks[1] != 0 || l.size > 16 && !l.matches(s.buf, p):
			if l = s.fastMember(base, p, ns, prev); l != nil {
				break
			}
			q := 0
			if l, q = s.member(p, ns, prev); l == nil || q > end {
				s.seen[0] = seen
				s.overwrote = s.overwrote || again != 0
				return q
			}
			p = q - l.size
		}
		p += l.size
		c := fastByte(base, p)
		if c == '"' && l.texts != slotOther {
			start := p + 1
			q := start
			stops := asciiStops(fastLoad(base, q))
			for stops == 0 {
				q += 8
				stops = asciiStops(fastLoad(base, q))
			}
			q += bits.TrailingZeros64(stops) >> 3
			if fastByte(base, q) == '"' {
				if l.texts >= 0 {
					bit := uint64(1) << (uint(l.texts) & 63)
					again |= seen & bit
					seen |= bit
					t := &s.slots[l.texts]
					t.kinds[row], t.bits[row] = batch.String, batch.Ref(start, q-start)
					t.present |= 1 << batch.String
				}
				p = q + 1
				prev = l
				continue
			}
		} else if c-'0' <= 9 && l.numbers != slotOther {
			// Up to 15 digits, or up to 8 and a fraction of up to 7: what is longer takes the other way.
			t := fastLoad(base, p) ^ zeros
			n := asciiDigits(t)
			var m uint64
			if n < 8 {
				m = eightDigits(t << ((64 - 8*uint(n)) & 63))
			} else {
				m = eightDigits(t)
				t = fastLoad(base, p+8) ^ zeros
				if more := asciiDigits(t); more > 0 {
					if more == 8 {
						goto other
					}
					m = m*powersInt[more] + eightDigits(t<<((64-8*uint(more))&63))
					n += more
				}
			}
			q := p + n
			kind, value := batch.Int, m
			switch after := fastByte(base, q); {
			case c == '0' && n > 1 || after|0x20 == 'e':
				goto other
			case after == '.':
				t := fastLoad(base, q+1) ^ zeros
				digits := asciiDigits(t)
				if digits == 0 || digits == 8 || n > 8 || l.exact || fastByte(base, q+1+digits)|0x20 == 'e' {
					goto other
				}
				q += 1 + digits
				if l.numbers >= 0 {
					m = m*powersInt[digits] + eightDigits(t<<((64-8*uint(digits))&63))
					kind, value = batch.Float, math.Float64bits(float64(m)/powersFloat[digits])
				}
			}
			if l.numbers >= 0 {
				bit := uint64(1) << (uint(l.numbers) & 63)
				again |= seen & bit
				seen |= bit
				t := &s.slots[l.numbers]
				t.kinds[row], t.bits[row] = kind, value
				t.present |= 1 << kind
			}
			p = q
			prev = l
			continue
		}
	other:
		s.seen[0] = seen
		if l.node != nil && s.twice(l.node) {
			s.clear(l.node)
		}
		// NB: a value that is read the careful way may go on into the next rows, where nothing here may follow it.
		if c == '{' && l.node != nil && l.node.names != nil && len(l.node.targets) == 0 {
			p = s.fastRow(p+1, end, l.node.names)
		} else {
			// A text that was learned without a space before the value also matches where there is one.
			p = s.value(s.space(p), l.node, 1)
		}
		if p < 0 || p > end {
			return -1
		}
		seen = s.seen[0]
		prev = l
	}
}

// fastMember finds the link of a name that the forecast did not tell, when it follows a comma or the brace without spaces.
func (s *jsonScanner) fastMember(base unsafe.Pointer, p int, ns *names, prev *link) *link {
	if l := prev.spare; l != nil && l.matches(s.buf, p) {
		prev.next, prev.spare = l, prev.next
		return l
	}
	name := p
	if prev != &ns.head {
		if fastByte(base, p) != ',' {
			return nil
		}
		name++
	}
	if fastByte(base, name) != '"' {
		return nil
	}
	name++
	q := name
	stops := asciiStops(fastLoad(base, q))
	for stops == 0 {
		q += 8
		stops = asciiStops(fastLoad(base, q))
	}
	q += bits.TrailingZeros64(stops) >> 3
	if fastByte(base, q) != '"' || fastByte(base, q+1) != ':' || fastByte(base, q+2) <= ' ' {
		return nil
	}
	return ns.learn(prev, s.buf, p, name, q, q+2)
}
