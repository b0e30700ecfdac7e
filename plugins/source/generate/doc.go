// Package generate is the source that makes its own records: deterministic ones, for trying things out, for tests and for
// benchmarks. The same options give the same records, on every machine and after every restart.
//
// [Generator] makes the events of a [Workload]; AppendJSON, AppendPair and AppendPageView write them as lines. The plugin
// puts them into batches, as fast as they are taken or at a rate. `tidemark gen` writes the same lines to files.
//
// A position holds the number of the next event and the state of the random numbers, so a restart does not begin anew.
package generate
