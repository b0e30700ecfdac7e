// Package daemon puts the parts together: it runs all pipelines of a directory, each on its own, and stops them in order.
//
// This page is the map. The way of the data is the layout; each folder is a station, named with the word the documentation
// uses for it.
//
//	source plugin ──batches──▶ decode ──▶ assigner plugin ──▶ transform ──▶ rowkey ──▶ shards ──▶ deliver ──▶ sinks
//	(host: process)  raw rows   columns    (host: process)     filter, map   key, hash  window     outbox
//	                 +positions            times + marks                                aggregate
//	                                       watermark: guards,                              │
//	                                       partitions combined                             ▼
//	                        ╰──────────── checkpoint: ONE atomic commit in state ────────────╯
//
// Who may import whom; imports go downwards, and layers_test.go keeps them:
//
//	9  cmd/tidemark            the verbs, a file each; the only place that knows the shipped plugins
//	8  plugins                 the shipped sources, assigners and sinks; they import sdk only
//	7  daemon                  all pipelines of one process
//	6  scenario                `tidemark test` and `tidemark explain`: the engine on virtual time
//	   admin ◄ admin/api       a running daemon is asked over HTTP: health, metrics, status, state
//	5  pipeline                one pipeline's life: build from a plan, run, stop, restart with backoff
//	4  host                    plugin processes: find, pin, start, watch, call
//	   shard                   a keyed operator over goroutines that share nothing
//	   checkpoint              what a commit holds, and recovery from it
//	   deliver                 outbox to sinks: numbers, retries, acknowledgements
//	3  config ◄ plan           TOML to Config · Config and plugin descriptions to Plan, the printable graph that runs
//	   sdk/sdktest             the kit for plugin authors' tests
//	2  decode                  raw bytes to columns, timestamps                          pure
//	   transform               expressions; filter, map, unnest, dedup                   pure
//	   watermark               partitions, valve, idleness, alignment, guards            pure
//	   aggregate ◄ window      accumulators · windows, triggers, lateness, firing        pure
//	   format                  rows to text                                              pure
//	   sdk                     what plugin authors import
//	1  notify                  the service manager is told how the daemon does
//	   state, state/journal, state/deadletter    Pebble store · segment log · refused records
//	   sdk/wire                both halves of the plugin wire
//	   rowkey                  keys as bytes, their hashes and groups                    pure
//	0  problem  clock  failpoint  jsontext  state/keys  sdk/batch  sdk/proto
//
// Pure packages have no goroutine, clock, file, socket or lock: rows, ticks and watermarks in, effects out.
//
// # Invariants
//
// The line that keeps one and the test that attacks it name it.
//
//   - I1: A commit is the only moment at which anything becomes true. It holds source positions, assigner snapshots, watermarks, window
//     state and undelivered results of one place in every stream, all or nothing.
//   - I2: Results do not depend on how rows are cut into batches, on the number of shards or workers, or on when checkpoints are taken.
//   - I3: A source is acknowledged only after the commit that holds its rows.
//   - I4: A watermark never goes back, at no boundary.
//   - I5: Nothing that came in vanishes: in = windowed + late + filtered + rejected + markers + in flight, at every step.
//   - I6: Memory is bounded: every queue between two goroutines has a bound, and a slow sink holds its sources back.
//   - I7: A plugin can end its own pipeline's run at most; never the daemon, never another pipeline.
package daemon
