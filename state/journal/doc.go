// Package journal keeps what came from sources that cannot be asked again (sockets, HTTP, MQTT at most once): a log of batches in
// segment files, written before the batches are processed and replayed from the last commit after a crash.
//
// One directory is one source's journal. Every record has a number, counting up without gaps; the number is the source's position in
// the pipeline's commits. The life of a record: [Journal.Append], processing, [Journal.Sync] before the commit that counts it (with
// sync = "commit"), the commit, [Journal.Truncate] once nothing needs it any more.
//
// sync says what a record's arrival is worth:
//
//	always   Append returns when the record is on the disk (callers at the same time share one sync)
//	commit   Append returns when the system has it; it is on the disk before the commit that counts it. A crash of the machine loses
//	         what came since the last commit, a crash of the process nothing
//	none     never synced, except at the end of a segment and, as with commit, ahead of it. A crash of the machine may lose what commits
//	         have counted; the numbers then go on behind the gap
//	never    not even that: for a journal that goes with its process
//
// A segment is synced before the next one begins, so only the last can be torn. What it holds is sent to the disk piece by piece beside the
// appending, so that neither its end nor a commit has to wait for much. A torn tail is cut off when the journal is opened for
// writing. Damage elsewhere is an error that names file and offset: each record says how much of its segment was on the disk when it
// was written, so a hole before that place is not mistaken for the end (J1). The format is described in frame.go and record.go.
//
// A Journal may be used by any number of goroutines at once.
package journal
