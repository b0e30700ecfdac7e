package deliver

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

// Open finds out where a sink stands: what the last commit says, and what the sink itself says if it keeps books. ctx is the outbox's
// life: Append gives up when it ends.
func Open(ctx context.Context, set Settings) (*Outbox, error) {
	o := &Outbox{set: set.withDefaults(), ctx: ctx, next: 1, sweeps: sweeps, changed: make(chan struct{}), wanted: make(chan struct{}, 1)}
	stored, err := set.Store.Meta(sinkName(set.Name))
	if err != nil {
		return nil, err
	}
	if stored != nil {
		r, err := decodeRecord(stored)
		if err != nil {
			return nil, damaged(set.Store, fmt.Sprintf("the record of sink %s", set.Name), err)
		}
		if r.version < recordVersion {
			if err := upgrade(ctx, set.Store, set.Name, r); err != nil {
				return nil, fmt.Errorf("bring the outbox of sink %s to version %d: %w", set.Name, recordVersion, err)
			}
		}
		o.next, o.acked, o.chunks = r.next, r.acked, r.chunks
	}
	o.deliverable, o.recorded = o.next, o.acked
	if err := o.removeLeftovers(ctx); err != nil {
		return nil, err
	}
	if len(o.chunks) > 0 {
		o.given = o.chunks[0].first - 1
	} else {
		o.given = o.next - 1
	}
	for _, c := range o.chunks {
		o.set.Budget.add(c.bytes)
	}
	if err := o.ask(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

// removeLeftovers removes rows that were written ahead of a commit that never was.
func (o *Outbox) removeLeftovers(ctx context.Context) error {
	from, to := chunkName(o.set.Name, o.next), keys.After(chunkPrefix(o.set.Name))
	found := false
	err := o.set.Store.ScanMetaRange(from, to, func(_, _ []byte) error {
		found = true
		return state.ErrStop
	})
	if err != nil || !found {
		return err
	}
	var d state.Delta
	d.RemoveRange(from, to)
	_, err = o.set.Store.Commit(ctx, &d)
	return err
}

// lastNumber is beyond what any pipeline can come to; numbers above it would wrap around.
const lastNumber = 1 << 62

// ask asks a sink with books of its own.
func (o *Outbox) ask(ctx context.Context) error {
	number, known, err := o.set.Sink.LastDelivered(ctx)
	if err != nil {
		return fmt.Errorf("ask sink %s for its last row: %w", o.set.Name, err)
	}
	if !known {
		return nil
	}
	if number > lastNumber {
		return &state.Error{
			Kind: state.Incompatible, Path: o.set.Store.Dir(),
			Summary: fmt.Sprintf("the sink %s says that the last row it has taken is number %d, which no row can have been given", o.set.Name, number),
			Hint:    "mend the sink's record of the last row, or the plugin's LastDelivered, which counts rows from 1",
		}
	}
	ahead := number >= o.next && o.set.ExactlyOnce && !o.set.rejoin
	if ahead {
		ok, err := o.maySkip(ctx, number)
		if err != nil {
			return err
		}
		if ok {
			o.skip(number)
			return nil
		}
	}
	switch {
	case ahead:
		// Only what is committed was ever delivered, so commits are missing. The rows that come now are perhaps not the same ones.
		return &state.Error{
			Kind: state.Incompatible, Path: o.set.Store.Dir(),
			Summary: fmt.Sprintf("the sink %s holds rows up to number %d, but the state knows of %d only: the state is older than the sink", o.set.Name, number, o.next-1),
			Hint: "bring back the newer state; or, if this one was restored, restore it once more, with --sinks again (the sink gets the rows again, as new ones) " +
				"or --sinks skip (they are left out up to that number, which is right where the same rows come in the same order)",
		}
	case number >= o.next:
		// Rows that were delivered before their commit come again, under new numbers, since they need not be the same ones.
		o.next = number + 1
		o.deliverable = o.next
	case number < o.acked:
		o.set.Log.Warn("the sink holds less than it has confirmed; rows that it has lost do not come again", "sink", o.set.Name, "holds", number, "confirmed", o.acked)
	}
	if number > o.acked {
		o.taken(number)
	}
	return nil
}

// load brings the rows of a chunk back into memory.
func (o *Outbox) load(c *chunk) (*batch.Batch, error) {
	what := fmt.Sprintf("rows %d to %d for sink %s", c.first, c.end()-1, o.set.Name)
	b, there := batch.Get(), false
	err := o.set.Store.ReadMeta(chunkName(o.set.Name, c.first), func(stored []byte) error {
		there = true
		err := decodeChunk(stored, b)
		if err == nil && b.N != c.rows {
			err = fmt.Errorf("there are %d", b.N)
		}
		if err != nil {
			err = damaged(o.set.Store, what, err)
		}
		return err
	})
	if err == nil && !there {
		err = damaged(o.set.Store, what, errors.New("they are not there"))
	}
	if err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}
