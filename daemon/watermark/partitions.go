package watermark

import (
	"math"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// OnAllIdle says what happens to the watermark when the last active partition goes idle.
type OnAllIdle uint8

const (
	Advance OnAllIdle = iota // it rises to the highest watermark of all partitions that have not ended (current Flink)
	Hold                     // it stays where it is (Flink before FLINK-38454)
)

// IdleRule says how idleness is noticed.
type IdleRule uint8

const (
	SinceActivity IdleRule = iota // IdleAfter has passed since the last row or watermark: idle at exactly IdleAfter
	QuietTicks                    // Flink's: a first quiet check starts the timer, a later one strictly above IdleAfter says idle
)

// State is what a partition is doing.
type State uint8

const (
	NeverSeen   State = iota // it has begun and delivered nothing; it holds the watermark
	StateActive              // it counts
	StateIdle                // it is left out until it delivers something
	StateHeld                // we keep it from delivering; it counts, and cannot become idle by it
	StateEnded               // it is left out for good
)

func (s State) String() string {
	return [...]string{"never_seen", "active", "idle", "held", "ended"}[s]
}

// PartitionsSettings configures a Partitions. The zero value is a source without idleness detection whose marks are all kept.
type PartitionsSettings struct {
	IdleAfter int64     // ms of processing time; 0: partitions become idle only by MarkIdle
	IdleRule  IdleRule  // how IdleAfter is measured
	OnAllIdle OnAllIdle // what the last partition's idleness does

	// AnnounceOnRow makes an idle output active with the first row of any partition. Without it the output becomes active only
	// with the next watermark that rises (Flink; semantics 5.11), and rows that do not raise it may be late at a valve whose other
	// inputs went on. Inside the source an idle partition counts again from its first row on in both cases.
	AnnounceOnRow bool

	Granularity int64 // see NewCoalescer; applied to the marks of Apply
	Offset      int64

	// Began is the processing time at which the source began. A source that has no partition for IdleAfter since then is idle, too;
	// with 0, only one that has had partitions and lost them all is.
	Began int64
}

// Partitions combines the partitions of one source (semantics 5.1 to 5.8).
//
// The combined watermark is the minimum over the partitions that are neither idle nor ended, and is announced when it rises. A
// partition that has said nothing counts as batch.NoWatermark and so holds everything; so does one that returns from idleness
// behind the others, until it has caught up. Adding a partition never takes the watermark back. Taking one out (Remove, End) shows
// at the next recombination: call Combine after it where that should be now.
//
// A partition whose watermark is batch.EndOfInput is treated like an ended one, unless all of them have it: then the combined
// watermark is the end of input.
type Partitions struct {
	settings PartitionsSettings
	coalesce Coalescer

	// In the checkpoint.
	output Emitter
	parts  []partition

	// Derived.
	empty    int64 // processing time since which there is no partition that has not ended; Never: there is one, or it is not known
	now      int64 // the latest processing time heard of
	ignored  uint64
	slots    map[uint32]int32
	lastID   uint32 // a batch mostly comes from the partition of the one before
	lastSlot int32
	holder   int32 // a partition that has the lowest watermark of those that count; -1: unknown
}

type partition struct {
	id        uint32
	seen      bool // something was delivered
	idle      bool
	held      bool
	ended     bool
	ticked    bool // QuietTicks: nothing came since the last check; quietFrom is set
	active    bool // QuietTicks: something came since the last check
	watermark int64

	// Processing time, ms.
	activeAt  int64 // last row or watermark, or the beginning, moved on by held time
	quietFrom int64
	heldFrom  int64
	since     int64 // when the state last changed
	roseAt    int64 // when the watermark last rose, or the beginning
}

// NewPartitions returns a source without partitions.
func NewPartitions(s PartitionsSettings) *Partitions {
	p := &Partitions{
		settings: s, coalesce: NewCoalescer(s.Granularity, s.Offset), output: NewEmitter(),
		slots: map[uint32]int32{}, lastSlot: -1, holder: -1, empty: Never, now: s.Began,
	}
	if s.Began != 0 {
		p.empty = s.Began
	}
	return p
}

// Add begins partition id, never seen and at batch.NoWatermark. One that is known and has not ended is left as it is.
func (p *Partitions) Add(id uint32, now int64) {
	fresh := partition{id: id, watermark: batch.NoWatermark, activeAt: now, since: now, roseAt: now}
	p.holder, p.empty, p.now = -1, Never, max(p.now, now)
	if i := p.slot(id); i >= 0 {
		if p.parts[i].ended {
			p.parts[i] = fresh
		}
		return
	}
	p.slots[id] = int32(len(p.parts))
	p.parts = append(p.parts, fresh)
}

// Remove forgets partition id. The combined watermark changes at the next recombination only.
func (p *Partitions) Remove(id uint32) {
	i := p.slot(id)
	if i < 0 {
		return
	}
	last := len(p.parts) - 1
	if int(i) != last {
		p.parts[i] = p.parts[last]
		p.slots[p.parts[i].id] = i
	}
	p.parts = p.parts[:last]
	delete(p.slots, id)
	p.lastSlot, p.holder = -1, -1
	p.left()
}

// End says that nothing will come from partition id any more. It leaves the combination like Remove, and stays in Status until
// it is removed.
func (p *Partitions) End(id uint32, now int64) {
	if i := p.slot(id); i >= 0 && !p.parts[i].ended {
		p.parts[i].ended, p.parts[i].since = true, now
		p.holder, p.now = -1, max(p.now, now)
		p.left()
	}
}

// left notes when the last partition has gone.
func (p *Partitions) left() {
	for i := range p.parts {
		if !p.parts[i].ended {
			return
		}
	}
	if p.empty == Never {
		p.empty = p.now
	}
}

// Row notes that partition id delivered a row that brought no watermark (or will bring it later). An idle partition counts again.
func (p *Partitions) Row(id uint32, now int64, out []Event) []Event {
	if i := p.slot(id); i >= 0 {
		p.touch(&p.parts[i], now)
		if p.settings.AnnounceOnRow {
			out = p.output.Activate(out)
		}
	}
	return out
}

// Update is a watermark of partition id that counts at once (5.3): one that rises above the combined watermark recombines.
func (p *Partitions) Update(id uint32, watermark, now int64, out []Event) []Event {
	if p.propose(id, watermark, now) && watermark > p.output.last {
		out = p.Combine(out)
	}
	return out
}

// Defer is the answer of partition id's generator to a periodic call; it counts at the next recombination. Unlike Update it is no
// activity: a generator that repeats itself does not keep a silent partition from becoming idle.
func (p *Partitions) Defer(id uint32, watermark, now int64) {
	if i := p.slot(id); i >= 0 && !p.parts[i].ended {
		p.wake(&p.parts[i], now)
		p.raise(i, watermark, now)
	}
}

// MarkIdle makes partition id idle and recombines.
func (p *Partitions) MarkIdle(id uint32, now int64, out []Event) []Event {
	p.DeferIdle(id, now)
	return p.Combine(out)
}

// DeferIdle makes partition id idle from the next recombination on.
func (p *Partitions) DeferIdle(id uint32, now int64) {
	if i := p.slot(id); i >= 0 && !p.parts[i].idle && !p.parts[i].ended {
		p.parts[i].idle, p.parts[i].since = true, now
		p.holder = -1
	}
}

// Tick looks for partitions that have become idle and recombines once. Call it at NextTick, and regularly with QuietTicks.
func (p *Partitions) Tick(now int64, out []Event) []Event {
	p.now = max(p.now, now)
	for i := range p.parts {
		p.check(&p.parts[i], now)
	}
	out = p.Combine(out)
	if now >= p.emptyUntil() {
		out = p.output.Idle(out)
	}
	return out
}

// Finish says that the whole source has ended: active, if it was idle, then the end of input (11.1, 11.3). Nothing is announced
// after it.
func (p *Partitions) Finish(out []Event) []Event { return p.output.End(out) }

// Watermark is the combined watermark, batch.NoWatermark before the first.
func (p *Partitions) Watermark() int64 { return p.output.last }

// IsIdle reports whether the output as a whole was last said to be idle.
func (p *Partitions) IsIdle() bool { return p.output.idle }

// Ignored is the number of watermarks that were lower than what their partition had said before.
func (p *Partitions) Ignored() uint64 { return p.ignored }

// Len is the number of partitions, ended ones included.
func (p *Partitions) Len() int { return len(p.parts) }

// Combine recombines all partitions, deferred changes included.
func (p *Partitions) Combine(out []Event) []Event {
	if p.output.last == batch.EndOfInput {
		return out
	}
	counted, active, finished := 0, 0, 0
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	p.holder = -1
	for i := range p.parts {
		q := &p.parts[i]
		switch {
		case q.ended:
			continue
		case q.watermark == batch.EndOfInput:
			finished++
			continue
		}
		counted++
		high = max(high, q.watermark)
		if q.idle {
			continue
		}
		active++
		if q.watermark < low {
			low, p.holder = q.watermark, int32(i)
		}
	}
	switch {
	case counted == 0 && finished > 0:
		return p.rise(batch.EndOfInput, out)
	case counted == 0:
		return out
	case active > 0:
		return p.rise(low, out)
	}
	if p.settings.OnAllIdle == Advance {
		out = p.rise(high, out)
	}
	return p.output.Idle(out)
}

func (p *Partitions) rise(watermark int64, out []Event) []Event {
	if watermark > p.output.last {
		p.coalesce.matters(watermark) // the event passes in any case; later marks of its bucket need not
	}
	return p.output.Emit(watermark, out)
}

// propose stores a watermark that came with data and reports whether it raised its partition.
func (p *Partitions) propose(id uint32, watermark, now int64) bool {
	i := p.slot(id)
	if i < 0 || p.parts[i].ended {
		return false
	}
	p.touch(&p.parts[i], now)
	return p.raise(i, watermark, now)
}

func (p *Partitions) raise(i int32, watermark, now int64) bool {
	q := &p.parts[i]
	if watermark <= q.watermark {
		if watermark < q.watermark {
			p.ignored++
		}
		return false
	}
	q.watermark, q.roseAt = watermark, now
	if p.holder == i {
		p.holder = -1
	}
	return true
}

// touch notes that a partition delivered something.
func (p *Partitions) touch(q *partition, now int64) {
	q.active, q.activeAt, p.now = true, now, max(p.now, now)
	if q.held {
		q.heldFrom = now
	}
	if !q.seen {
		q.seen, q.since = true, now
	}
	p.wake(q, now)
}

// wake clears the idle mark. Any watermark does that, also one that does not rise (5.4).
func (p *Partitions) wake(q *partition, now int64) {
	if q.idle {
		q.idle, q.since = false, now
		p.holder = -1
	}
}

func (p *Partitions) slot(id uint32) int32 {
	if p.lastSlot >= 0 && p.lastID == id {
		return p.lastSlot
	}
	i, ok := p.slots[id]
	if !ok {
		return -1
	}
	p.lastID, p.lastSlot = id, i
	return i
}
