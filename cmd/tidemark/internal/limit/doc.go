// Package limit is the least that the job "totals per key and window" can be done with on a machine: read a file, scan lines, share
// events among shards by the hash of their key, add them up in flat tables, write rows. It is the measure of what the machine can do.
//
// It knows one shape of record and one kind of window, has no late records, no schema, no dead letters, no state on disk and no recovery, and
// runs in one process. What the product needs more time for is the price of those.
//
//	reader ─▶ 128 KiB chunks, cut at a line end ─▶ decoders ─▶ columns ─▶ (in the order of the file) ─▶ shards ─▶ rows
//
// Three rules carry most of its speed, and they are the product's rules, too: nothing is sent, allocated or locked for one event; columns
// stay small enough for the cache; tables have no pointers and one cache line an entry.
package limit
