package config

// Sections of the daemon's own file.
const (
	SectionDaemon Section = "the daemon's file"
	SectionAdmin  Section = "[admin]"
	SectionLog    Section = "[log]"
)

var daemonKeys = append([]Key{
	{Section: SectionDaemon, Name: "pipelines", Type: TypeString, Default: "pipelines", Example: `"/etc/tidemark/pipelines"`, Doc: "Directory of the pipelines' files: each *.toml in it is one. A relative path begins at this file."},
	{Section: SectionDaemon, Name: "state", Type: TypeString, Default: "state", Example: `"/var/lib/tidemark"`, Doc: "Directory for state; each pipeline has one of its own in it. A relative path begins at this file."},
	{Section: SectionDaemon, Name: "plugin_dirs", Type: TypeStrings, Example: `["/usr/lib/tidemark/plugins"]`, Doc: "Directories that are searched for executables named tidemark-KIND-NAME, the first one first. Relative paths begin at this file."},
	{Section: SectionDaemon, Name: "memory", Type: TypeSize, Default: "0", Example: `"4GiB"`, Doc: "How much memory the daemon should stay under; it sets Go's soft limit. 0 leaves that to GOMEMLIMIT."},
	{Section: SectionDaemon, Name: "cache", Type: TypeSize, Default: "128MiB", Min: 1 << 20, Example: `"512MiB"`, Doc: "Memory for blocks of the stores that are read back, shared by all pipelines."},
	{Section: SectionDaemon, Name: "watch", Type: TypeBool, Default: "true", Example: "false", Doc: "Takes over new, changed and removed pipeline files while running. A changed file with a mistake is reported, and the running pipeline goes on."},
	{Section: SectionDaemon, Name: "stop_timeout", Type: TypeDuration, Default: "30s", Min: 1_000_000, Example: `"2m"`, Doc: "How long stopping may take before plugins are ended by force. What was not committed is read again at the next start."},
	{Section: SectionDaemon, Name: "admin", Type: TypeTable, Doc: "Where the daemon can be asked over HTTP: health, metrics, status, state."},
	{Section: SectionDaemon, Name: "log", Type: TypeTable, Doc: "What is logged, and how."},
	{Section: SectionDaemon, Name: "plugins", Type: TypeTable, Doc: "How plugin processes are run, for all pipelines; the same keys as in a pipeline's file, which goes first."},

	{Section: SectionAdmin, Name: "socket", Type: TypeString, Default: "admin.sock", Example: `"/run/tidemark/admin.sock"`, Doc: "Unix socket to serve on, for the daemon's user alone; the verbs that ask a running daemon find it there. A relative path begins at the state directory; \"\" serves none."},
	{Section: SectionAdmin, Name: "address", Type: TypeString, Example: `"127.0.0.1:9464"`, Doc: "Address to serve on beside the socket; \"\" serves none. Without a token it answers questions only and changes nothing. One that is not loopback needs a token."},
	{Section: SectionAdmin, Name: "token", Type: TypeString, Example: `"${TIDEMARK_TOKEN}"`, Doc: "A secret that requests to the address have to bring (Authorization: Bearer …), except for /livez and /readyz."},
	{Section: SectionAdmin, Name: "insecure", Type: TypeBool, Default: "false", Example: "true", Doc: "Lets the address be one that is not loopback without a token: everybody who can reach it reads names, numbers, keys and positions."},
	{Section: SectionAdmin, Name: "pprof", Type: TypeBool, Default: "false", Example: "true", Doc: "Serves Go's profiles under /debug/pprof, on the socket and on the address."},

	{Section: SectionLog, Name: "level", Type: TypeEnum, Values: []string{"debug", "info", "warn", "error"}, Default: "info", Example: `"debug"`, Doc: "The least important lines that are written."},
	{Section: SectionLog, Name: "format", Type: TypeEnum, Values: []string{"text", "json"}, Default: "text", Example: `"json"`, Doc: "Lines for people or for programs."},
}, keysOf(operationKeys, SectionPlugin, SectionLimits)...)
