// Package framing cuts a stream of bytes into records, for every source that reads one: files, sockets, standard input.
//
// A [Splitter] belongs to one stream (one file, one connection). The source reads straight into a batch's memory, and the
// splitter only notes where records end, so that no record is copied on its own; what is left of an unfinished record moves
// to the next batch once. Where the chunks of the stream begin and end never shows in the records: this is tested by cutting
// everywhere.
//
//	b := batch.Get()
//	s.Begin(b)                         // the unfinished record of the last batch comes first
//	for !full {
//		n, err := r.Read(s.Room(b, 64<<10))
//		full = s.Cut(b, n)             // true: hand the batch over
//	}
//	s.Finish(b)                        // b holds whole records; s.Place() is where the stream continues after them
//	...
//	for done := false; !done; {        // at the end of the stream
//		s.Begin(b)
//		done = s.End(b, framing.KeepLast)
//		s.Finish(b)
//	}
//
// Three kinds of record: [Lines] end with a line feed (a carriage return before it stays; decoding removes it); [CSV]
// records do too, but a line feed inside quotes belongs to the record; [None] is everything up to the end of the stream.
//
// Nothing vanishes here. A record longer than MaxRecord becomes a batch.Reject with its whole length and a prefix, memory does not
// grow with it, and the record after it is intact. An unfinished record at the end is kept or rejected, as the source asks.
//
// A Splitter reads no clock, starts no goroutine, and is not safe for use by several goroutines.
package framing
