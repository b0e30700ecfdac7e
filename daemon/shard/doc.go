// Package shard spreads a keyed operator over goroutines that share nothing.
//
// A [Stage] is one operator of the plan. Its [Input]s take batches in the order of their streams, compute each row's key and
// send every batch, with one list of row numbers for each shard, to all shards; so all shards see the same batches, the same
// marks and the same barriers in the same order. A shard is one goroutine that owns the windows of its key groups: no lock, no
// channel operation and no allocation for a row. The collector takes one reply from each shard for each message and merges
// their results into one order, (place in the batch, window end, key hash), which depends neither on the number of shards nor
// on how the rows were cut into batches.
//
//	Input.Prepare ─▶ Input.Send ─▶ valve ─┬▶ shard 0 ─┬▶ collector ─▶ Downstream
//	(any goroutine)  (one at a time)      └▶ shard n ─┘
//
// A barrier waits in its input until all inputs have brought it (alignment), then passes through every shard, where the
// operator's changes are taken, and leaves behind the results that came before it.
//
// What may run at the same time: Prepare on any number of goroutines; Send, Idle and Barrier of one Input by one goroutine at
// a time; different Inputs at the same time. Downstream is called by the collector's goroutine alone.
package shard
