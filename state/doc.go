// Package state keeps what a pipeline must not forget in one Pebble directory, and changes it in one atomic, synced step.
//
// It knows bytes: entries of operators (see package keys for their order) and named meta values. What they mean is the business of
// daemon/window, daemon/checkpoint and daemon/deliver.
//
// Three ideas carry it.
//
//   - A [Delta] collects the changes of one shard between two checkpoints. It is an arena with an index, belongs to one goroutine,
//     never reads, and costs a copy of the bytes.
//   - [Store.Commit] makes any number of Deltas true at once. A small commit is an ordinary batch with one sync of the log. A large
//     one is sorted by radix, written as ONE table file and ingested, which is just as atomic and skips the log, the memtable and the
//     flush. Ingestion is not held back by the database's own write stall, so the caller asks [Store.Pressure] and slows down.
//   - Values merge. An entry that was spilled is never read to be changed: its delta is written as a merge operand and folded when
//     the entry is read or compacted. The fold is given per operator ([Store.SetFold]); while none is known (an inspecting command,
//     the moments before the pipeline is built) operands are kept side by side, so nothing depends on who opened the store.
//
// Life: [Open] checks the directory (who uses it, what wrote it, whether it is whole) and answers with an [Error] that says which
// file and what to do; it never starts from empty where something was. Then any number of goroutines read and one at a time
// commits. When the disk fails under the database the store is broken: every call answers with the first error, files are fenced off
// so that background work can do no more harm, and [Store.Close] gives the directory back for another Open.
//
// Directory:
//
//	TIDEMARK        what this is: format version (text, written aside, synced, renamed)
//	OWNER           who has it open: process and host (for the message of the second one; the lock is db/LOCK and the directory)
//	COMMITS         how many commits are on the disk: what tells damage of the log's end from a crash, see mark.go
//	db/             Pebble
//	ingest/         tables on their way into db/, emptied by Open
//
// Journals and dead letters lie beside it, each in a directory of its own (packages journal and deadletter).
//
// Invariants: a commit is all or nothing, whatever its way (S1). A commit that has answered without error survives any crash (S2).
// What is read back depends on what was committed only, never on how it was split into deltas, entries or commits (S3). The tests
// that attack them are in model_test.go and mark_test.go.
package state
