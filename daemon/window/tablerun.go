package window

import (
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
)

// paneRun is how many rows are looked up together. The homes of all of them are read before any key is compared, in a loop so short that
// the processor waits for as many cache misses at once as it can; and the entries of a run stay in the first cache level while one
// aggregate after the other is added to them.
const paneRun = 256

// lookups is memory for a run, shared by the tables of an operator.
type lookups struct {
	at      [paneRun]uint32
	touched uint64 // what was read ahead, kept so that the compiler leaves the reads alone
}

// resolve finds or makes the entries of up to paneRun rows and marks them dirty. The offsets are in l and hold until a key is added.
func (t *table) resolve(l *lookups, keys *rowkey.Keys, rows []uint32) []uint32 {
	for {
		t.reserve(len(rows))
		moves := t.moves
		at := t.lookup(l, keys, rows)
		if t.moves == moves {
			return at
		}
		// Entries have moved, so what was found first is somewhere else; now all keys are in the table.
	}
}

func (t *table) lookup(l *lookups, keys *rowkey.Keys, rows []uint32) []uint32 {
	at := l.at[:len(rows)]
	mem, stride := t.mem, uint32(t.stride)
	first, span, factor := t.first, t.last-t.first, t.factor
	if !t.any {
		t.include(keys.Hash[rows[0]])
		return nil
	}
	touched := uint64(0)
	for i, row := range rows {
		hash := keys.Hash[row]
		if hash>>groupShift-first > span {
			t.include(hash)
			return nil
		}
		e := home(hash-first<<groupShift, factor) * stride
		at[i] = e
		touched ^= mem[e]
	}
	l.touched = touched
	for i, row := range rows {
		key := keys.Bytes(int(row))
		header := headerOf(keys.Hash[row], keys.Tag[row], len(key))
		var lo, hi uint64
		if len(key) <= inlineSize {
			lo, hi = keyWords(key)
		}
		// A third of the keys stand one slot behind their home, which no branch predictor can foresee. So the step is taken without a
		// branch: by the stride if the header at home is another key's, else by nothing.
		e := at[i]
		other := (mem[e] ^ header) & identity
		e += stride & uint32(int64(other|-other)>>63)
		p := mem[e : e+3 : e+3]
		// A long key's words are not compared here, nor that of a key that stands farther off.
		if (p[0]^header)&identity != 0 || p[1] != lo || p[2] != hi || header&lengthMask == longKey {
			moves := t.moves
			e, _ = t.probe(at[i], keys.Hash[row], header, lo, hi, key)
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
