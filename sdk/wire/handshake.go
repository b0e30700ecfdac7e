package wire

// How daemon and plugin recognise each other before the first call. These values are part of the protocol.
const (
	CookieKey   = "TIDEMARK_PLUGIN"
	CookieValue = "1b9d9bbf-event-time"

	// ProtocolVersion is the newest major that this package speaks, see [Majors]. A daemon and a plugin work together if they share one.
	ProtocolVersion = 1

	// LivenessKey names the descriptor of a pipe that reads end of file when the daemon is gone.
	LivenessKey = "TIDEMARK_LIVENESS_FD"
	// LogLevelKey is the lowest level that the daemon's log takes.
	LogLevelKey = "TIDEMARK_LOG_LEVEL"

	// PluginSetName is the name under which go-plugin knows all services together.
	PluginSetName = "tidemark"
	// HealthService is the name that grpc.health.v1.Health is asked about.
	HealthService = "plugin"
)
