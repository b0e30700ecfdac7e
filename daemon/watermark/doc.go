// Package watermark says how far event time has come, and keeps bad clocks from saying it wrongly.
//
// A partition's generator (an assigner plugin, or a source that brings its own time) proposes watermarks. [Partitions] keeps the
// highest of each partition and combines them to the minimum over those that are not idle. A [Valve] does the same for the
// inputs of an operator, but lets a returning input catch up without holding the others. Values never go back: a proposal that
// does not rise is ignored, at every boundary.
//
// Before the assigner sees a batch, guards look at its timestamps: [MaxAhead] refuses times far ahead of the wall clock,
// [JumpGuard] holds a lonely forward jump apart until others confirm it. [DetectUnit] tells seconds from milliseconds, and
// [Lateness] remembers how late rows come, so that it can say what a bound would lose.
//
// # Words
//
// A partition is never_seen (begun, nothing came), active, idle (left out of the minimum), held (by us: backpressure or
// alignment; it counts, and its idleness clock stands) or ended (left out for good). The output of a Partitions or Valve is
// active or idle as a whole.
//
// # Idleness
//
// A partition is idle as soon as IdleAfter of processing time has passed since its last row, its last watermark or its
// beginning, whichever came last; time in which it was held does not count. [QuietTicks] is Flink's own detection, which counts
// from the first of two quiet periodic calls. A row makes an idle partition count again before that row is judged.
//
// A source without any partition (a listener to whom nobody speaks) is idle after the same time.
//
// When every partition is idle, [Advance] (the default; current Flink) raises the watermark to the highest of them and then says
// idle, so that windows behind the fastest partition are not stuck; [Hold] leaves the watermark where it is. An ended partition
// takes no part in either: it never pushes the others' time forward.
//
// # Calls
//
// Nothing here reads a clock, starts a goroutine or blocks. Callers pass processing time (milliseconds, from one clock that does
// not go back) and call one value from one goroutine. Methods that can change the output append to a slice the caller owns.
//
// Invariants: the combined watermark never falls; a refused or held row never moves it; the same rows, marks and ticks in the
// same order give the same output, however they are cut into batches.
package watermark
