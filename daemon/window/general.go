package window

import (
	"math"
	"sort"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// general is the engine that does everything: it keeps an entry for each key and window.
//
// A row finds its key in a hash table, then its windows in the key's list. Its aggregation is only noted, in pending, and done for
// many rows at once: at the end of a run, or when somebody is about to look at accumulators. Moments to come stand in two queues of
// timers, one over event time and one over the clock. An entry has at most one valid timer in each, for the earliest thing it waits
// for; when that moves to a later time, as the end of a growing session does with every row, the timer stays where it is, and what
// it finds when it is due is that it has to be set again.
type general struct {
	// What is configured.
	spec   Spec
	rules  rules
	plain  bool // a row of a window that is not over means nothing to the trigger
	assign assigner
	layout *aggregate.Layout

	// What is in a snapshot.
	keys    keyTable
	lists   lists
	entries entries
	heap    aggregate.Heap
	shown   shownResults

	// Times. clock is the last millisecond that is over by the clock, so that both are the last instant of which nothing more comes.
	watermark, clock int64
	events, alarms   timers

	out    *Output
	writer resultWriter

	disk *keyDisk // where keys may lie in the store; else nil

	changes  []uint32 // entries with the flag dirty, and reused memory of such
	removed  removals
	work     []dueEntry
	again    dueHeap
	expired  []timer
	pending  pending
	spans    []Span
	found    [run]uint32 // records of the keys of a run of rows
	gaps     *batch.Column
	snapshot []byte
	warmed   int64
}

// run is how many rows' keys are looked up before the first of them is processed: independent lookups let the processor wait for
// many cache misses at the same time.
const run = 128

// pending is rows whose entries are known and that have not been added to the accumulators.
type pending struct {
	at, rows []uint32
}

// newGeneral is for a Spec without mistakes.
func newGeneral(spec Spec, layout *aggregate.Layout, env Env, out *Output) *general {
	layout = layout.Place(aggregate.Placement{})
	g := &general{
		spec: spec, rules: newRules(&spec), assign: newAssigner(spec), layout: layout,
		watermark: math.MinInt64, clock: math.MinInt64,
		events: newTimers(), alarms: newTimers(),
		out: out, writer: newResultWriter(&spec, layout, env),
	}
	r := &g.rules
	g.plain = r.end == endByRows && r.count == 0 && r.eventEvery == 0 && r.processingEvery == 0
	g.entries.words = layout.Words()
	g.entries.nothing = noExtra()
	g.entries.hasMore = g.usesClock() || g.rules.retract || spec.LateEvery > 0
	g.shown.words = layout.Words()
	return g
}

func (g *general) Live() int { return g.entries.live }

// now is the last instant that is over, in the time that the windows are made of.
func (g *general) now() int64 {
	if g.spec.ProcessingTime {
		return g.clock
	}
	return g.watermark
}

// dropTime is the watermark at which nothing of the window is left (7.8); math.MaxInt64 = it stays.
func (g *general) dropTime(end int64) int64 {
	if g.spec.Type == Global {
		return math.MaxInt64
	}
	return addSaturating(maxTimestamp(end), g.spec.Lateness)
}

// isLate says that a window takes no more rows (7.1).
func (g *general) isLate(end int64) bool {
	return g.spec.Type != Global && !g.spec.ProcessingTime && g.dropTime(end) <= g.watermark
}

func (g *general) Process(rows Rows) {
	if g.disk != nil && g.disk.err != nil {
		return
	}
	g.writer.open(g.out)
	g.layout.Bind(rows.Batch)
	g.gaps = nil
	if g.spec.GapColumn != "" {
		g.gaps = rows.Batch.Column(g.spec.GapColumn)
	}
	for index := rows.Index; len(index) > 0; {
		part := index[:min(run, len(index))]
		index = index[len(part):]
		if len(g.keys.records) > warmAbove {
			g.warm(rows.Keys.Hash, part)
		}
		for i, row := range part {
			g.found[i] = g.keys.find(rows.Keys.Hash[row], rows.Keys.Tag[row], rows.Keys.Bytes(int(row)))
		}
		for i, row := range part {
			key := g.found[i]
			if key == noKey { // new, or added by a row of this run
				key = g.keys.find(rows.Keys.Hash[row], rows.Keys.Tag[row], rows.Keys.Bytes(int(row)))
			}
			if g.disk != nil {
				if key = g.reach(key, rows.Keys, row); g.disk.err != nil {
					g.pending.at, g.pending.rows = g.pending.at[:0], g.pending.rows[:0]
					return
				}
			}
			ts := g.clock
			if g.spec.ProcessingTime {
				ts = addSaturating(g.clock, 1) // the millisecond that is not over yet
			} else if rows.Batch.Times != nil {
				ts = rows.Batch.Times[row]
			}
			switch g.spec.Type {
			case Session:
				g.sessionRow(&rows, row, key, ts)
			case Tumbling:
				g.singleRow(&rows, row, key, ts, g.assign.tumbling(ts))
			case Global:
				g.singleRow(&rows, row, key, ts, globalSpan)
			default:
				g.multiRow(&rows, row, key, ts)
			}
		}
		g.flush()
	}
}

// warmAbove is the number of keys from which on warming pays: below, the state is in the processor's second cache anyway.
const warmAbove = 16 << 10

// warm reads what the rows of a run are going to need: first all slots of the hash table, then all keys' records, then their newest
// windows. Each loop's reads do not depend on each other, so the processor waits for many of them at once, where row after row would
// wait for one after the other.
func (g *general) warm(hashes []uint64, part []uint32) {
	t := &g.keys
	mask := uint64(len(t.slots) - 1)
	var records [run]uint32
	n := 0
	for _, row := range part {
		if s := t.slots[hashes[row]&mask]; s != 0 {
			records[n] = uint32(s) - 1
			n++
		}
	}
	m := 0
	for _, k := range records[:n] {
		if l := &t.records[k].windows; l.n == 1 {
			records[m] = l.ref[0]
			m++
		}
	}
	sum := int64(0)
	for _, e := range records[:m] {
		sum += g.entries.all[e].span.End
	}
	g.warmed = sum // or the compiler would leave the reads out
}

// keyOf is the record for a row's key, made when it is not there yet.
func (g *general) keyOf(rows *Rows, row, key uint32) uint32 {
	if key != noKey {
		return key
	}
	return g.addKey(rows.Keys.Hash[row], rows.Keys.Tag[row], rows.Keys.Bytes(int(row)))
}

func (g *general) addKey(hash uint64, tag uint8, key []byte) uint32 {
	k := g.keys.add(hash, tag, key)
	if g.disk != nil {
		g.disk.born(&g.keys, k)
	}
	return k
}

// singleRow is a row with exactly one window.
func (g *general) singleRow(rows *Rows, row, key uint32, ts int64, span Span) {
	if g.isLate(span.End) {
		g.rejected(row, ts)
		return
	}
	key = g.keyOf(rows, row, key)
	e := g.entryOf(key, span)
	g.take(e, row, ts)
}

// multiRow is a row with any number of windows.
func (g *general) multiRow(rows *Rows, row, key uint32, ts int64) {
	g.spans = g.assign.assign(ts, g.spans[:0])
	place := -1
	for _, span := range g.spans {
		if g.isLate(span.End) {
			continue
		}
		if place < 0 {
			key = g.keyOf(rows, row, key)
			place = g.placeOf(key, span)
		}
		// The windows of a row ascend, and so does the key's list.
		l := &g.keys.records[key].windows
		list := g.lists.all(l)
		for place < len(list) && before(g.entries.all[list[place]].span, span) {
			place++
		}
		var e uint32
		if place < len(list) && g.entries.all[list[place]].span == span {
			e = list[place]
		} else {
			e = g.entries.add(span, key)
			g.lists.insert(l, place, e)
		}
		place++
		g.take(e, row, ts)
	}
	if place < 0 {
		g.rejected(row, ts)
	}
}

// rejected accounts for a row that no window took (7.3).
func (g *general) rejected(row uint32, ts int64) {
	if addSaturating(ts, g.spec.Lateness) <= g.watermark && !g.spec.ProcessingTime {
		g.out.Late = append(g.out.Late, row)
		return
	}
	g.out.Silent++
}

// entryOf finds the entry of a window of a key, or makes it.
func (g *general) entryOf(key uint32, span Span) uint32 {
	l := &g.keys.records[key].windows
	if l.n == 1 && g.entries.all[l.ref[0]].span == span {
		return l.ref[0]
	}
	place := g.placeOf(key, span)
	if list := g.lists.all(l); place < len(list) && g.entries.all[list[place]].span == span {
		return list[place]
	}
	e := g.entries.add(span, key)
	g.lists.insert(l, place, e)
	return e
}

// placeOf is where a window stands in the key's list, or belongs.
func (g *general) placeOf(key uint32, span Span) int {
	list := g.lists.all(&g.keys.records[key].windows)
	// Rows mostly belong to the newest windows, at the back.
	i := len(list)
	for tries := 0; i > 0 && !before(g.entries.all[list[i-1]].span, span); tries++ {
		if i--; tries == 3 {
			return sort.Search(i, func(k int) bool { return !before(g.entries.all[list[k]].span, span) })
		}
	}
	return i
}

// before orders the windows of a key.
func before(a, b Span) bool {
	if a.Start != b.Start {
		return a.Start < b.Start
	}
	return a.End < b.End
}
