package window

import (
	"math"
	"sort"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
)

// panes is the engine for windows that all keys share and that fire when they end: tumbling, calendar, sliding and cumulative windows
// over event time, with the default trigger.
//
// Time is cut into panes, so that each row is added to exactly one accumulator: a tumbling window is a pane, a sliding one is some
// panes, and firing merges them (see slider). A pane is a table of keys. Panes stand in order of time, and what happens at a watermark
// follows from their order: there are no timers, and stretches of time without rows cost nothing.
//
// Nothing about a window is kept but its rows. That it has fired follows from the watermark.
type panes struct {
	// What is configured.
	spec   Spec
	cut    cutter
	layout *aggregate.Layout
	stride int
	counts bool // entries count their late results, for _firing

	// What is in a snapshot.
	list      []*pane // ascending
	watermark int64

	// What is not.
	dropped []int64 // times of panes in the store that have gone since the last snapshot
	out     *Output
	writer  resultWriter
	lateDue int64   // when collected late rows fire, notDue = there are none
	last    *pane   // the pane of the last row
	touched []*pane // panes with rows waiting
	sorter  paneSorter
	found   lookups
	fired   firing
	encoded []byte
	slide   slider
	disk    disk // what is in the store only

	spare  []*pane // to be used again
	keys   int     // keys that a pane is expected to get
	ranges ranges
}

// pane is a slice of time with rows.
type pane struct {
	slice
	table  table
	rows   []uint32 // of the current batch, waiting to be added
	stored bool     // the last snapshot has some of it
	onDisk          // what the store has and the table has not
}

// panesCanDo says whether the engine of panes runs the Spec, which must be without mistakes.
//
// The general engine has the rest: what fires otherwise than at the end, and, for windows that share panes, what has to be known of each
// window and key: how often it has fired (_firing, where late rows can fire it again) and what it collects.
func panesCanDo(s Spec, env Env) bool {
	if s.byCalendar() {
		return false // panes would be as uneven as the calendar, and windows could end together
	}
	switch s.Type {
	case Tumbling:
	case Sliding, Cumulative:
		if s.Lateness > 0 && (env.Meta || s.LateEvery > 0) {
			return false
		}
	default:
		return false
	}
	r := newRules(&s)
	return !s.ProcessingTime && r.end == endByRows && r.fireLate && r.count == 0 && r.eventEvery == 0 && r.processingEvery == 0 && !r.purge && !r.retract
}

// newPanes is for a Spec that panesCanDo.
func newPanes(spec Spec, layout *aggregate.Layout, env Env, out *Output) *panes {
	p := &panes{
		spec: spec, cut: newCutter(spec), watermark: math.MinInt64, lateDue: notDue, out: out,
		counts: env.Meta && spec.Lateness > 0,
	}
	first := keyWord + 2
	if p.counts {
		first++
	}
	p.layout = layout.Place(aggregate.Placement{First: first, FlagWord: 0, FlagShift: 32, FlagBits: 32})
	p.stride = first + p.layout.Words()
	p.writer = newResultWriter(&spec, p.layout, env)
	p.sorter = newPaneSorter(&p.cut)
	p.slide.init(p)
	return p
}

// countWord is where an entry counts its late results.
const countWord = keyWord + 2

func (p *panes) Process(rows Rows) {
	p.writer.open(p.out)
	if p.disk.err != nil {
		return
	}
	p.layout.Bind(rows.Batch)
	if len(rows.Index) > 0 && !p.sorted(&rows) {
		p.oneByOne(&rows)
	}
}

// paneOf finds the pane of a time, or makes it. It is nil when no window takes the row.
func (p *panes) paneOf(ts int64) *pane {
	if p.watermark == math.MaxInt64 {
		return nil // some panes may be left, see dropTime, but everything is late now
	}
	// Time goes on, so most rows belong to the newest panes.
	i := len(p.list)
	for tries := 0; i > 0; tries++ {
		s := p.list[i-1].span
		if s.Start <= ts {
			if ts < s.End {
				return p.list[i-1]
			}
			break
		}
		i--
		if tries == 4 {
			i = sort.Search(i, func(k int) bool { return p.list[k].span.Start > ts })
		}
	}
	s, ok := p.cut.slice(ts)
	if !ok || p.isLate(s.lastEnd) {
		return nil
	}
	if i > 0 && p.list[i-1].span.Start == s.span.Start {
		return p.list[i-1] // the end of time is in a pane, though it is not before the end of any
	}
	return p.insert(i, s)
}

// insert adds an empty pane at place i of the list.
func (p *panes) insert(i int, s slice) *pane {
	var n *pane
	if k := len(p.spare); k > 0 {
		n, p.spare = p.spare[k-1], p.spare[:k-1]
	} else {
		n = &pane{}
	}
	n.slice, n.stored, n.onDisk = s, false, onDisk{}
	r := p.ranges
	if !r.any && len(p.list) > 0 {
		r = p.list[max(i-1, 0)].table.ranges
	}
	n.table.open(p.stride, p.expect(i, &s), r)
	p.list = append(p.list, nil)
	copy(p.list[i+1:], p.list[i:])
	p.list[i] = n
	p.weigh(n)
	return n
}

// expect is how many keys a pane that becomes the i-th may get: as many as the last ones had, and, as long as none has gone yet, those of the pane right
// before it, which has had most of its rows. A table that grows there instead hashes and copies all its keys at each doubling.
func (p *panes) expect(i int, s *slice) int {
	if p.keys > 0 || i == 0 || p.list[i-1].span.End != s.span.Start {
		return p.keys
	}
	n := p.list[i-1].table.n
	return n + n/8
}

// release keeps the memory of a pane that is not in the list any more for another.
func (p *panes) release(n *pane) {
	if n.stored {
		p.dropped = append(p.dropped, n.span.Start)
	}
	p.disk.held -= n.size
	// A pane that is to come begins with room for what the last ones needed and a little more; that shrinks slowly.
	p.keys = max(n.table.n+n.table.n/8+paneRun, p.keys-p.keys/8)
	p.ranges.join(n.table.groups())
	if len(p.spare) == maxSpare {
		return
	}
	if cap(n.table.mem) > reusable((p.keys*7/4+1)*p.stride) {
		n.table.mem = nil // nobody would use it
	}
	p.spare = append(p.spare, n)
}

// maxSpare is how many panes are kept to be used again. More than a few are free only after a jump of the watermark.
const maxSpare = 4

// dropTime is the watermark at which nothing of a window is left (7.8).
func (p *panes) dropTime(end int64) int64 { return addSaturating(maxTimestamp(end), p.spec.Lateness) }

// isLate says that a window takes no more rows (7.1).
func (p *panes) isLate(end int64) bool { return p.dropTime(end) <= p.watermark }

// rejected accounts for a row that no window took (7.3).
func (p *panes) rejected(row uint32, ts int64) {
	if addSaturating(ts, p.spec.Lateness) <= p.watermark {
		p.out.Late = append(p.out.Late, row)
		return
	}
	p.out.Silent++
}

func (p *panes) AdvanceProcessingTime(int64) {}
func (p *panes) NextProcessingTime() int64   { return math.MaxInt64 }
