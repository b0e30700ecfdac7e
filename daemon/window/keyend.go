package window

import (
	"errors"
	"math"
	"slices"
)

var errIndex = errors.New("window: damaged state: the index of keys names one that is not stored")

// firesAtEndOfTime says that the end of input, or of the clock, is what makes a window fire.
func (g *general) firesAtEndOfTime(e *entry) bool {
	return e.span.End == math.MaxInt64 && !e.is(ended) && (g.rules.end == endByRows || g.rules.end == endWithInput)
}

// keysAtEnd is about how many keys fire together that the end of input makes fire, and that are in the store only.
const keysAtEnd = 4096

// endOfKeys is endOfTime where keys lie in the store: those that are not in memory come in runs of hashes, fire in their order among those that are, and
// leave again. Nothing is written of them, since nothing ever asks for it.
func (g *general) endOfKeys() {
	d := g.disk
	resident := g.work
	from, last := d.store.Hashes()
	for done := false; !done && d.settle(); {
		var read []uint32
		to := last
		done = true
		err := d.store.Scan(lastTime, from, last, func(hash uint64, key, _ []byte) bool {
			if n := len(read); n >= keysAtEnd && g.keys.records[read[n-1]].hash != hash {
				to, done = hash-1, false
				return false
			}
			if k := g.loadIndexed(hash, key); k != noKey {
				read = append(read, k)
			}
			return d.err == nil
		})
		if err != nil {
			d.err = err
		}
		if d.err != nil {
			return
		}
		n := 0
		for n < len(resident) && resident[n].hash <= to {
			n++
		}
		part := slices.Clone(resident[:n])
		resident = resident[n:]
		for _, k := range read {
			for _, i := range g.lists.all(&g.keys.records[k].windows) {
				if e := &g.entries.all[i]; g.firesAtEndOfTime(e) {
					part = append(part, dueEntry{at: math.MaxInt64, end: e.span.End, hash: g.keys.records[k].hash, entry: i})
				}
			}
		}
		slices.SortFunc(part, g.compareDue)
		g.fireAtEnd(part)
		for _, k := range read {
			g.keys.records[k].flags &^= keyDirty
			g.leaveKey(k)
		}
		from = to + 1
	}
}

// overflow lets the caller take out what there is when it is much.
func (g *general) overflow() {
	if g.disk == nil || g.out.Overflow == nil || g.out.Results.N < OverflowRows {
		return
	}
	if !g.out.Overflow() {
		g.disk.err = ErrEnded
		return
	}
	g.writer.open(g.out)
}
