package config

var sinkKeys = []Key{
	{Section: SectionSink, Name: "plugin", Type: TypeString, Required: true, Example: `"stdout"`, Doc: "Name of the sink plugin. Its own options stand beside this key."},
	{Section: SectionSink, Name: "inputs", Type: TypeStrings, Required: true, Example: `["per_user"]`, Doc: "Names of the components it takes from, and their ports: \"per_user.late\"."},
	{Section: SectionSink, Name: "isolation", Type: TypeEnum, Values: isolations, Default: "", Example: `"process"`, Doc: "As for a source. Default: `none` for shipped sinks, `process` for others."},
	{Section: SectionSink, Name: "delivery", Type: TypeEnum, Values: []string{"exactly_once", "at_least_once"}, Default: "", Example: `"exactly_once"`,
		Doc: "`exactly_once` delivers after the commit that holds the results, and needs a sink that is transactional or idempotent. `at_least_once` delivers at once; after a crash results may come again. Default: exactly_once where the sink can, else at_least_once."},
	{Section: SectionSink, Name: "format", Type: TypeEnum, Values: []string{"json", "text", "csv", "raw"}, Default: "json", Example: `"text"`,
		Doc: "How a row is written: `json` (an object a line), `text` (through `template`), `csv`, `raw` (the record as it came in). Not for sinks that take columns, such as a database."},
	{Section: SectionSink, Name: "template", Type: TypeString, Example: `"{{.user}}: {{.events}}"`, Doc: "`text`: a Go template over the row's fields. Each row is one line."},
	{Section: SectionSink, Name: "time_format", Type: TypeEnum, Values: []string{"rfc3339", "epoch_ms"}, Default: "rfc3339", Example: `"epoch_ms"`,
		Doc: "How times such as window_start are written: RFC 3339 in UTC, or as milliseconds since 1970."},
	{Section: SectionSink, Name: "columns", Type: TypeStrings, Example: `["user", "events"]`, Doc: "The fields to write, in this order. Default: all of them, in the order of the step they come from."},
	{Section: SectionSink, Name: "delimiter", Type: TypeString, Example: `";"`, Doc: "`csv`: what stands between columns, one byte. Default: a comma."},
	{Section: SectionSink, Name: "batch", Type: TypeTable, Example: `{ rows = 500 }`, Doc: "How many rows a delivery has."},
	{Section: SectionSink, Name: "retry", Type: TypeTable, Example: `{ max_attempts = 10 }`, Doc: "What happens when a delivery fails."},
	{Section: SectionSink, Name: "max_in_flight", Type: TypeInt, Default: "1", Min: 1, Max: 64, Example: "4", Doc: "Deliveries on their way at the same time. More than 1 gives up the order of rows, and is for idempotent sinks only."},

	{Section: SectionSinkBatch, Name: "rows", Type: TypeInt, Default: "4096", Min: 1, Max: 1_000_000, Example: "500", Doc: "The most rows in one delivery."},
	{Section: SectionSinkBatch, Name: "bytes", Type: TypeSize, Default: "1MiB", Min: 1, Example: `"4MiB"`, Doc: "The most bytes in one delivery; a longer row is one of its own."},
	{Section: SectionSinkBatch, Name: "linger", Type: TypeDuration, Default: "0", Example: `"1s"`, Doc: "How long a delivery that is not full waits for more rows."},

	{Section: SectionSinkRetry, Name: "backoff", Type: TypeDuration, Default: "100ms", Min: 1_000_000, Example: `"1s"`, Doc: "Pause after the first failure; it doubles with each that follows, with some chance added."},
	{Section: SectionSinkRetry, Name: "max_backoff", Type: TypeDuration, Default: "30s", Min: 1_000_000, Example: `"5m"`, Doc: "The longest pause."},
	{Section: SectionSinkRetry, Name: "max_attempts", Type: TypeInt, Default: "0", Example: "10", Doc: "After so many failures of one delivery the pipeline restarts. 0 tries for ever; the results wait on disk meanwhile."},
	{Section: SectionSinkRetry, Name: "timeout", Type: TypeDuration, Default: "1m", Min: 1_000_000, Example: `"10s"`, Doc: "A delivery that takes longer has failed."},
}
