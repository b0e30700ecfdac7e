package deliver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Run delivers until ctx is done (nil) or something fails that trying again does not mend: the sink says so, breaks, has failed as often
// as allowed, or the store cannot be read. The rows stay in the store.
//
// Each connection to the sink has a goroutine of its own, which brings one delivery at a time: with a single one rows go out in order. Another one writes
// rows ahead.
func (o *Outbox) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.mu.Lock()
	o.sent, o.writing = o.acked, true
	o.signal()
	o.mu.Unlock()
	var all sync.WaitGroup
	errs := make([]error, 2+len(o.set.More))
	all.Go(func() {
		if errs[len(errs)-1] = o.writer(ctx); errs[len(errs)-1] != nil {
			cancel(errs[len(errs)-1])
		}
	})
	for i := range errs[:len(errs)-1] {
		sink := o.set.Sink
		if i > 0 {
			sink = o.set.More[i-1]
		}
		all.Go(func() {
			if errs[i] = o.run(ctx, sink); errs[i] != nil {
				cancel(errs[i]) // the others need not go on
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// run brings one delivery after the other through one connection.
func (o *Outbox) run(ctx context.Context, sink wire.Sink) error {
	for {
		first, b, err := o.head(ctx)
		if err == nil {
			err = o.deliver(ctx, sink, first, b)
			b.Release()
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// head waits for rows that may be delivered, and that no other connection has, and returns a share of the next ones, selected.
func (o *Outbox) head(ctx context.Context) (first uint64, b *batch.Batch, err error) {
	o.turn.Lock()
	defer o.turn.Unlock()
	for {
		o.mu.Lock()
		changed := o.changed
		first := o.sent + 1
		c := o.holding(first)
		wait := time.Duration(0)
		if c != nil && !c.closed {
			wait = o.set.Linger - o.set.Clock.Since(c.born)
		}
		if c != nil && wait <= 0 {
			c.closed = true
			if c.batch != nil {
				c.batch.Retain(1)
			}
			b := c.batch
			o.mu.Unlock()
			first, b, err := o.take(c, first, b)
			if err == nil {
				o.mu.Lock()
				b = o.gather(first, b)
				o.sent = first + uint64(b.Alive()) - 1
				o.mu.Unlock()
			}
			return first, b, err
		}
		o.mu.Unlock()
		if err := o.await(ctx, changed, wait); err != nil {
			return 0, nil, err
		}
	}
}

// holding is the chunk with a row, if it may be delivered. o.mu is held.
func (o *Outbox) holding(number uint64) *chunk {
	for _, c := range o.chunks { // those before it are on their way: no more than there are connections
		if c.first >= o.deliverable {
			return nil
		}
		if number < c.end() {
			return c
		}
	}
	return nil
}

// await waits for a change, or, if there is something to wait for, until so long has passed.
func (o *Outbox) await(ctx context.Context, changed <-chan struct{}, wait time.Duration) error {
	var due <-chan time.Time
	if wait > 0 {
		t := o.set.Clock.NewTimer(wait)
		defer t.Stop()
		due = t.C()
	}
	select {
	case <-changed:
	case <-due:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// take selects the rows from number first on, as many as a delivery holds. held is a share of the chunk's batch, or nil where it must be
// read.
func (o *Outbox) take(c *chunk, first uint64, held *batch.Batch) (uint64, *batch.Batch, error) {
	if held == nil {
		var err error
		if held, err = o.load(c); err != nil {
			return 0, nil, err
		}
		o.mu.Lock()
		if c.batch == nil { // the other deliveries of this chunk need not read it again
			held.Retain(1)
			c.batch = held
			o.memory += c.bytes
		}
		o.mu.Unlock()
	}
	from := int(first - c.first)
	to := min(c.rows, from+o.set.BatchRows)
	if n := c.bytes / o.set.BatchBytes; n > 0 {
		to = min(to, from+max(1, int(int64(c.rows)/(n+1))))
	}
	if from == 0 && to == c.rows {
		return first, held, nil
	}
	return first, narrowed(held, from, to), nil
}

// gather puts rows that wait behind those of b, the first of which has a number, into the same delivery, as far as there is room: a delivery may cost
// its sink a sync of the disk, whatever is in it. It takes chunks that are in memory, and none that may have to linger. b is given up, or
// returned as it is. o.mu is held.
func (o *Outbox) gather(first uint64, b *batch.Batch) *batch.Batch {
	var out *batch.Batch
	rows, bytes := b.Alive(), footprint(b)*int64(b.Alive())/int64(max(b.N, 1))
	for {
		c := o.holding(first + uint64(rows))
		if c == nil || c.first != first+uint64(rows) || c.batch == nil || !c.closed && o.set.Linger > 0 || c.batch.Sel != nil ||
			rows+c.rows > o.set.BatchRows || bytes+c.bytes > o.set.BatchBytes || !joins(b, c.batch) {
			break
		}
		if out == nil {
			out = batch.Get()
			appendSelected(out, b)
			b.Release()
			b = out
		}
		c.closed = true
		appendRows(out, c.batch)
		rows, bytes = rows+c.rows, bytes+c.bytes
	}
	return b
}

// appendSelected copies the selected rows of src, which are neighbours, to dst, which has none.
func appendSelected(dst, src *batch.Batch) {
	from, to := 0, src.N
	if src.Sel != nil {
		from, to = int(src.Sel[0]), int(src.Sel[len(src.Sel)-1])+1
	}
	if len(src.Offsets) == 0 {
		dst.AppendRows(src, from, to)
		return
	}
	part := batch.Batch{Data: src.Data, Offsets: src.Offsets[from : to+1], Trailer: src.Trailer, N: to - from}
	appendRows(dst, &part)
}

// narrowed turns a share of b into one of b's rows from..to.
func narrowed(b *batch.Batch, from, to int) *batch.Batch {
	f := b.Fork()
	b.Release()
	sel := make([]uint32, 0, to-from)
	if b.Sel != nil {
		sel = append(sel, b.Sel[from:to]...)
	} else {
		for i := from; i < to; i++ {
			sel = append(sel, uint32(i))
		}
	}
	f.Sel = sel
	return f
}

// deliver brings the selected rows of b, the first of which has a number, to the sink, and returns when it has taken or refused them all.
func (o *Outbox) deliver(ctx context.Context, sink wire.Sink, first uint64, b *batch.Batch) error {
	for failures := 0; ; {
		o.set.Hook("deliver.begin")
		err := o.try(ctx, sink, first, b)
		o.set.Hook("deliver.end")
		if err == nil {
			o.recovered()
			o.brought(first, uint64(b.Alive()))
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var verdict *wire.SinkError
		decided := errors.As(err, &verdict)
		switch {
		case decided && len(verdict.Refused) > 0:
			o.recovered()
			return o.refused(ctx, sink, first, b, verdict.Refused)
		case decided && verdict.Permanent:
			return err
		case !decided && !errors.Is(err, errTimeout):
			return fmt.Errorf("broken: %w", err)
		}
		failures++
		if o.set.Retry.Attempts > 0 && failures >= o.set.Retry.Attempts {
			return fmt.Errorf("%d failures in a row, as many as [sinks.NAME.retry] allows: %w", failures, err)
		}
		asked := time.Duration(0)
		if decided {
			asked = verdict.After
		}
		wait := o.set.Retry.pause(failures, asked, o.set.Jitter())
		o.failed(err, wait)
		if err := pause(ctx, o.set.Clock, wait); err != nil {
			return err
		}
	}
}

var errTimeout = errors.New("the sink has not answered in time")

// try is one call of the sink.
func (o *Outbox) try(ctx context.Context, sink wire.Sink, first uint64, b *batch.Batch) error {
	if o.set.Retry.Timeout <= 0 {
		return sink.Write(ctx, first, b)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := o.set.Clock.NewTimer(o.set.Retry.Timeout)
	defer t.Stop()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-t.C():
			cancel(errTimeout)
		case <-done:
		}
	}()
	err := sink.Write(ctx, first, b)
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		return fmt.Errorf("%w (%s): %w", errTimeout, o.set.Retry.Timeout, err)
	}
	return err
}

// refused brings rows that will never be taken to the dead letters. A sink that refuses a whole delivery, and takes nothing of it, may mean
// a single row: halves are tried, until each bad row stands alone (D2).
//
// The letter of a row is safe before the sink gets the next one. So a sink with books that refuses whole deliveries, without counting
// them as taken, loses no letter in any crash; if it takes the other rows at once, a crash before the letter is written does.
func (o *Outbox) refused(ctx context.Context, sink wire.Sink, first uint64, b *batch.Batch, bad []batch.BadRow) error {
	n := b.Alive()
	if len(bad) >= n && n > 1 {
		half := n / 2
		b.Retain(2)
		low, high := narrowed(b, 0, half), narrowed(b, half, n)
		defer low.Release()
		defer high.Release()
		if err := o.deliver(ctx, sink, first, low); err != nil {
			return err
		}
		return o.deliver(ctx, sink, first+uint64(half), high)
	}
	if err := o.set.Refused(ctx, b, first, bad); err != nil {
		return fmt.Errorf("keep rows that it refuses: %w", err)
	}
	o.brought(first, uint64(n))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sweeps = sweeps
	return nil
}

// sweeps is how many commits after a refusal look for notes to remove. The first one says that the sink is past the row; the second may note in
// the same breath that the letter has joined the others; the third has the last word.
const sweeps = 3
