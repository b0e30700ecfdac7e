// Package keys says how everything in the store is ordered: what stands in a key, and in which order the bytes sort.
//
//	meta     00 | name                                               free-form, see below
//	state    01 | operator (4) | time (8) | hash (8) | key           one entry of an operator
//
// All numbers are big endian; time is an event time in milliseconds with its sign bit flipped, so that times before 1970 sort
// before those after. So an operator's entries are one run, in it each pane (all keys with the same time) is one run, and in a
// pane the keys stand in the order of their hashes, which is the order in which results are emitted. Firing a pane is one ordered
// scan, dropping it is one range deletion, and a shard (a contiguous range of hashes) is one run in each pane.
//
// Meta keys come first in the order. Their names are built with [Name], whose parts keep their order: text sorts before its own
// continuation, numbers sort as numbers.
//
// Keys are stored on disk: the layout is part of the store's format version and never changes within one.
package keys
