// Package window turns rows into the results of keyed windows: it says which windows a row belongs to, keeps what each key has in
// each window, and decides when that is emitted, emitted again, and forgotten.
//
// The rules are those of the project's rule book of event time (docs/semantics.md), which follows Apache Flink; the numbers in
// comments, like (7.2), are its sections.
//
// # Ideas
//
// A window is a half-open span of time. Watermark w says that no more rows with a time at or below w are expected, so a window
// [start, end) is complete when w reaches end-1, its max timestamp; it is kept for the allowed lateness longer and then forgotten.
// Whether a row is late is a question about its windows, never about the row's own time.
//
// There are two engines behind one interface, [Operator]. Panes are the fast one, for windows that all keys share and that fire when
// they end: their tables are laid out by time. The general one keeps an entry for each key and window and does everything: sessions
// that merge, any trigger, early results, retractions, the clock instead of event time. [New] chooses. Where both can do a job they
// emit the same bytes, and the tests compare them.
//
// # Life
//
// One operator is one shard. It is made by [New], takes the entries of a checkpoint through Restore and RestoreWatermark, and then
// gets rows, watermarks and the clock, in the order in which they stand in the stream. Everything it emits stands in its [Output]
// when the call returns. Snapshot hands over what has changed since the one before.
//
// # What may run at the same time
//
// Nothing: an operator belongs to one goroutine. Nothing here reads a clock, starts a goroutine or touches a disk; the same calls
// give the same output, byte for byte, whatever the size of batches, the number of shards, and the moments of snapshots.
//
// # What is left to others
//
// The watermark itself (package watermark), keys and hashes (rowkey), what an accumulator does with its rows (aggregate), which
// shard owns a key and where snapshots go (shard, checkpoint).
package window
