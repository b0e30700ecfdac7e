package deliver

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state"
)

// Rows that wait for their checkpoint are in memory, up to Settings.Memory. From half of that on they are written into the store ahead of it, beside
// everything else; only who fills the other half before that is done has to wait.

// relieve sees to it that rows are written ahead, and waits while there are more than memory should hold.
func (o *Outbox) relieve() error {
	for {
		o.mu.Lock()
		over, writing, changed := o.unstored > o.set.Memory, o.writing, o.changed
		o.mu.Unlock()
		if !writing { // nobody delivers yet, or any more
			if over {
				return o.writeAhead()
			}
			return nil
		}
		select {
		case o.wanted <- struct{}{}:
		default:
		}
		if !over {
			return nil
		}
		// What is over is being written, or on its way into the store with a checkpoint that has all its parts: neither waits for us.
		select {
		case <-changed:
		case <-o.ctx.Done():
			return context.Cause(o.ctx)
		}
	}
}

// writer writes rows ahead whenever it is asked to, until ctx is done.
func (o *Outbox) writer(ctx context.Context) error {
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.writing = false
		o.signal()
	}()
	for {
		select {
		case <-o.wanted:
			if err := o.writeAhead(); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// writeAhead puts rows of a checkpoint into the store before its commit. They count only when that commit names them; until then a
// restart removes them.
func (o *Outbox) writeAhead() error {
	o.ahead.Lock()
	defer o.ahead.Unlock()
	var d state.Delta
	defer d.Reset() // its memory is for the next one
	written := o.put(&d, func(c *chunk) bool { return !c.coming })
	if len(written) == 0 {
		return nil
	}
	full := false
	for {
		_, err := o.set.Store.Commit(o.ctx, &d)
		if err == nil {
			break
		}
		if o.set.Store.Err() != nil || o.ctx.Err() != nil {
			return fmt.Errorf("write rows for sink %s ahead: %w", o.set.Name, err)
		}
		if !full && o.set.Full != nil {
			o.set.Full(err)
		}
		full = true
		if err := pause(o.ctx, o.set.Clock, time.Second); err != nil {
			return err
		}
	}
	if full && o.set.Full != nil {
		o.set.Full(nil)
	}
	o.set.Hook("deliver.ahead")
	o.stored(written)
	return nil
}

// put encodes chunks that the store does not have. o.ahead is held.
func (o *Outbox) put(d *state.Delta, which func(*chunk) bool) []*chunk {
	o.mu.Lock()
	var chunks []*chunk
	var batches []*batch.Batch
	for _, c := range o.chunks {
		if !c.stored && which(c) {
			c.closed, c.put, c.coming = true, true, true
			c.batch.Retain(1) // the sink may take the rows meanwhile
			chunks, batches = append(chunks, c), append(batches, c.batch)
		}
	}
	o.mu.Unlock()
	for i, c := range chunks {
		b := batches[i]
		d.Fill(chunkName(o.set.Name, c.first), chunkRoom(b), func(dst []byte) []byte { return appendChunk(dst, b) })
		b.Release()
	}
	return chunks
}
