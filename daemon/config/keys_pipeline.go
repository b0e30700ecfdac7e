package config

// Sections of a pipeline's file.
const (
	SectionRoot        Section = "the file"
	SectionPipeline    Section = "[pipeline]"
	SectionSource      Section = "[sources.NAME]"
	SectionDecode      Section = "[sources.NAME.decode]"
	SectionJournal     Section = "[sources.NAME.journal]"
	SectionTime        Section = "[sources.NAME.time]"
	SectionConfirm     Section = "[sources.NAME.time.confirm_jump]"
	SectionTransform   Section = "[transforms.NAME]"
	SectionWindowed    Section = `[transforms.NAME] of type "window"`
	SectionWindow      Section = "[transforms.NAME.window]"
	SectionTrigger     Section = "[transforms.NAME.trigger]"
	SectionEarly       Section = "[transforms.NAME.early]"
	SectionOfWindow    Section = "[transforms.NAME.function]"
	SectionFilter      Section = `[transforms.NAME] of type "filter"`
	SectionMap         Section = `[transforms.NAME] of type "map"`
	SectionUnnest      Section = `[transforms.NAME] of type "unnest"`
	SectionDedup       Section = `[transforms.NAME] of type "dedup"`
	SectionForeign     Section = `[transforms.NAME] of type "plugin"`
	SectionSink        Section = "[sinks.NAME]"
	SectionSinkBatch   Section = "[sinks.NAME.batch]"
	SectionSinkRetry   Section = "[sinks.NAME.retry]"
	SectionCheckpoint  Section = "[checkpoint]"
	SectionState       Section = "[state]"
	SectionDeadLetters Section = "[dead_letters]"
	SectionRestart     Section = "[restart]"
	SectionPlugin      Section = "[plugins.KIND-NAME]"
	SectionLimits      Section = "[plugins.KIND-NAME.limits]"
)

const second, minute = 1_000_000_000, 60_000_000_000

var pipelineKeys = []Key{
	{Section: SectionRoot, Name: "pipeline", Type: TypeTable, Doc: "Settings of the pipeline as a whole."},
	{Section: SectionRoot, Name: "sources", Type: TypeTable, Doc: "Where records come from: a table for each source, under its name."},
	{Section: SectionRoot, Name: "transforms", Type: TypeTable, Doc: "What happens to records: a table for each step, under its name."},
	{Section: SectionRoot, Name: "sinks", Type: TypeTable, Doc: "Where results go: a table for each sink, under its name."},
	{Section: SectionRoot, Name: "checkpoint", Type: TypeTable, Doc: "When the pipeline makes its state durable."},
	{Section: SectionRoot, Name: "state", Type: TypeTable, Doc: "How much the state may take."},
	{Section: SectionRoot, Name: "dead_letters", Type: TypeTable, Doc: "The store of refused and late records that no sink reads."},
	{Section: SectionRoot, Name: "restart", Type: TypeTable, Doc: "What happens after a failure."},
	{Section: SectionRoot, Name: "plugins", Type: TypeTable, Doc: "How plugin processes are run: a table for each plugin, under its kind and name, as in [plugins.assigner-mine]."},

	{Section: SectionPipeline, Name: "name", Type: TypeString, Example: `"clicks"`,
		Doc: "Name of the pipeline in logs, metrics and commands. Default: the file's name without .toml."},
	{Section: SectionPipeline, Name: "description", Type: TypeString, Example: `"clicks per user"`, Doc: "A line for people, shown by status and on the web page."},
	{Section: SectionPipeline, Name: "shards", Type: TypeInt, Default: "0", Max: 128, Example: "4",
		Doc: "Number of goroutines that share the keys of each window. 0 takes one for each CPU. Results do not depend on it, and it may change between runs."},
	{Section: SectionPipeline, Name: "decode_workers", Type: TypeInt, Default: "0", Max: 256, Example: "2",
		Doc: "Number of goroutines that decode a source's batches side by side. 0 takes one for each CPU. The order of records stays as it is."},
	{Section: SectionPipeline, Name: "batch_rows", Type: TypeInt, Default: "4096", Min: 1, Max: 65536, Example: "1024",
		Doc: "The most records in one batch. Results do not depend on it; smaller batches cost more for each record."},
	{Section: SectionPipeline, Name: "batch_bytes", Type: TypeSize, Default: "256KiB", Min: 1 << 10, Example: `"128KiB"`,
		Doc: "A batch is sent on when it has this many bytes. One longer record is a batch of its own."},
	{Section: SectionPipeline, Name: "linger", Type: TypeDuration, Default: "1ms", Example: `"5ms"`,
		Doc: "How long a batch that is not full waits for more records. It adds to the latency of a slow stream and saves work on a busy one."},
}

