package deliver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/deadletter"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// Letters brings dead letters to their store exactly once: letters of a checkpoint that never was are not written, those of one that was
// are, and none comes twice.
//
// Letters of rows that a sink refuses belong to no checkpoint: the sink may never be asked about those rows again. [Letters.Refuse]
// makes them safe at once, and they join the others with the next commit. A note of the row stays until a commit says that the sink
// is past it, so that the same row, refused again after a crash, makes no second letter.
type Letters struct {
	*Outbox
	store *state.Store

	mu    sync.Mutex  // serialises Append of letters, which come from many places
	moved []keys.Name // refused letters that the part in the making holds
}

// LettersSettings is what Letters is given.
type LettersSettings struct {
	Store   *state.Store
	Letters *deadletter.Store
	Clock   clock.Clock
	Log     *slog.Logger
}

// lettersName is what the outbox of letters is kept under: no component can be called so.
const lettersName = "$letters"

// OpenLetters finds out where the store of letters stands. ctx is the life of the outbox.
func OpenLetters(ctx context.Context, set LettersSettings) (*Letters, error) {
	o, err := Open(ctx, Settings{
		Name: lettersName, Sink: letterSink{set.Letters}, ExactlyOnce: true, Store: set.Store, Clock: set.Clock, Log: set.Log,
		Retry: Retry{MaxBackoff: 5 * time.Second}, rejoin: true,
	})
	if err != nil {
		return nil, err
	}
	l := &Letters{Outbox: o, store: set.Store}
	err = set.Store.ScanMeta(keys.Name(nil).Text(kindRefused), func(name, value []byte) error {
		if len(value) == 0 {
			return nil // it has joined the others
		}
		var letter deadletter.Letter
		if err := letter.Decode(value); err != nil {
			return damaged(set.Store, "a dead letter", err)
		}
		return l.adopt(append(keys.Name(nil), name...), letter)
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Put adds letters to the checkpoint in the making. Nothing is kept of the argument. It may be called by several goroutines; those that
// bring a barrier must have returned from their Put before Cut is called.
func (l *Letters) Put(letters []deadletter.Letter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(letters)
}

func (l *Letters) append(letters []deadletter.Letter) error {
	b := batch.Get()
	b.Offsets = append(b.Offsets, 0)
	for i := range letters {
		b.Data = letters[i].AppendTo(b.Data)
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	}
	b.N = len(letters)
	return l.Append(b)
}

// Refuse keeps the letter of a row that a sink refuses, and returns when it is on the disk. stable says that number means this row for
// ever, as it does with exactly_once: then a row that was refused before is passed over.
func (l *Letters) Refuse(ctx context.Context, sink string, number uint64, stable bool, letter deadletter.Letter) error {
	name := refusedName(sink, number)
	if stable {
		note, err := l.store.Meta(name)
		if err != nil || note != nil {
			return err
		}
	} else {
		name = name.Text(rand.Text()) // another row may have had the number before a crash
	}
	var d state.Delta
	d.Put(name, letter.AppendTo(nil))
	for {
		_, err := l.store.Commit(ctx, &d)
		if err == nil {
			return l.adopt(name, letter)
		}
		if !errors.Is(err, state.NoSpace) || l.store.Err() != nil {
			return err
		}
		if err := pause(ctx, l.set.Clock, time.Second); err != nil {
			return err
		}
	}
}

func (l *Letters) adopt(name keys.Name, letter deadletter.Letter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moved = append(l.moved, name)
	return l.append([]deadletter.Letter{letter})
}

// Cut is as of [Outbox]. It waits for a Put that is under way.
func (l *Letters) Cut() *LettersPart {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &LettersPart{Part: l.Outbox.Cut(), moved: l.moved}
	l.moved = nil
	return p
}

// LettersPart is a Part whose commit also notes which refused letters it holds.
type LettersPart struct {
	*Part
	moved []keys.Name
}

// Contribute writes into d what the commit has to hold.
func (p *LettersPart) Contribute(d *state.Delta) {
	p.Part.Contribute(d)
	for _, name := range p.moved {
		d.Put(name, nil)
	}
}

// letterSink makes a sink of the store of letters. It keeps numbers, as a transactional sink does.
type letterSink struct{ store *deadletter.Store }

func (s letterSink) LastDelivered(context.Context) (uint64, bool, error) {
	return s.store.Next() - 1, true, nil
}

func (s letterSink) Write(_ context.Context, first uint64, b *batch.Batch) error {
	letters := make([]deadletter.Letter, 0, b.Alive())
	for i := range b.Alive() {
		row := i
		if b.Sel != nil {
			row = int(b.Sel[i])
		}
		var l deadletter.Letter
		if err := l.Decode(b.Row(row)); err != nil {
			return fmt.Errorf("row %d: %w", first+uint64(i), err)
		}
		letters = append(letters, l)
	}
	err := s.store.Append(first, letters)
	if errors.Is(err, state.NoSpace) {
		return &wire.SinkError{Message: err.Error()}
	}
	return err
}

func (s letterSink) Close() error { return nil }
