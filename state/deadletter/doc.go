// Package deadletter keeps records that could not be used: what came in, why it was refused and by whom, so that nothing vanishes without
// a trace.
//
// The store is bounded: when it is full the oldest letters go, in runs of a segment, and are counted. It lies in files of its own (segments of
// package journal, numbered letters in them), which [Read], [Inspect] and [Purge] work on whether or not a daemon has it open. Letters
// are written by numbers that the pipeline's commits count, so a letter delivered again after a crash is recognised and not doubled (D1).
//
// Damage in a file costs the letters in it and never the pipeline: the file is set aside under another name and reported.
//
// Directory:
//
//	00000000000000000001.seg    segments, named by their first number
//	COUNTS                      how many letters were given up for room, and below which number
//	PURGED                      numbers that somebody has purged, as ranges
//	PURGED.lock                 held while PURGED is changed
package deadletter
