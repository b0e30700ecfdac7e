package sdk

import (
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// SourceContext is where a [Source] puts its records. Sources of one partition use its Collect… methods, which are those of the
// partition "default"; the others make a [Partition] for each part that has an order of its own.
type SourceContext[E any] struct {
	Env
	run   *sourceRun
	shape *shape
	main  *Partition[E]
}

// Framing says how a source that reads bytes has to cut them into records.
func (c *SourceContext[E]) Framing() Framing { return c.run.open.Framing }

// Restored are the partitions that the last checkpoint knew, in the order of their names.
func (c *SourceContext[E]) Restored() []RestoredPartition { return c.run.open.Restored }

// Partition makes the partition of that name, or returns it if it is there already. A name stands for the same data in every run. A
// partition holds back the time of the whole source until it has said something, is idle or has ended, so it is made when there is
// something to read and not before. Different partitions may be used by different goroutines.
func (c *SourceContext[E]) Partition(name string) *Partition[E] {
	p := c.run.partition(name)
	w, ok := p.writer.(*eventWriter[E])
	if !ok {
		w = newEventWriter[E](c.shape)
		p.writer = w
	}
	return &Partition[E]{partition: p, w: w}
}

// HoldsChange is closed when a partition begins or ceases to be held, once. It is for sources that read several partitions in one goroutine
// and find all of them held; ask for it before looking at [Partition.Held], and wait for it and for the context of Run.
func (c *SourceContext[E]) HoldsChange() <-chan struct{} { return c.run.holdsChange() }

func (c *SourceContext[E]) def() *Partition[E] {
	if c.main == nil {
		c.main = c.Partition("default")
	}
	return c.main
}

// Collect, CollectAt, CollectWithTimestamp, EmitWatermark, MarkIdle and Position are those of the partition "default".
func (c *SourceContext[E]) Collect(event E) error { return c.def().Collect(event) }

// CollectAt: see [Partition.CollectAt].
func (c *SourceContext[E]) CollectAt(event E, position []byte) error {
	return c.def().CollectAt(event, position)
}

// CollectWithTimestamp: see [Partition.CollectWithTimestamp].
func (c *SourceContext[E]) CollectWithTimestamp(event E, timestamp int64) error {
	return c.def().CollectWithTimestamp(event, timestamp)
}

// EmitWatermark: see [Partition.EmitWatermark].
func (c *SourceContext[E]) EmitWatermark(w Watermark) error { return c.def().EmitWatermark(w) }

// MarkIdle: see [Partition.MarkIdle].
func (c *SourceContext[E]) MarkIdle() error { return c.def().MarkIdle() }

// Position: see [Partition.Position].
func (c *SourceContext[E]) Position() []byte { return c.def().Position() }

// Count: see [Partition.Count].
func (c *SourceContext[E]) Count() int64 { return c.def().Count() }

// Partition is a part of a source with an order and positions of its own. It is used by one goroutine at a time. The sdk makes batches of
// what is collected; a batch goes out when it is full or has waited for about a millisecond. All methods block while the pipeline
// cannot take more, and return an error once the source is to stop: Run then returns.
type Partition[E any] struct {
	*partition
	w *eventWriter[E]
}

// Collect puts a record. Its position is the number of records collected before it, counted over all runs: see [Partition.Count].
func (p *Partition[E]) Collect(event E) error {
	return p.collect(event, batch.NoTimestamp, nil)
}

// CollectWithTimestamp puts a record with its event time in milliseconds. A pipeline with an assigner of its own sees it as the previous
// timestamp.
func (p *Partition[E]) CollectWithTimestamp(event E, timestamp int64) error {
	return p.collect(event, timestamp, nil)
}

// CollectAt puts a record and the position behind it, where the source goes on after a restart that has this record committed. Only the
// source understands positions; they are short. A partition uses CollectAt for all its records or for none.
func (p *Partition[E]) CollectAt(event E, position []byte) error {
	return p.collect(event, batch.NoTimestamp, position)
}

// CollectAtWithTimestamp is both.
func (p *Partition[E]) CollectAtWithTimestamp(event E, timestamp int64, position []byte) error {
	return p.collect(event, timestamp, position)
}

func (p *Partition[E]) collect(event E, timestamp int64, position []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.begin()
	if err != nil {
		return err
	}
	p.w.write(b, &event)
	return p.wrote(b, timestamp, position)
}

// BatchLimits is when a batch is full, as the pipeline says with batch_rows and batch_bytes: what sources that use Send go by.
func (p *Partition[E]) BatchLimits() (rows, bytes int) {
	return p.run.open.BatchRows, p.run.open.BatchBytes
}

// Send puts a whole batch, which it takes over, also when it returns an error. The batch has N rows in Data, Offsets and Trailer, or in
// Columns; Base and Unit, for messages; Position, behind its last row; and perhaps Times, Marks and Rejects. This is the way for sources
// that cut large buffers into lines.
func (p *Partition[E]) Send(b *batch.Batch) error { return p.send(b) }

// EmitWatermark says that no record up to w is to be expected behind the records collected so far. It counts in pipelines whose
// assigner is "source". A watermark that does not rise is ignored. [EndOfInput] says that nothing follows at all.
func (p *Partition[E]) EmitWatermark(w Watermark) error { return p.emitWatermark(int64(w)) }

// MarkIdle says that nothing is to be expected for now, so that the others need not wait for this partition. The next record or
// watermark takes it back.
func (p *Partition[E]) MarkIdle() error { return p.control(wire.PartitionIdle, true) }

// MarkActive takes MarkIdle back before there is a record.
func (p *Partition[E]) MarkActive() error { return p.control(wire.PartitionBusy, false) }

// End says that the partition has come to its end: it no longer holds back the time of the others. Its position is kept, so that a
// source that meets the name again knows that it has read it.
func (p *Partition[E]) End() error { return p.end() }

// Held reports whether the partition is too far ahead of others (max_drift), so that nothing more should be read of it for now. What has been
// read may be collected as always: no method blocks because of it. A source that looks at it, and goes on with its other partitions
// meanwhile, says so in its description, see [HoldsPartitions]; without that no partition is ever held. A held partition is not idle: its
// silence is not its own. Any goroutine may ask.
func (p *Partition[E]) Held() bool { return p.held.Load() }

// WaitWhileHeld returns at once when the partition is not held, and otherwise when it goes on. It is for sources that have a goroutine for
// each partition; where one goroutine reads several, waiting for one would keep the others from catching up. It returns an error once the
// source is to stop: Run then returns.
func (p *Partition[E]) WaitWhileHeld() error { return p.waitWhileHeld() }

// Position is where the source goes on: what the last commit of an earlier run holds, or nil for a new partition.
func (p *Partition[E]) Position() []byte { return p.restored }

// Count is the number of records that have been collected with Collect or CollectWithTimestamp, those of earlier runs that are committed
// included. A source that makes the same records in each run skips so many.
func (p *Partition[E]) Count() int64 { return p.count }

// Flush sends what has been collected without waiting.
func (p *Partition[E]) Flush() error { return p.flushNow() }

// NewBatch returns an empty batch for [Partition.Send].
func NewBatch() *batch.Batch { return batch.Get() }
