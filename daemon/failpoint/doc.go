// Package failpoint ends the process at named places, for the tests that pull the plug there.
//
// A program built with the tag failpoints reads TIDEMARK_FAILPOINT, "NAME" or "NAME:N", when it starts, and kills itself with SIGKILL when
// that place is reached for the Nth time: nothing is flushed, closed or told. In every other build [Hit] is an empty function that the
// compiler removes, and the variable means nothing.
//
// [Hit] may be called by any goroutine.
package failpoint

// Variable is the environment variable.
const Variable = "TIDEMARK_FAILPOINT"

// The places. Each is between two things that a crash must not take apart.
const (
	RecoverOpened    = "recover.opened"    // the store is open, nothing is restored
	RecoverRestored  = "recover.restored"  // everything is restored, nothing runs
	CommitCut        = "commit.cut"        // a cut is complete, nothing of it is written
	CommitBegin      = "commit.begin"      // the store is about to write
	CommitTable      = "commit.table"      // a large commit's table is written and not part of the database
	CommitEnd        = "commit.end"        // the commit is on the disk and nobody knows
	CommitTold       = "commit.told"       // outboxes know; sources do not
	DeliverBegin     = "deliver.begin"     // rows are about to go to a sink
	DeliverEnd       = "deliver.end"       // the sink has answered, the outbox does not know
	DeliverAhead     = "deliver.ahead"     // rows for a sink that does not wait are in the store, ahead of their checkpoint
	JournalAppended  = "journal.appended"  // a record is written and nobody has seen it
	JournalRotate    = "journal.rotate"    // a segment is closed, the next is not begun
	JournalTruncated = "journal.truncated" // old segments are gone, the source has not been told
)

// All lists them.
func All() []string {
	return []string{RecoverOpened, RecoverRestored, CommitCut, CommitBegin, CommitTable, CommitEnd, CommitTold, DeliverBegin, DeliverEnd, DeliverAhead,
		JournalAppended, JournalRotate, JournalTruncated}
}