var operationKeys = []Key{
	{Section: SectionCheckpoint, Name: "interval", Type: TypeDuration, Default: "1s", Min: 1_000_000, Example: `"5s"`,
		Doc: "How often positions, watermarks, windows and results are committed together. After a crash at most this much is read again from the sources; results are the same whatever it is."},
	{Section: SectionCheckpoint, Name: "min_interval", Type: TypeDuration, Default: "10ms", Example: `"50ms"`,
		Doc: "A commit comes sooner than interval when exactly-once results are waiting for it, but never closer than this to the last one."},
	{Section: SectionCheckpoint, Name: "timeout", Type: TypeDuration, Default: "10m", Min: second, Example: `"1m"`,
		Doc: "A checkpoint that has not been committed by then fails, and the pipeline restarts from the last one."},

	{Section: SectionState, Name: "memory", Type: TypeSize, Default: "512MiB", Min: 64 << 10, Example: `"1GiB"`,
		Doc: "How much memory open windows may take, over all steps and shards, before some are left to the disk. What is on disk may be far larger, and results are the same. Tumbling, sliding and cumulative windows that fire at their end can be on disk, and so can sessions, global windows and what `dedup` remembers; fixed windows with another trigger or early results, and those over the clock, stay in memory. The process needs about twice as much in all."},
	{Section: SectionState, Name: "cache", Type: TypeSize, Default: "32MiB", Min: 1 << 20, Example: `"128MiB"`,
		Doc: "Memory for blocks of the store that are read back. In a daemon all pipelines share one cache of the daemon's size, and this is not used."},
	{Section: SectionState, Name: "outbox", Type: TypeSize, Default: "1GiB", Min: 1 << 20, Example: `"10GiB"`,
		Doc: "How much may wait on disk for sinks that do not keep up. When it is full the pipeline stops taking input; nothing is dropped."},

	{Section: SectionDeadLetters, Name: "max_size", Type: TypeSize, Default: "1GiB", Min: 1 << 16, Example: `"10GiB"`,
		Doc: "Size of the store on disk. When it is full the oldest go first, and are counted."},
	{Section: SectionDeadLetters, Name: "max_age", Type: TypeDuration, Default: "0", Example: `"30d"`, Doc: "Older ones are dropped and counted. 0 keeps them until the space is needed."},

	{Section: SectionRestart, Name: "backoff", Type: TypeDuration, Default: "1s", Min: 1_000_000, Example: `"500ms"`,
		Doc: "Pause before the first restart after a failure. It doubles with each failure that follows, with some chance added."},
	{Section: SectionRestart, Name: "max_backoff", Type: TypeDuration, Default: "1m", Min: 1_000_000, Example: `"5m"`, Doc: "The longest pause."},
	{Section: SectionRestart, Name: "max_attempts", Type: TypeInt, Default: "0", Example: "10",
		Doc: "After so many failures in a row the pipeline stays failed. 0 tries for ever. `tidemark run` ends at the first failure that it cannot mend."},
	{Section: SectionRestart, Name: "max_crashes", Type: TypeInt, Default: "20", Example: "5",
		Doc: "After so many failures in a row that a plugin is to blame for (its process ends, hangs, cannot be started or answers nonsense) the pipeline stays failed, instead of starting it again and again: with the default pauses after a quarter of an hour. 0 tries for ever. A record that is found to end the plugin, and is refused, starts the count anew when the plugin has answered another one since."},
	{Section: SectionRestart, Name: "reset_after", Type: TypeDuration, Default: "1m", Min: second, Example: `"10m"`,
		Doc: "A pipeline that ran for so long has recovered: the next failure starts with the first pause again."},

	{Section: SectionPlugin, Name: "sha256", Type: TypeStrings, Example: `"3c0a…"`,
		Doc: "The executable's digest in hex, or a list of those that are allowed. It is checked at each start; another file is not run. `tidemark plugins verify` prints it."},
	{Section: SectionPlugin, Name: "path", Type: TypeString, Example: `"/opt/tidemark/tidemark-assigner-mine"`, Doc: "The executable, instead of searching the plugin directories."},
	{Section: SectionPlugin, Name: "args", Type: TypeStrings, Example: `["--verbose"]`, Doc: "Arguments for the executable."},
	{Section: SectionPlugin, Name: "env", Type: TypeTable, Example: `{ TOKEN = "${TOKEN}" }`,
		Doc: "Environment variables for the process, which otherwise gets none of the daemon's beside PATH, TZ, LANG, LC_ALL, TMPDIR, SSL_CERT_FILE and SSL_CERT_DIR."},
	{Section: SectionPlugin, Name: "mtls", Type: TypeBool, Default: "false", Example: "true",
		Doc: "Encrypts the connection to the process. The socket stands in a directory that only the daemon's user can enter, so this matters for few; it costs two to three times as much for each byte."},
	{Section: SectionPlugin, Name: "start_timeout", Type: TypeDuration, Default: "10s", Min: 1_000_000, Example: `"1m"`, Doc: "How long the process may take to be ready."},
	{Section: SectionPlugin, Name: "call_timeout", Type: TypeDuration, Default: "30s", Min: 1_000_000, Example: `"5m"`,
		Doc: "How long the process may leave a question unanswered before it counts as hung and is ended. It does not bound how long a source may be silent."},
	{Section: SectionPlugin, Name: "user", Type: TypeString, Example: `"nobody"`, Doc: "The user to run the process as; the daemon needs the right to do that."},
	{Section: SectionPlugin, Name: "limits", Type: TypeTable, Example: `{ memory = "512MiB" }`, Doc: "Limits that the operating system keeps for the process."},
	{Section: SectionLimits, Name: "memory", Type: TypeSize, Default: "0", Example: `"512MiB"`, Doc: "Memory of its own: what it allocates, on its heap and otherwise (RLIMIT_DATA); a Go plugin collects garbage earlier when it comes near. 0 means no limit."},
	{Section: SectionLimits, Name: "files", Type: TypeInt, Default: "0", Example: "256", Doc: "Open files. 0 means no limit of its own."},
	{Section: SectionLimits, Name: "processes", Type: TypeInt, Default: "0", Example: "64", Doc: "Processes and threads of its user. 0 means no limit of its own."},
}
