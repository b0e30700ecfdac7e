package checkpoint

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// Contributor adds changes of its own to a commit, beside windows. Outboxes do.
type Contributor interface {
	// Contribute writes into d what belongs to the cut. It is called once for each cut, by the goroutine that commits.
	Contribute(d *state.Delta)
}

// Cut is a checkpoint in the making: everything that belongs to one place of all streams.
type Cut struct {
	Snapshot Snapshot
	Deltas   []*state.Delta // of the shards, behind those of Apply; only read
	Parts    []Contributor
}

// Stats describe a commit.
type Stats struct {
	state.Stats
	Number   uint64
	Took     time.Duration // building and syncing, waiting for room on the disk left out
	Waited   time.Duration // for room on the disk
	Pressure state.Pressure
}

// Settings is what a Log is given.
type Settings struct {
	Store *state.Store
	Clock clock.Clock
	// Full is told when the disk is full (once, with the error) and when it is not any more (nil). It may be nil.
	Full func(error)
	// Retry is the pause between two looks at a full disk; default 1 s.
	Retry time.Duration
}

// Log is where commits go. Create it with Open.
type Log struct {
	set Settings

	// in the store, as of the last commit
	number  uint64
	id      string
	keyID   string            // for sinks that keep no books
	written map[string][]byte // records by name, as they stand there
	begun   bool              // a commit of this Log stands there; before that, Apply may have removed records

	delta state.Delta

	mu   sync.Mutex
	full chan struct{} // nil, or closed when the disk has room again
	busy atomic.Bool   // the database is far behind with its own work
}

// Open reads what the last commit says and gets ready for the next.
func Open(set Settings) (*Log, *State, error) {
	if set.Retry == 0 {
		set.Retry = time.Second
	}
	s, err := Read(set.Store)
	if err != nil {
		return nil, nil, err
	}
	l := &Log{set: set, number: s.Number, id: s.StoreID, keyID: s.KeyID, written: map[string][]byte{}}
	if l.id == "" {
		l.id = rand.Text()
		s.StoreID = l.id
	}
	if l.keyID == "" {
		l.keyID = l.id
		s.KeyID = l.id
	}
	for n, v := range records(s.Snapshot) {
		l.written[n] = v
	}
	l.look()
	set.Store.OnStarving(func(err error) {
		if err != nil {
			l.filled(err)
		} else {
			l.freed()
		}
	})
	return l, s, nil
}

// records is a snapshot as the store holds it.
func records(s Snapshot) map[string][]byte {
	out := map[string][]byte{}
	for source, v := range s.Sources {
		out[string(name(kindSource, source))] = v.encode()
		for partition, p := range v.Partitions {
			out[string(name(kindPartition, source, partition))] = p.encode()
		}
	}
	for stage, v := range s.Stages {
		out[string(name(kindStage, stage))] = v.encode()
	}
	return out
}

// Commit makes a cut true. It returns when the cut is on the disk, and waits for room while the disk is full. After an error nobody knows
// whether the cut was committed: the store must be opened again (see state.Store.Commit). When ctx ends while it waits for room,
// nothing was committed and the store is as good as before.
func (l *Log) Commit(ctx context.Context, cut *Cut) (Stats, error) {
	begun := l.set.Clock.Now()
	d := &l.delta
	d.Reset()
	now := records(cut.Snapshot)
	for n := range l.written {
		if _, still := now[n]; !still {
			d.Remove(keys.Name(n))
		}
	}
	for n, v := range now {
		if old, there := l.written[n]; !l.begun || !there || !bytes.Equal(old, v) {
			d.Put(keys.Name(n), v)
		}
	}
	d.Put(name(kindCheckpoint), head{l.number + 1, begun.UnixMilli(), l.id}.encode())
	for _, p := range cut.Parts {
		p.Contribute(d)
	}
	// Ours comes last, because a delta of Apply may remove what this cut writes anew.
	deltas := append(append(make([]*state.Delta, 0, len(cut.Deltas)+1), cut.Deltas...), d)

	var waited time.Duration
	for {
		stats, err := l.set.Store.Commit(ctx, deltas...)
		if err == nil {
			l.freed()
			l.number, l.written, l.begun = l.number+1, now, true
			p := l.look()
			return Stats{Stats: stats, Number: l.number, Took: l.set.Clock.Since(begun) - waited, Waited: waited, Pressure: p}, nil
		}
		if !errors.Is(err, state.NoSpace) || l.set.Store.Err() != nil {
			return Stats{}, err
		}
		l.filled(err)
		from := l.set.Clock.Now()
		if err := l.pause(ctx); err != nil {
			return Stats{}, err
		}
		waited += l.set.Clock.Since(from)
	}
}

func (l *Log) pause(ctx context.Context) error {
	t := l.set.Clock.NewTimer(l.set.Retry)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Full is told by others who write to the store: with an error that the disk is full, with nil that it is not any more.
func (l *Log) Full(err error) {
	if err != nil {
		l.filled(err)
	} else {
		l.freed()
	}
}

// filled closes the gate.
func (l *Log) filled(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full == nil {
		l.full = make(chan struct{})
		if l.set.Full != nil {
			l.set.Full(err)
		}
	}
}

// freed opens it again.
func (l *Log) freed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full != nil {
		close(l.full)
		l.full = nil
		if l.set.Full != nil {
			l.set.Full(nil)
		}
	}
}

// look asks the database how far it is behind.
func (l *Log) look() state.Pressure {
	p := l.set.Store.Pressure()
	l.busy.Store(p.Full)
	return p
}

// Open is true when Gate would return at once.
func (l *Log) Open() bool {
	l.mu.Lock()
	full := l.full
	l.mu.Unlock()
	return full == nil && !l.busy.Load()
}

// Gate returns at once when more input may be taken, and otherwise waits: while the disk is full, and while the database is far behind.
// It returns early with the error of the store or of ctx. It is cheap when it is open: ask before each batch.
func (l *Log) Gate(ctx context.Context) error {
	for {
		l.mu.Lock()
		full := l.full
		l.mu.Unlock()
		if full == nil {
			break
		}
		select {
		case <-full:
		case <-l.set.Store.Broken():
			return l.set.Store.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if !l.busy.Load() {
		return nil
	}
	if err := l.set.Store.WaitForRoom(ctx); err != nil {
		return err
	}
	l.busy.Store(false)
	return nil
}

// Pace is how long to wait from the end of a commit to the next request: interval, stretched so that commits take no more than about a
// quarter of the time, and further while the database is falling behind; at most longest.
func Pace(interval, longest time.Duration, last Stats, limits int) time.Duration {
	pause := max(interval, 3*last.Took)
	if limits > 0 && last.Pressure.Sublevels > limits/2 {
		pause = max(pause, 2*interval)
	}
	return min(pause, max(longest, interval))
}
