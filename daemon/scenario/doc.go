// Package scenario runs test cases of pipelines on virtual time: `tidemark test`.
//
// A case is a list of steps: rows come in, a watermark, the clock moves on, a partition falls silent, the process crashes, what must
// have come out by now. It runs the production engine, decoders, assigner plugins, windows, shards, checkpoints and outboxes
// included; only the two ends are other ones. Sources are a script that knows what each partition has ever said, so that after a
// crash it goes on from the position that the last commit holds, as a file or a log would. Sinks keep what they get.
//
// What makes it exact and quick: the pipeline has no alarms of its own (pipeline.Driver). After each event a probe passes through the
// whole graph, and when it has arrived everything before it is done. So no step sleeps or polls, one thing happens at a time, and
// a case takes milliseconds however much time passes in it.
//
//	text ─▶ File, Case, Step (read.go) ─▶ run (run.go): life (life.go) ─┬▶ script (script.go), the sources
//	                                                                    ├▶ Driver, the engine
//	                                                                    └▶ capture (capture.go), the sinks ─▶ compare, diff
//
// State lies in a crashable file system in memory. A crash takes a copy of what was synced and lets the rest go.
//
// [Replay] uses the same parts to feed whole files, for `tidemark explain --input`.
package scenario
