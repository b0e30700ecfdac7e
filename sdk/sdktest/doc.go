// Package sdktest tests plugins without a daemon.
//
// The harness drives a plugin by hand: [NewAssigner] record by record, with what is expected beside each; [RunSource] to its end, with what
// it said as lines of text.
//
//	a := sdktest.NewAssigner(t, Plugin, sdktest.Options{"delay": "3500ms"})
//	a.Record(Event{TS: 10_000}).Timestamp(10_000).Watermark(6_500)
//	a.Record(Event{TS: 9_000}).Timestamp(9_000).Watermark(6_500)
//
// The conformance kit is one line, for any kind of plugin:
//
//	func TestConformance(t *testing.T) { sdktest.Conforms(t, Plugin, sdktest.Settings{Options: sdktest.Options{"delay": "1s"}}) }
//
// It tries what the daemon will do to the plugin sooner or later: other batches, disorder, duplicates, missing and odd values, silence, a snapshot
// and a restart at every place, an end at any moment, wrong options, metrics without end; inside the process and over the wire. [Check] does the
// same for an executable in any language and returns what it found as data. docs/plugins/author.md lists the checks.
package sdktest
