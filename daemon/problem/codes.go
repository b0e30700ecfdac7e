package problem

// Code explains one TM code. Codes are never renumbered and never used for something else.
type Code struct {
	Code    string
	Title   string // what is wrong, in a few words
	Meaning string // when it comes, and what to do
}

// Codes lists every code, in order. The reference (docs/reference/problems.md) is written from it, and a test
// sees to it that nothing uses a code that does not stand here.
func Codes() []Code { return append([]Code(nil), codes...) }

// Explain gives the entry of a code.
func Explain(code string) (Code, bool) {
	for _, c := range codes {
		if c.Code == code {
			return c, true
		}
	}
	return Code{}, false
}

var codes = []Code{
	{"TM1001", "not TOML", "The text breaks the rules of TOML at that place. The most usual slips: a text without quotes, a missing bracket, a value that is missing. Lines that stand by themselves are left out and the rest is checked all the same."},
	{"TM1002", "not UTF-8", "TOML files are UTF-8. A byte order mark is fine, UTF-16 is not. Save the file as UTF-8."},
	{"TM1003", "given twice", "A key or a table's name stands twice in the same table. Only the first one was looked at. Keep one of them; two components need different names."},
	{"TM1004", "unknown key", "Nothing has a key of this name here. The message names the nearest known one, or the table that the key belongs to."},
	{"TM1005", "wrong type", "The value is of another TOML type than the key takes, such as true where a number is due."},
	{"TM1006", "missing key", "A key that is needed here is not there."},
	{"TM1007", "nothing defined", "The file is empty, or defines neither sources nor sinks."},
	{"TM1008", "file cannot be read", "The file is not there, is a directory, or may not be read."},
	{"TM1009", "file too large", "Configuration files have at most 8 MiB. The path probably names something else."},
	{"TM1010", "bad name", "Names stand in metrics, paths and commands: they begin with a letter and have letters, digits, _ and -, at most 63. Tables under [plugins] are named KIND-NAME."},
	{"TM1011", "name taken", "Sources, transforms and sinks of a pipeline share their names, since inputs refer to them."},
	{"TM1012", "nested too deep", "Arrays, inline tables and the parts of dotted keys stand in each other more than 64 deep. Nothing in a pipeline needs that: a closing bracket is missing, or the path names something else. Nothing behind that place was looked at."},

	{"TM2101", "not a duration", "A duration is a number and a unit, or several: \"5s\", \"1h30m\", \"1.5h\", \"2d\". Units are ns, us, ms, s, m, h, d (24 hours) and w (7 days)."},
	{"TM2102", "duration out of range", "The duration is too short, too long or negative, or event time is to be counted in something finer than milliseconds."},
	{"TM2103", "months where none can be", "Months differ in length. Only windows that follow the calendar have lengths in months: tumbling ones, cumulative ones, and sliding ones whose size and slide are both in months."},
	{"TM2107", "duration without a unit", "A bare number could be seconds or milliseconds. Write the unit: \"5s\", \"5ms\"."},
	{"TM2111", "not a size", "A size is a number and a unit: \"64MiB\", \"1.5GB\", \"512B\". KiB, MiB, GiB count by 1024, KB, MB, GB by 1000."},
	{"TM2112", "size without a unit", "Write the unit: \"64MiB\", \"100B\"."},
	{"TM2113", "size out of range", "The size is smaller than what can work, or larger than any memory."},
	{"TM2121", "not one of the choices", "The key takes one of a few words; the message lists them or names the nearest."},
	{"TM2122", "number out of range", "The message says which numbers are allowed."},
	{"TM2123", "empty", "A name, a text or a list that must hold something is empty."},
	{"TM2124", "listed twice", "The same name stands twice in one list."},
	{"TM2131", "unknown time zone", "Zones have the names of the IANA database (\"Europe/Berlin\"), \"UTC\", or are offsets (\"+05:30\"). The machine's own zone is never used, since results would depend on it."},
	{"TM2132", "not a zone offset", "Zone abbreviations are mapped to offsets such as \"+01:00\"."},
	{"TM2141", "environment variable not set", "The file refers to ${NAME}, and there is no such variable. Set it, or write ${NAME:-default}."},
	{"TM2142", "bad reference to the environment", "References are ${NAME} or ${NAME:-default}. $${ stands for a plain ${."},
	{"TM2151", "not a call of an aggregate", "Aggregates are calls: \"count()\", \"sum(price * quantity)\", \"quantile(latency, 0.99)\"."},
	{"TM2152", "unknown aggregate", "There is no aggregate function of this name."},
	{"TM2153", "wrong arguments of an aggregate", "The function takes another number of arguments, or an argument is none that it takes."},
	{"TM2161", "bad declaration of a field", "Fields are declared as \"name\" or \"name:type\"."},
	{"TM2162", "bad unit of time", "unit is s, ms, us, ns, rfc3339, auto or a layout."},
	{"TM2163", "key without a meaning", "The key exists, but means nothing together with the other choices here, so it would be ignored: a slide for a tumbling window, a template for json."},
	{"TM2164", "keys that exclude each other", "Only one of the keys can be given."},
	{"TM2165", "bad decode option", "The format cannot work with this option."},
	{"TM2171", "impossible window", "The window's lengths do not fit together."},
	{"TM2181", "bad template", "Templates are those of Go's text/template."},
	{"TM2191", "not a digest", "sha256 has 64 hexadecimal digits; `tidemark plugins verify` prints it."},
	{"TM2192", "bad address", "An address is host:port."},
	{"TM2193", "open address without a token", "The admin address can be reached from other machines, so it needs a token."},
	{"TM2201", "not a moment", "Times in test cases are RFC 3339 (\"2026-01-01T00:00:00Z\") or milliseconds since 1970, one for each row."},

	{"TM3001", "no source", "A pipeline needs at least one [sources.NAME]."},
	{"TM3002", "no sink", "A pipeline needs at least one [sinks.NAME]; otherwise all its results would be thrown away."},
	{"TM3003", "unknown input", "inputs name sources and transforms of the same file."},
	{"TM3004", "unknown port", "Sources and transforms have a main output and the port errors; windows also have the port late."},
	{"TM3005", "cycle", "Following the inputs one comes back to where one was. Records would go round for ever."},
	{"TM3006", "sink as an input", "A sink is the end; nothing can read from it."},
	{"TM3007", "nobody reads it", "A warning: the component's output is not an input of anything, so its work is thrown away."},
	{"TM3008", "names that collide", "The state finds a transform by a number that is made from its name, and two names make the same number. That is very rare; another name for one of the two mends it."},
	{"TM3010", "unknown field", "The records there have no field of this name: the declared fields, or the fields that the step before gives, are other ones."},
	{"TM3011", "two columns of one name", "A result cannot have two columns of the same name. window_start and window_end are taken, and the names of the key fields."},
	{"TM3101", "promise the sink cannot keep", "exactly_once needs a sink that is transactional or idempotent; several deliveries at a time need an idempotent one."},
	{"TM3102", "no timestamp", "The assigner needs to know where the event time is, and timestamp does not say so."},
	{"TM3103", "event time and the clock mixed", "A window reads from sources with and without event time, so it is not clear whose time counts."},
	{"TM3104", "nothing to tell the time by", "The window runs on event time, and none of its sources has any."},
	{"TM3105", "setting without an effect", "A warning: the setting does nothing here."},
	{"TM3106", "settings that contradict", "Two settings of the same component exclude each other."},
	{"TM3107", "not supported", "The combination is known and cannot be run."},
	{"TM3108", "fixed length in a zone with summer time", "A warning: the windows have the same length all year and are aligned to the zone's standard time, so in summer they begin an hour off. Windows of days, weeks or months (\"1d\") follow the clocks; sliding ones where size and slide are both such lengths."},
	{"TM3109", "never a result", "A warning: nothing ever makes the window give a result. A global window has no end; a trigger says when it is to be looked at."},
	{"TM3110", "memory without a bound", "A warning: memory is set, and does not hold for some steps. Windows of a fixed size with another trigger than their end, early results or retractions, and all windows over the clock, stay in memory however many there are."},
	{"TM3201", "case that does not fit its pipeline", "A test case names a component, a partition or a row that the pipeline cannot have, or does something that its sources cannot do."},

	{"TM4001", "plugin not found", "There is no plugin of this kind and name. `tidemark plugins ls` lists those that were found and where."},
	{"TM4002", "plugin of another kind", "There is a plugin of this name, but it is a source where a sink is due, or the like."},
	{"TM4003", "unknown option", "The plugin has no option of this name, and the component no key. `tidemark plugins describe` lists its options."},
	{"TM4004", "missing option", "The plugin needs this option."},
	{"TM4005", "wrong type of an option", "The plugin's option takes another type."},
	{"TM4006", "bad value of an option", "The plugin's option does not take this value."},
	{"TM4007", "no isolation possible", "isolation = \"none\" is for shipped plugins; an executable is always a process of its own."},
	{"TM4008", "plugin does not answer", "The plugin was found, but could not be asked what it is."},

	{"TM4101", "not executable", "The plugin's file was found, and the system does not run it: no permission, or another machine's architecture."},
	{"TM4102", "wrong digest", "The file's sha256 is another one than the pinned one. The message has both, and where the pin stands. `tidemark plugins verify` prints the digest to pin."},
	{"TM4103", "not a plugin", "The executable was started and did not introduce itself as a plugin. The message has what it printed."},
	{"TM4104", "wrong protocol version", "The plugin and the daemon have no version of the protocol in common. The message says which side to upgrade to what."},
	{"TM4105", "start took too long", "The process was not ready within start_timeout."},
	{"TM4106", "start failed", "The process ended, or said why it cannot work, before it was ready."},
	{"TM4107", "plugin died", "The process ended while it was at work. The pipeline restarts from its last commit."},
	{"TM4108", "plugin hung", "The process left a call or a health check unanswered for longer than call_timeout, and was ended."},
	{"TM4109", "protocol broken", "The plugin answered something that no plugin may: fewer timestamps than rows, a message that cannot be read."},

	{"TM5001", "not an expression", "The text breaks the rules of the expression language at that place. Equality is written ==, text stands in quotes."},
	{"TM5002", "unknown field in an expression", "The records there have no field of this name: the declared fields, or the fields that the step before gives, are other ones."},
	{"TM5003", "unknown function", "The expression language has no function of this name."},
	{"TM5004", "value of the wrong type", "An operator or a function gets a type that it cannot work with, such as a text to multiply."},
	{"TM5005", "wrong number of arguments", "The function takes more or fewer arguments."},
	{"TM5006", "not part of the language", "The expression language knows this elsewhere, but not here."},
	{"TM5007", "impossible constant", "A constant part of the expression can never be right: a pattern that does not compile, a division by zero."},
	{"TM5008", "result of the wrong type", "The expression gives something else than is needed, such as a number where a condition is due."},

	{"TM6001", "state in use", "Another process has the state directory open. Two daemons never share one."},
	{"TM6002", "state cannot be written", "The directory may not be written, or something else stands in its way."},
	{"TM6003", "state damaged", "A file is not what was written. The message names it; restore a savepoint, or start afresh in another directory. Tidemark never starts from empty by itself. Where the end of the database's log is damaged, the message says how many commits are lost, and how to go on without them."},
	{"TM6004", "state of a newer version", "A newer Tidemark wrote the directory, in a format that this one does not know."},
	{"TM6005", "state of another pipeline", "The state belongs to another pipeline, or this one was changed in a way that the state cannot serve. `tidemark check --against STATE` shows what."},
	{"TM6006", "disk full", "There is no room for the next commit. The pipeline takes no more input, keeps what is committed, and goes on when there is room."},
	{"TM6007", "not a state directory", "The directory holds something else."},
	{"TM6008", "state missing", "There is nothing there, or a part of it is gone."},
	{"TM6009", "disk error", "The disk failed in the middle of work. What was committed before stands."},
	{"TM6010", "bad savepoint", "The savepoint is incomplete, or was changed."},
	{"TM6011", "bad journal", "A segment of the journal is not what was written."},
}
