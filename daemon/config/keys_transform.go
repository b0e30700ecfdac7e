package config

// Types of transforms.
const (
	TransformWindow = "window"
	TransformFilter = "filter"
	TransformMap    = "map"
	TransformUnnest = "unnest"
	TransformDedup  = "dedup"
	TransformPlugin = "plugin"
)

var transformTypes = []string{TransformWindow, TransformFilter, TransformMap, TransformUnnest, TransformDedup, TransformPlugin}

var transformKeys = []Key{
	{Section: SectionTransform, Name: "type", Type: TypeEnum, Values: transformTypes, Required: true, Example: `"window"`, Doc: "What the step does."},
	{Section: SectionTransform, Name: "inputs", Type: TypeStrings, Required: true, Example: `["clicks"]`,
		Doc: "Names of the sources and steps it reads. A port other than the main one is named after a dot: \"clicks.errors\", \"per_user.late\"."},

	{Section: SectionWindowed, Name: "key_by", Type: TypeStrings, Example: `["user"]`,
		Doc: "Fields whose values together are the key: each key has windows of its own. Without it all records are one key. A record without the field has the key null. Numbers are one key when their value is, as 1 and 1.0, or 1e20 and 100000000000000000000; objects and lists are compared as the text that the record has, so that {\"a\":1} and {\"a\": 1} are two keys."},
	{Section: SectionWindowed, Name: "window", Type: TypeTable, Required: true, Example: `{ type = "tumbling", size = "5s" }`, Doc: "Which windows a record falls into."},
	{Section: SectionWindowed, Name: "aggregate", Type: TypeTable, Example: `{ events = "count()" }`,
		Doc: "The columns of the result: under its name, a call of an aggregate over a field or an expression. \"plugin:NAME(x)\" calls an aggregate plugin; one with options of its own is written as a table, as in `function`. Every window needs `aggregate`, `function` or both."},
	{Section: SectionWindowed, Name: "function", Type: TypeOther, Example: `"plugin:funnel(page)"`,
		Doc: "A window function, which makes rows of all records of a window: \"plugin:NAME(x)\", or a table."},
	{Section: SectionWindowed, Name: "allowed_lateness", Type: TypeDuration, Default: "0", Example: `"1m"`,
		Doc: "How long after its end (in event time) a window still takes records, each giving a new result. Later ones are late: they go to the late port."},
	{Section: SectionWindowed, Name: "late_firing", Type: TypeString, Default: "each", Example: `"10s"`,
		Doc: "When a late record that is allowed gives a new result: `each` at once, or a duration: when the watermark passes the next multiple of it, one result for all of them."},
	{Section: SectionWindowed, Name: "trigger", Type: TypeOther, Example: `{ type = "count", count = 100 }`,
		Doc: "When a window gives results, instead of at its end: the type as a string, or a table."},
	{Section: SectionWindowed, Name: "early", Type: TypeTable, Example: `{ every = "1s" }`, Doc: "Results before the end, beside the one at the end."},
	{Section: SectionWindowed, Name: "mode", Type: TypeEnum, Values: []string{"accumulating", "discarding", "retracting"}, Default: "accumulating", Example: `"discarding"`,
		Doc: "What a window's second and later results hold: everything so far, only what came since the last one, or the last result again with `_retract` true and then everything so far."},
	{Section: SectionWindowed, Name: "meta", Type: TypeBool, Default: "false", Example: "true",
		Doc: "Adds `_watermark`, `_firing` (0, 1, … for each window) and `_timing` (early, on_time, late) to the results."},

	{Section: SectionWindow, Name: "type", Type: TypeEnum, Values: []string{"tumbling", "sliding", "session", "cumulative", "global"}, Required: true, Example: `"tumbling"`,
		Doc: "`tumbling` (one after the other), `sliding` (overlapping), `session` (until a key falls silent), `cumulative` (growing by steps), `global` (one for each key, for ever)."},
	{Section: SectionWindow, Name: "size", Type: TypeOther, Example: `"5s"`,
		Doc: "Length of tumbling and sliding windows, and the greatest length of cumulative ones. \"1d\", \"1w\" (from Monday) and \"1mo\" are days, weeks and months of the calendar in `timezone`, so a day may have 23 or 25 hours; for sliding windows only where the slide is such a length, too, and otherwise d is 24 hours and w 7 days."},
	{Section: SectionWindow, Name: "slide", Type: TypeOther, Example: `"1s"`, Doc: "Sliding windows: a new one begins every so often; by the calendar if size and slide are both in days, weeks (from Monday) or months. Longer than the size, it leaves gaps: a record in one has no window, is counted as without a window, and goes on nowhere."},
	{Section: SectionWindow, Name: "step", Type: TypeOther, Example: `"1h"`, Doc: "Cumulative windows: they grow by so much; the size is a multiple of it. Where the size is in days, weeks or months, steps are counted by the local clock."},
	{Section: SectionWindow, Name: "gap", Type: TypeDuration, Min: 1_000_000, Example: `"30m"`, Doc: "Session windows: a session ends when no record has come for so long. Two records exactly one gap apart are one session."},
	{Section: SectionWindow, Name: "gap_field", Type: TypeField, Example: `"timeout_ms"`, Doc: "Session windows: a field with the gap of each record in milliseconds; `gap` is for records without one."},
	{Section: SectionWindow, Name: "max_length", Type: TypeDuration, Min: 1_000_000, Example: `"4h"`, Doc: "Session windows: a session is cut when it would become longer. Default: no limit."},
	{Section: SectionWindow, Name: "offset", Type: TypeDuration, Default: "0", Min: -1 << 62, Example: `"-8h"`, Doc: "Moves the boundaries of tumbling, sliding and cumulative windows. It is shorter than the size (sliding: the slide) and may be negative."},
	{Section: SectionWindow, Name: "timezone", Type: TypeString, Default: "UTC", Example: `"Asia/Shanghai"`, Doc: "The zone whose days, weeks and months calendar windows follow, and whose midnight others are aligned to."},
	{Section: SectionWindow, Name: "time", Type: TypeEnum, Values: []string{"event", "processing"}, Default: "", Example: `"processing"`,
		Doc: "Whose time counts: the records' or the clock's. Default: `event`, or `processing` when no source of it has event time."},

	{Section: SectionTrigger, Name: "type", Type: TypeEnum, Required: true, Example: `"count"`,
		Values: []string{"event_time", "processing_time", "count", "continuous_event_time", "continuous_processing_time", "end_of_stream", "never"},
		Doc:    "`event_time` (at the window's end; the default), `processing_time` (at its end by the clock), `count` (at every count-th record of it), `continuous_event_time` and `continuous_processing_time` (every interval, and at the end), `end_of_stream` (once, when the input ends), `never` (the default of global windows)."},
	{Section: SectionTrigger, Name: "count", Type: TypeInt, Min: 1, Example: "100", Doc: "For `count`."},
	{Section: SectionTrigger, Name: "interval", Type: TypeDuration, Min: 1_000_000, Example: `"10s"`, Doc: "For the continuous triggers."},
	{Section: SectionTrigger, Name: "purge", Type: TypeBool, Default: "false", Example: "true", Doc: "A result empties the window. `count` with `purge` on a global window gives windows of so many records."},

	{Section: SectionEarly, Name: "every", Type: TypeDuration, Min: 1_000_000, Example: `"1s"`, Doc: "A result whenever event time has moved on by so much."},
	{Section: SectionEarly, Name: "processing_every", Type: TypeDuration, Min: 1_000_000, Example: `"1s"`, Doc: "A result whenever so much time has passed on the clock."},
	{Section: SectionEarly, Name: "count", Type: TypeInt, Min: 1, Example: "1000", Doc: "A result after every so many records of the window."},

	{Section: SectionOfWindow, Name: "plugin", Type: TypeString, Required: true, Example: `"funnel"`,
		Doc: "Name of the plugin: here of a window function, in a table under `aggregate` of an aggregate. Its own options stand beside this key."},
	{Section: SectionOfWindow, Name: "args", Type: TypeStrings, Example: `["page", "lower(country)"]`,
		Doc: "What the plugin's fields are, in their order (`tidemark plugins describe` lists them): fields of the record or expressions. Default: the fields of the record with these names."},
	{Section: SectionOfWindow, Name: "max_records", Type: TypeInt, Min: 1, Max: 1 << 24, Default: "10000", Example: "100000",
		Doc: "How many records of a window are kept for the plugin, for each key. A window with more gives no result: it goes to the errors port with the code `too_many_records`."},
	{Section: SectionOfWindow, Name: "isolation", Type: TypeEnum, Values: isolations, Default: "", Example: `"none"`, Doc: "As for a source."},

	{Section: SectionFilter, Name: "where", Type: TypeExpr, Required: true, Example: `"status >= 500"`, Doc: "Records for which it is true go on; the others are counted as filtered. For null it counts as not true."},

	{Section: SectionMap, Name: "set", Type: TypeTable, Example: `{ total = "price * quantity" }`, Doc: "Fields to add or replace, each by an expression over the record as it came in."},
	{Section: SectionMap, Name: "rename", Type: TypeTable, Example: `{ usr = "user" }`, Doc: "Old names and new ones."},
	{Section: SectionMap, Name: "drop", Type: TypeStrings, Example: `["password"]`, Doc: "Fields that go no further. Not together with `keep`."},
	{Section: SectionMap, Name: "keep", Type: TypeStrings, Example: `["user", "total"]`, Doc: "The only fields that go on."},

	{Section: SectionUnnest, Name: "field", Type: TypeField, Required: true, Example: `"items"`, Doc: "The field with the array. Each element makes a record with the other fields beside it; without elements there is none."},
	{Section: SectionUnnest, Name: "as", Type: TypeString, Example: `"item"`, Doc: "Name of the field with the element. Default: the array's own."},
	{Section: SectionUnnest, Name: "index", Type: TypeString, Example: `"line"`, Doc: "Name of a field for the element's number, from 0. Default: none."},

	{Section: SectionDedup, Name: "key_by", Type: TypeStrings, Required: true, Example: `["order_id"]`, Doc: "Records with the same values here are the same record."},
	{Section: SectionDedup, Name: "within", Type: TypeDuration, Required: true, Min: 1_000_000, Example: `"10m"`, Doc: "A record is a duplicate when the first of its key is no further away in event time, before or after it. The first is forgotten when the watermark is as far beyond its time: a duplicate that comes later still passes, and is late for windows behind."},

	{Section: SectionForeign, Name: "plugin", Type: TypeString, Required: true, Example: `"geoip"`, Doc: "Name of the transform plugin. Its own options stand beside this key."},
	{Section: SectionForeign, Name: "isolation", Type: TypeEnum, Values: isolations, Default: "process", Example: `"none"`, Doc: "As for a source."},
}
