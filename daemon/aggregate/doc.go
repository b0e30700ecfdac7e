// Package aggregate folds the values of a window's rows into one result each: count, sum, min, quantile and their kin.
//
// # Accumulators are words
//
// A [Layout] places all aggregates of an operator in one run of uint64 words, so that a table of a million keys is one
// pointer-free slice, clearing it is clearing memory, and the garbage collector has nothing to follow. Words that are all zero are
// the empty accumulator. Each aggregate takes a few words and a few flag bits; the flag bits of all share one word, which the owner
// of the entries may lend from a header of its own (see [Placement]). State of variable size (texts, sets, sketches, sums that need
// many digits) lies in the table's [Heap]; the accumulator's word is a handle to it.
//
// # Order never shows
//
// Adding the same rows in any order, split in any way over accumulators that are merged later, gives the same result bit for bit.
// Windows are sliced, sessions bridged and checkpoints replayed, and none of that may change an answer. So integer sums are kept in
// 128 bits and float sums exactly (see sum.go); only the result is rounded, once. first, last and collect order rows by event time
// and take ties in the order of arrival, which a merge keeps when the older accumulator is the destination. The one exception is
// top beyond its bound, see [Layout.OrderMatters].
//
// # Rules common to all
//
//   - Null and missing cells are skipped, as in SQL. The sum of nothing is null, the count of nothing is 0.
//   - Numeric aggregates (sum, avg, stddev, variance, median, quantile) take true as 1 and false as 0, so that avg(ok) is a rate. A
//     cell that is no number at all (text, a time, an object) is skipped too, and counted in [Layout.Skipped].
//   - Integers beyond 64 bits, which decoders keep as JSON text, take part in sum, avg, stddev and variance exactly, and in median and quantile
//     as the float nearest to them. Those of up to 64 bits are a quantile exactly, as long as the sketch holds values and not buckets.
//   - min and max order values of different kinds as false < true < numbers < times < texts < JSON texts; numbers by their value
//     whatever their kind, NaN above all others and -0 below 0 (so min ignores NaN unless there is nothing else, as in PostgreSQL);
//     texts by bytes. Of equal values of different kinds the integer is the lower one.
//   - sum, avg, stddev and variance are NaN when a NaN was added, or both infinities were.
//   - median and quantile skip NaN and count it in Skipped.
//
// # What it leaves to others
//
// Nothing here reads a clock, locks or starts a goroutine. A Layout that has been placed belongs to one goroutine, since [Layout.Bind]
// keeps the current batch in it; the Layout that New returns is only a template and may be shared. Parsing "quantile(latency, 0.99)"
// is the configuration's work.
package aggregate
