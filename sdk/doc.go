// Package sdk is what plugin authors import: interfaces in the field's own words, and everything around them. It imports nothing else of
// Tidemark but what moves (package batch) and how it travels (package wire).
//
// A plugin is a value that one of the New… functions makes of a config struct and a factory; an executable serves one or several:
//
//	type Event struct {
//		User string `tidemark:"user"`
//		TS   int64  `tidemark:"ts"`
//	}
//
//	type Config struct {
//		Delay time.Duration `name:"delay" default:"3500ms" help:"how far the watermark stays behind the highest timestamp"`
//	}
//
//	type assigner struct {
//		delay, highest int64
//	}
//
//	func (a *assigner) ExtractTimestamp(e Event, _ int64) int64 {
//		a.highest = max(a.highest, e.TS)
//		return e.TS
//	}
//
//	func (a *assigner) CurrentWatermark() sdk.Watermark { return sdk.Watermark(a.highest - a.delay) }
//
//	var Plugin = sdk.NewPeriodicAssigner("late_clicks", "watermarks for clicks",
//		func(c Config) (sdk.PeriodicAssigner[Event], error) {
//			return &assigner{delay: c.Delay.Milliseconds(), highest: math.MinInt64 / 2}, nil
//		})
//
//	func main() { sdk.Serve(Plugin) }
//
// # Events
//
// The author's code sees one event at a time; the sdk deals in batches. An event type is a struct whose tags name fields of the record:
// `tidemark:"ts"`; `tidemark:"ts,required"` refuses records without it; `tidemark:",raw"` on a string or []byte gives the record's own
// bytes. A field that is missing or null is the zero value, or nil for a pointer; a value of another type refuses the record, with a
// message that names both. Or the type is [Record], with all fields by name. Strings may be kept; []byte and pointers are reused.
//
// # Options
//
// The config struct describes the options once: tags name, default, help, required, enum ("a,b"), result (of an [Expr] or a [Field]). From
// that come checking, documentation, and messages at the option's line in the pipeline file. Types: string, int, float64, bool,
// time.Duration, [Size], []string, map[string]string, [Field], [Expr], and structs for tables. Expressions are evaluated by the daemon: the
// event struct has a field with the option's name. A Validate method adds rules; an embedded [Env] brings a logger and metrics.
//
// # What may run at the same time
//
// An assigner is one value for each partition, and a transform and a sink one for each component: their methods are called one at a time.
// A source's Run may start goroutines, each with partitions of its own.
package sdk
