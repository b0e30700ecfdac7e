package config

var isolations = []string{"process", "none"}

var sourceKeys = []Key{
	{Section: SectionSource, Name: "plugin", Type: TypeString, Required: true, Example: `"file"`,
		Doc: "Name of the source plugin. Its own options stand beside this key; `tidemark plugins describe source NAME` lists them."},
	{Section: SectionSource, Name: "isolation", Type: TypeEnum, Values: isolations, Default: "process", Example: `"none"`,
		Doc: "`process` runs the plugin as a process of its own. `none` runs a shipped plugin inside the daemon: a little faster, and a crash of it is one of the daemon."},
	{Section: SectionSource, Name: "decode", Type: TypeTable, Example: `{ format = "json" }`,
		Doc: "How the bytes of a record become fields. Not for sources whose records have fields already. Default: each record is one JSON object."},
	{Section: SectionSource, Name: "time", Type: TypeTable, Doc: "Where a record's event time is, and how watermarks come about. Without it the source can feed filters, maps and sinks, but no windows over event time."},
	{Section: SectionSource, Name: "journal", Type: TypeTable, Example: `{ sync = "commit" }`,
		Doc: "The log that keeps records of a source that cannot be asked for them again (socket, HTTP, stdin) until they are committed. Sources that can be rewound need none."},

	{Section: SectionDecode, Name: "format", Type: TypeEnum, Values: []string{"json", "csv", "delimited", "regex", "logfmt", "clf", "syslog", "raw"}, Default: "json", Example: `"csv"`,
		Doc: "What a record looks like: `json` (an object a line), `csv`, `delimited` (columns split at a text), `regex` (named groups), `logfmt`, `clf` (web server access logs: remote, ident, user, time, request, method, path, protocol, status, bytes, referer, agent, and extra for what follows; a dash is null), `syslog` (priority, facility, severity, version, time, host, app, procid, msgid, data, message), `raw` (the whole record is one field, message)."},
	{Section: SectionDecode, Name: "fields", Type: TypeStrings, Example: `["user:string", "ts:int"]`,
		Doc: "The fields and their types, as \"name:type\" or \"name\". Types are string, int, uint, float, number, bool, timestamp, json and dynamic. For `delimited`, and for `csv` without a header row, their order is that of the columns; elsewhere they only declare types. A text that reads as a value of the type is taken as one, in json too (\"5\" for an int); any other value of another type refuses its record. A float may be NaN or an infinity by name. A timestamp is RFC 3339 or has its unit or layout behind it: \"at:timestamp:ms\", \"at:timestamp:%d.%m.%Y %H:%M\"."},
	{Section: SectionDecode, Name: "delimiter", Type: TypeString, Example: `";"`, Doc: "What stands between columns: one character for `csv` (default \",\"), any text for `delimited` (default one space)."},
	{Section: SectionDecode, Name: "collapse", Type: TypeBool, Default: "false", Example: "true", Doc: "`delimited`: several delimiters in a row count once, and at the ends not at all."},
	{Section: SectionDecode, Name: "header", Type: TypeBool, Default: "", Example: "true",
		Doc: "`csv`: the first row names the columns. Default: true without `fields`, else false. A header that comes again is recognised."},
	{Section: SectionDecode, Name: "quote", Type: TypeString, Example: `"'"`, Doc: "`csv`: the quote character; \"none\" for no quoting. Default: the double quote."},
	{Section: SectionDecode, Name: "lazy_quotes", Type: TypeBool, Default: "false", Example: "true", Doc: "`csv`: a quote inside an unquoted value is a character like others; otherwise its row is refused."},
	{Section: SectionDecode, Name: "extra", Type: TypeEnum, Values: []string{"ignore", "reject"}, Default: "ignore", Example: `"reject"`, Doc: "`csv`, `delimited`: what happens to a row with more columns than there are names."},
	{Section: SectionDecode, Name: "short", Type: TypeEnum, Values: []string{"missing", "reject"}, Default: "missing", Example: `"reject"`, Doc: "`csv`, `delimited`: what happens to a row with fewer columns: its last fields are missing, or it is refused."},
	{Section: SectionDecode, Name: "pattern", Type: TypeString, Example: `'(?P<user>\S+) (?P<ts>\d+)'`, Doc: "`regex`: an RE2 expression; its named groups are the fields."},
	{Section: SectionDecode, Name: "partial", Type: TypeBool, Default: "false", Example: "true", Doc: "`regex`: the expression may match a part of the record instead of the whole."},
	{Section: SectionDecode, Name: "infer", Type: TypeBool, Default: "false", Example: "true", Doc: "Text formats: a text that looks like a number, a boolean or nothing becomes one. Otherwise fields without a declared type are strings."},
	{Section: SectionDecode, Name: "invalid_utf8", Type: TypeEnum, Values: []string{"reject", "replace"}, Default: "reject", Example: `"replace"`,
		Doc: "What happens to a record that is not UTF-8: it is refused, or the wrong bytes become U+FFFD."},
	{Section: SectionDecode, Name: "max_record", Type: TypeSize, Default: "1MiB", Min: 1, Example: `"16MiB"`,
		Doc: "A longer record is refused: its beginning and its length go to the errors port, and the next record is read as usual."},
	{Section: SectionDecode, Name: "framing", Type: TypeEnum, Values: []string{"lines", "csv", "none"}, Default: "", Example: `"lines"`,
		Doc: "Where a record ends: at a line end, at a line end outside quotes, or wherever the source says. Default: `csv` for csv, else `lines`."},
	{Section: SectionDecode, Name: "timezone", Type: TypeString, Example: `"Europe/Berlin"`, Doc: "Zone of times in the record that name none: syslog, fields of type timestamp. Default: UTC for syslog and layouts; RFC 3339 without an offset is refused."},
	{Section: SectionDecode, Name: "zones", Type: TypeTable, Example: `{ CET = "+01:00" }`, Doc: "Zone abbreviations and their offsets. An abbreviation that does not stand here refuses the record, since most have several meanings."},
	{Section: SectionDecode, Name: "year", Type: TypeInt, Default: "0", Max: 9999, Example: "2024", Doc: "Year of times without one. 0 takes the year that brings the time nearest to the present."},

	{Section: SectionJournal, Name: "sync", Type: TypeEnum, Values: []string{"commit", "always", "none"}, Default: "commit", Example: `"always"`,
		Doc: "When the log is forced to disk: with each checkpoint, before a record counts as received, or never (then a power failure can lose the last records, a crash of the daemon cannot)."},
	{Section: SectionJournal, Name: "segment", Type: TypeSize, Default: "64MiB", Min: 1 << 16, Example: `"256MiB"`, Doc: "Size of one file of the log. A file is deleted when all in it has been committed."},
	{Section: SectionJournal, Name: "max_size", Type: TypeSize, Default: "4GiB", Min: 1 << 20, Example: `"20GiB"`, Doc: "When the log is that large the source is held back."},
}

