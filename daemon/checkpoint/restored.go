package checkpoint

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/tidemark-stream/tidemark/state"
)

// Sinks is what becomes of rows that a sink has taken when the state of a savepoint goes on.
type Sinks string

const (
	// Exact keeps the books of sinks that keep some: rows of the savepoint that they have taken do not come again. A sink that has taken
	// rows beyond the savepoint is refused when the pipeline starts, because nobody knows whether those that come now are the same.
	Exact Sinks = "exact"
	// Skip is Exact, but rows that a sink has taken beyond the savepoint are left out when they come again, by their numbers: right where
	// the same rows come in the same order.
	Skip Sinks = "skip"
	// Again makes the state a new one to all sinks: they get as new rows what the savepoint's commit does not know to be taken.
	Again Sinks = "again"
)

// AllSinks lists them, the default first.
func AllSinks() []Sinks { return []Sinks{Exact, Skip, Again} }

// flagSkip stands in the record "restored" until the sinks have been asked.
const flagSkip = 1

func encodeRestored(keyID string, skip bool) []byte {
	flags := byte(0)
	if skip {
		flags |= flagSkip
	}
	return appendBytes([]byte{recordVersion, flags}, []byte(keyID))
}

func readRestored(store Reader) (keyID string, skip bool, err error) {
	b, err := store.Meta(name(kindRestored))
	if err != nil || b == nil {
		return "", false, err
	}
	r := record(b)
	flags := r.byte()
	keyID = string(r.bytes())
	err = r.end()
	if err == nil && flags&^flagSkip != 0 {
		err = errRecord
	}
	if err != nil {
		return "", false, damaged(store, name(kindRestored), err)
	}
	return keyID, flags&flagSkip != 0, nil
}

// Renew is called for a state that was just restored from a savepoint. Sinks without books know rows by the name of the state and their
// numbers, if at all; those that come now need not be the ones that had these numbers before, so they always get a new name.
func Renew(ctx context.Context, store *state.Store, sinks Sinks) error {
	s, err := Read(store)
	if err != nil {
		return err
	}
	var d state.Delta
	switch sinks {
	case Exact, Skip:
		d.Put(name(kindRestored), encodeRestored(rand.Text(), sinks == Skip))
	case Again:
		d.Put(name(kindCheckpoint), head{s.Number, s.Time, rand.Text()}.encode())
		d.Remove(name(kindRestored))
	default:
		return fmt.Errorf("checkpoint: %q is no way to treat sinks", sinks)
	}
	_, err = store.Commit(ctx, &d)
	return err
}

// SinksAsked notes that all sinks have been asked how far they are ahead, as Skip wants it once.
func (l *Log) SinksAsked(ctx context.Context) error {
	var d state.Delta
	d.Put(name(kindRestored), encodeRestored(l.keyID, false))
	_, err := l.set.Store.Commit(ctx, &d)
	return err
}

// StoreID names the store for sinks: for their books, if they keep some.
func (l *Log) StoreID(books bool) string {
	if books {
		return l.id
	}
	return l.keyID
}
