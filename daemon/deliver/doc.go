// Package deliver brings results to sinks: numbered, in order, and as often as promised.
//
// An [Outbox] stands between the pipeline and one sink. Rows that are appended get the next numbers; a [Part] is what belongs to one
// checkpoint, and is committed with it; then the rows are delivered, and given up once the sink has taken them.
//
//	Append ──▶ rows of this checkpoint ──Cut, commit──▶ rows to deliver ──Write──▶ taken by the sink ──next commit──▶ gone
//	           (in memory, or ahead in the store)       (in the store, and in memory up to a limit)
//
// exactly_once delivers after the commit only. A transactional sink tells the number of the last row it holds and goes on behind it; an
// idempotent one gets a row again under the same number. at_least_once delivers at once, and commits what the sink has not taken by
// then, because the sources' positions move past those rows with the commit.
//
// A sink that fails is tried again with growing, jittered pauses, for ever unless told otherwise. Rows that it refuses for good go to
// the dead letters, and the others go on (D2); when it refuses a whole delivery, halves are tried until the bad row stands alone. A
// sink that is stuck costs disk and never memory or checkpoints: rows beyond a limit lie in the store only, and a [Budget] shared by
// all sinks of a pipeline holds back its input while too many bytes wait.
//
// Dead letters themselves are delivered through an outbox ([Letters]), so that they come exactly once, too.
//
// What may run at the same time: Append and Cut by one goroutine (or under one lock), Part's methods by the one that commits, Run by
// one, Status, Drain and Budget.Wait by any.
package deliver
