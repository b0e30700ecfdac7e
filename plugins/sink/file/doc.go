// Package file is the sink that appends rows to a file, each of them exactly once.
//
// Beside the file results.jsonl it keeps its books in .results.jsonl.tidemark: the number of the last row and the length of the
// file up to its end, written after the rows and, like them, synced before a delivery is acknowledged. When the sink is opened again,
// the file is cut to that length: what stands behind it is a torn or unrecorded tail, and its rows come again. So a crash at any
// moment leaves whole rows, each of them once.
//
// The numbers belong to the pipeline's state store. Books of another store (the pipeline was started from nothing) are begun
// anew: rows are appended behind what is there, or with mode = "overwrite" replace it.
//
// A file that is renamed away while the sink runs is left and a new one begun; one that is cut is appended to where it ends. The sink can
// rotate by itself: results.jsonl becomes results.1.jsonl, and so on. The books are locked, so two programs never write one
// file. Devices and pipes have no books: there the sink just writes.
//
//	book.go    the books: two slots in turn, so that a crash while writing one leaves the other
//	sink.go    open, write, rotate
package file
