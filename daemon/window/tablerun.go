package window

import (
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
)

// paneRun is how many rows are looked up together. Their entries' first words are touched before any key is compared, so that the
// processor waits for many cache misses at once; and the entries of a run stay in the first cache level while one aggregate after
// the other is added to them.
const paneRun = 256

// lookups is memory for the keys of a run, shared by the tables of an operator.
type lookups struct {
	header, lo, hi [paneRun]uint64
	at             [paneRun]uint32
	touched        uint64 // what was read ahead, kept so that the compiler leaves the reads alone
}

// resolve finds or makes the entries of up to paneRun rows and marks them dirty. The offsets are in l.at and hold until a key is
// added.
func (t *table) resolve(l *lookups, keys *rowkey.Keys, rows []uint32) []uint32 {
	for {
		moves := t.moves
		at := t.lookup(l, keys, rows)
		if t.moves == moves {
			return at
		}
		// The table has grown, and what was found first has moved; now all keys are in it.
	}
}

func (t *table) lookup(l *lookups, keys *rowkey.Keys, rows []uint32) []uint32 {
	t.reserve(len(rows))
	at := l.at[:len(rows)]
	mem := t.mem
	touched := uint64(0)
	first, span, factor, stride := t.first, t.last-t.first, t.factor, uint32(t.stride)
	for i, row := range rows {
		hash, key := keys.Hash[row], keys.Bytes(int(row))
		if hash>>groupShift-first > span || !t.any {
			for _, r := range rows {
				t.include(keys.Hash[r])
			}
			return nil // the caller begins again
		}
		l.header[i&(paneRun-1)] = headerOf(hash, keys.Tag[row], len(key))
		if len(key) <= inlineSize {
			l.lo[i&(paneRun-1)], l.hi[i&(paneRun-1)] = keyWords(key)
		}
		e := home(hash-first<<groupShift, factor) * stride
		at[i] = e
		touched ^= mem[e]
	}
	l.touched = touched
	for i, e := range at {
		header := l.header[i&(paneRun-1)]
		// A third of the keys stand one slot behind their home, which no branch predictor can foresee. So the step is taken without a
		// branch: by the stride if the header at home is another key's, else by nothing.
		other := (mem[e] ^ header) & identity
		e += stride & uint32(int64(other|-other)>>63)
		p := mem[e : e+3 : e+3]
		// A long key's words are not compared here, nor that of a key that stands farther off.
		if (p[0]^header)&identity != 0 || p[1] != l.lo[i&(paneRun-1)] || p[2] != l.hi[i&(paneRun-1)] || header&lengthMask == longKey {
			row := rows[i]
			moves := t.moves
			e, _ = t.probe(at[i], keys.Hash[row], header, l.lo[i&(paneRun-1)], l.hi[i&(paneRun-1)], keys.Bytes(int(row)))
			if t.moves != moves {
				return nil
			}
		}
		at[i] = e
		if mem[e]&dirtyMark == 0 {
			mem[e] |= dirtyMark
			t.dirty = append(t.dirty, e)
		}
	}
	return at
}
