// Package checkpoint says what a commit holds, writes it, and gives it back after a restart.
//
// A [Cut] is what all parts of a pipeline have contributed at one place of every stream: source positions and assigner snapshots
// ([Snapshot]), the changes of each shard's windows (state.Delta), and what the sinks' outboxes add and give up. [Log.Commit] makes a
// cut true in one atomic, synced step of the store (I1). How barriers travel, and what the bytes of assigners, guards and windows mean,
// is the business of daemon/pipeline and the packages it is built from.
//
// Records that have not changed since the last commit are not written again: a pipeline with a hundred thousand files commits the
// positions of those that moved.
//
// A full disk is waited for (the cut stays as it is, nothing is lost, [Log.Gate] keeps more input out); any other failure ends the
// attempt, and what the store says when it is opened again counts.
//
// [Compare] holds what the state was written by against what wants to go on with it, so that a change of configuration is classed
// before it happens: keeps its state, starts anew, or is refused.
//
// One goroutine commits; Gate and the questions may be asked by any.
package checkpoint
