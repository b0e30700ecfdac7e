// Package baseline does the jobs of package workload the plain way: one thread, Go maps, a few dozen lines each. It is the truth that every
// benchmarked result is compared with, and the yardstick that a larger machinery has to beat before it may call itself fast.
//
// [Totals], [Sliding], [Sessions] and [Stateless] read lines and give rows. A [Row] holds whole numbers only (sums are in hundredths), so
// there is no question of rounding. [Digest] makes rows comparable without their order, [ReadResults] reads them back from what the
// program has written, and [Diff] says which rows differ.
package baseline
