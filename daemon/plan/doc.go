// Package plan turns a configuration, together with what plugins say about themselves, into the graph that runs.
//
// A [Plan] is plain data that prints, compares and is read-only: which plugins are started with which options, which fields each source
// decodes, where time comes from, what each window does, who reads which port, and which watermarks can matter at all. The pipeline
// builds itself from it and asks no further questions; `tidemark check` stops after it, `tidemark explain` prints it.
//
// [Build] goes with the flow, from the sources to the sinks, and knows at every port what the rows look like ([Shape]); so it can tell a
// field that is not there, at the place where it is named. Then it goes back against the flow and adds up what each reader needs, which is
// the projection of the sources. It reports every mistake it finds to a [problem.List], and goes on as well as it can: a component
// whose input is not known is checked as if any field could be there.
//
// Plugins are known through a [Catalog], so that the package starts no process. Expressions are compiled by package transform, against the
// shape of the records at that place.
//
// [Plan.Footprint] is what the state of a pipeline depends on. What an edit means for it is told by package checkpoint.
package plan
