package deliver

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state"
)

// Settings is what an outbox is given.
type Settings struct {
	Name        string      // of the sink's component: what its records are kept under
	Sink        wire.Sink   // called by Open, and by Run; Close is the caller's
	More        []wire.Sink // further connections to it, for deliveries at the same time: only for sinks that keep no books. Close is the caller's
	ExactlyOnce bool        // deliver only what is committed; the sink is transactional or idempotent
	Store       *state.Store
	Clock       clock.Clock
	Log         *slog.Logger
	Budget      *Budget // shared by the sinks of a pipeline

	// Refused takes rows that the sink will never take. They are counted among the selected rows of b: the i-th has the number
	// first+i. It returns when they are safe.
	Refused func(ctx context.Context, b *batch.Batch, first uint64, rows []batch.BadRow) error
	// Full is told when the disk is full, with the error, and when it is not any more, with nil. May be nil.
	Full func(error)
	// Wanted is told when rows wait for a commit. It must not block. May be nil.
	Wanted func()

	BatchRows  int           // most rows of a delivery; default 1,000
	BatchBytes int64         // bytes of a delivery, about; default 1 MiB
	Linger     time.Duration // how long a delivery that is not full waits for more rows, where rows are delivered at once; default 0
	Retry      Retry
	Memory     int64 // bytes of rows that are kept in memory, about; others lie in the store only. Default 16 MiB

	Jitter func() float64 // in [0, 1); default math/rand

	// Hook is called at named places, for tests that end the process there: "deliver.begin" (before a try), "deliver.end" (the sink has
	// answered, nobody has noted it) and "deliver.ahead" (rows were written before their checkpoint). May be nil.
	Hook func(place string)

	// Skip leaves out the rows that the sink holds and the state does not know of, see skip.go.
	Skip bool

	rejoin bool // a sink that is ahead of the state is followed, not refused
}

func (s Settings) withDefaults() Settings {
	if s.BatchRows <= 0 {
		s.BatchRows = 1000
	}
	if s.BatchBytes <= 0 {
		s.BatchBytes = 1 << 20
	}
	if s.Memory <= 0 {
		s.Memory = 16 << 20
	}
	if s.Jitter == nil {
		s.Jitter = rand.Float64
	}
	if s.Hook == nil {
		s.Hook = func(string) {}
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Wanted == nil {
		s.Wanted = func() {}
	}
	if s.Budget == nil {
		s.Budget = NewBudget(1 << 62)
	}
	s.Retry = s.Retry.withDefaults()
	return s
}

// chunk is a run of rows with neighbouring numbers.
type chunk struct {
	first  uint64
	rows   int
	bytes  int64        // of memory, about
	batch  *batch.Batch // nil while the rows lie in the store only
	born   time.Time    // when its first row came
	put    bool         // it was written into a delta: a commit may bring it into the store
	coming bool         // that commit has not been made yet
	stored bool         // the store has them, or will never need them
	closed bool         // nothing is appended any more
}

func (c *chunk) end() uint64 { return c.first + uint64(c.rows) } // the number behind its last row

// Outbox stands between the pipeline and one sink.
type Outbox struct {
	set Settings
	ctx context.Context

	mu          sync.Mutex
	chunks      []*chunk          // with rows that the sink has not taken, oldest first
	next        uint64            // number of the next row
	deliverable uint64            // rows below may be delivered
	acked       uint64            // the sink has taken all rows up to this number; beyond next-1 while rows are left out
	skipTo      uint64            // rows up to this number are left out; 0: none
	sent        uint64            // rows up to this number are with it, or on their way
	early       map[uint64]uint64 // taken before those in front of them: number of the first row to how many
	given       uint64            // the store has given up all chunks that begin up to this number
	garbage     bool              // the store has chunks that the sink has taken
	sweeps      int               // commits to come that remove notes of refused rows
	recorded    uint64            // what the last commit says of acked
	memory      int64             // bytes of batches held
	unstored    int64             // bytes of chunks that the store does not have
	changed     chan struct{}     // closed, and replaced, when there is more to deliver or more was taken
	health      health

	turn sync.Mutex // held by the connection that fetches its next rows

	writing bool          // under mu: Run writes rows ahead
	wanted  chan struct{} // it is asked to
	ahead   sync.Mutex    // held while rows are written ahead, and while a checkpoint takes its part: both choose from what is not stored
}

// Append takes over one share of b: text rows (Data, Offsets) for a text sink, else columns; all its rows count. They get the next
// numbers. When one checkpoint holds more than memory should, it blocks until rows have been written ahead to the store.
func (o *Outbox) Append(b *batch.Batch) error {
	if b.N == 0 {
		b.Release()
		return nil
	}
	o.mu.Lock()
	if o.next+uint64(b.N)-1 <= o.acked { // only while rows are left out
		o.next += uint64(b.N)
		o.mu.Unlock()
		b.Release()
		return nil
	}
	size := footprint(b)
	if last := o.last(); last != nil && !last.closed && last.batch != nil && last.rows+b.N <= o.set.BatchRows &&
		last.bytes+size <= o.set.BatchBytes && joins(last.batch, b) {
		appendRows(last.batch, b)
		last.rows += b.N
		last.bytes += size
	} else {
		c := &chunk{first: o.next, rows: b.N, bytes: size, born: o.set.Clock.Now()}
		if 2*b.N <= o.set.BatchRows && 2*size <= o.set.BatchBytes {
			c.batch = batch.Get() // of our own, so that the next rows may join
			appendRows(c.batch, b)
		} else {
			b.Retain(1)
			c.batch, c.closed = b, true
		}
		o.chunks = append(o.chunks, c)
	}
	o.next += uint64(b.N)
	b.Release()
	o.memory += size
	o.unstored += size
	much := o.unstored > o.set.Memory/2
	if !o.set.ExactlyOnce {
		o.deliverable = o.next
		o.signal()
	}
	o.mu.Unlock()
	o.set.Budget.add(size)
	if o.set.ExactlyOnce {
		o.set.Wanted()
	}
	if much {
		return o.relieve()
	}
	return nil
}

func (o *Outbox) last() *chunk {
	if n := len(o.chunks); n > 0 {
		return o.chunks[n-1]
	}
	return nil
}

// signal wakes those who wait for a change. o.mu is held.
func (o *Outbox) signal() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// stored notes what the store has, and lets go of rows that need not be in memory: those that are delivered last.
func (o *Outbox) stored(chunks []*chunk) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range chunks {
		c.coming = false
		if !c.stored { // else the sink has taken it meanwhile
			c.stored = true
			o.unstored -= c.bytes
		}
	}
	for i := len(o.chunks) - 1; i > 0 && o.memory > o.set.Memory; i-- {
		if c := o.chunks[i]; c.stored && c.batch != nil {
			c.batch.Release()
			c.batch = nil
			o.memory -= c.bytes
		}
	}
	o.signal() // to Append, which may wait for it
}