// Names of the assigners that are part of the program instead of a plugin.
const (
	AssignerSource     = "source"
	AssignerIngestion  = "ingestion"
	AssignerProcessing = "processing"
)

var timeKeys = []Key{
	{Section: SectionTime, Name: "assigner", Type: TypeString, Default: "periodic", Example: `"punctuated"`,
		Doc: "Who gives timestamps and watermarks: `periodic` (highest timestamp so far minus a bound), `punctuated` (a watermark decided at each record), `marker` (records that carry time instead of data), `source` (the source plugin brings both), `ingestion` (the time of arrival), `processing` (no event time: windows run on the clock), or a plugin's name. The assigner's own options stand beside this key."},
	{Section: SectionTime, Name: "timestamp", Type: TypeExpr, Example: `"ts"`, Doc: "The field with the event time, or an expression that gives it. A record where it is missing, null or no time goes to the errors port."},
	{Section: SectionTime, Name: "unit", Type: TypeString, Default: "auto", Example: `"ms"`,
		Doc: "What `timestamp` gives: `s`, `ms`, `us`, `ns` since 1970, `rfc3339`, a layout in strftime's signs (\"%d/%b/%Y:%H:%M:%S %z\") or Go's (\"2006-01-02 15:04:05\"), or `auto`, which decides for each value by its size or form and says what it found."},
	{Section: SectionTime, Name: "timezone", Type: TypeString, Example: `"Asia/Shanghai"`, Doc: "Zone of timestamps that name none. Default: UTC for layouts; `rfc3339` without an offset is refused."},
	{Section: SectionTime, Name: "zones", Type: TypeTable, Example: `{ CET = "+01:00" }`, Doc: "Zone abbreviations in timestamps and their offsets; others refuse the record."},
	{Section: SectionTime, Name: "year", Type: TypeInt, Default: "0", Max: 9999, Example: "2024", Doc: "Year of timestamps without one. 0 takes the year that brings the time nearest to the present."},
	{Section: SectionTime, Name: "interval", Type: TypeDuration, Default: "0", Example: `"200ms"`,
		Doc: "How often a periodic assigner is asked for its watermark. 0 asks after every record, so that a replay gives the same results at any speed; with a timer, results depend on how fast records come."},
	{Section: SectionTime, Name: "idle_after", Type: TypeDuration, Default: "0", Example: `"1m"`,
		Doc: "A partition that has been silent for so long no longer holds the others' watermark back. Time in which the partition was held back by the pipeline does not count. 0 means never."},
	{Section: SectionTime, Name: "on_all_idle", Type: TypeEnum, Values: []string{"advance", "hold"}, Default: "advance", Example: `"hold"`,
		Doc: "When every partition is idle: the watermark goes to the highest of theirs, or stays where it was."},
	{Section: SectionTime, Name: "max_ahead", Type: TypeDuration, Default: "0", Example: `"24h"`,
		Doc: "A record whose timestamp is further ahead of the clock goes to the errors port and never moves the watermark. 0 allows any."},
	{Section: SectionTime, Name: "confirm_jump", Type: TypeOther, Example: `"1h"`,
		Doc: "Guards a replay against single records from the future: a record that jumps further ahead than this is held apart until others confirm it, and goes to the errors port if none does. A duration, or a table with span, records, partitions and hold."},
	{Section: SectionTime, Name: "max_drift", Type: TypeDuration, Default: "0", Example: `"10m"`,
		Doc: "A source whose watermark is further ahead of the slowest one of its group is not read until that has caught up, so that state stays small. The same holds for the partitions of a source whose plugin can leave single ones alone (`file`, `socket`, `generate`, and plugins that say `holds_partitions`). Set `idle_after` beside it, or one that falls silent holds the others for ever. 0 means no limit."},
	{Section: SectionTime, Name: "drift_group", Type: TypeString, Example: `"shop"`, Doc: "Sources with the same group are kept together by max_drift. Default: each source by itself."},
	{Section: SectionTime, Name: "isolation", Type: TypeEnum, Values: isolations, Default: "process", Example: `"none"`, Doc: "As for the source, for the assigner plugin. Default: `process`."},

	{Section: SectionConfirm, Name: "span", Type: TypeDuration, Required: true, Min: 1_000_000, Example: `"1h"`, Doc: "A jump that is longer has to be confirmed."},
	{Section: SectionConfirm, Name: "records", Type: TypeInt, Default: "3", Min: 2, Max: 1000, Example: "5", Doc: "So many records in a row, to times within one span of each other, confirm it, the first one included; so do as many watermarks of a marker or a source."},
	{Section: SectionConfirm, Name: "partitions", Type: TypeInt, Default: "2", Min: 2, Max: 1000, Example: "2", Doc: "So many partitions with a newest record within one span of the new time confirm it as well."},
	{Section: SectionConfirm, Name: "hold", Type: TypeInt, Default: "10000", Min: 1, Max: 10_000_000, Example: "1000",
		Doc: "A record that so many records of its partition have come after without confirming it goes to the errors port."},
}