// brought notes that the sink has taken n rows, or that they are safe elsewhere. Only when it has all before them, too, they count.
func (o *Outbox) brought(first, n uint64) {
	o.mu.Lock()
	if first != o.acked+1 {
		if o.early == nil {
			o.early = map[uint64]uint64{}
		}
		o.early[first] = n
		o.mu.Unlock()
		return
	}
	number := o.acked + n
	for n, ok := o.early[number+1]; ok; n, ok = o.early[number+1] {
		delete(o.early, number+1)
		number += n
	}
	freed := o.advance(number)
	o.mu.Unlock()
	o.set.Budget.add(-freed)
}

// taken notes that the sink has all rows up to a number.
func (o *Outbox) taken(number uint64) {
	o.mu.Lock()
	freed := o.advance(number)
	o.mu.Unlock()
	o.set.Budget.add(-freed)
}

// advance lets go of all rows up to a number, and returns their bytes. o.mu is held.
func (o *Outbox) advance(number uint64) (freed int64) {
	o.acked = number
	for len(o.chunks) > 0 && o.chunks[0].end() <= number+1 {
		c := o.chunks[0]
		if c.batch != nil {
			c.batch.Release()
			c.batch = nil
			o.memory -= c.bytes
		}
		if !c.stored {
			c.stored = true // it never needs to be
			o.unstored -= c.bytes
		}
		o.garbage = o.garbage || c.put
		freed += c.bytes
		o.chunks[0] = nil
		o.chunks = o.chunks[1:]
	}
	o.signal()
	return freed
}

// Drain returns when the sink has taken everything that may be delivered: after the last commit, all rows. It returns early with the
// error of ctx.
func (o *Outbox) Drain(ctx context.Context) error {
	_, err := o.Settle(ctx, nil)
	return err
}

// Settle is Drain for a stop that is in a hurry once that channel is closed: then it does not wait for a sink that fails. It returns how many
// rows the sink has not taken; they are in the store, and go out in the next run.
func (o *Outbox) Settle(ctx context.Context, hurry <-chan struct{}) (left uint64, err error) {
	hurried := false
	for {
		o.mu.Lock()
		left, changed := o.deliverable-1-min(o.acked, o.deliverable-1), o.changed
		failing := o.health.failures > 0
		o.mu.Unlock()
		if left == 0 || failing && hurried {
			return left, nil
		}
		select {
		case <-changed:
		case <-hurry:
			hurry, hurried = nil, true
		case <-ctx.Done():
			return left, context.Cause(ctx)
		}
	}
}

// Unrecorded reports whether the sink has taken rows of which the last commit does not say so: the next run would bring them again, if
// the sink keeps no books. After a Settle that has waited for everything another commit mends that.
func (o *Outbox) Unrecorded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.acked > o.recorded
}

func pause(ctx context.Context, c clock.Clock, d time.Duration) error {
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
