package wire

import "google.golang.org/grpc"

// Major is one major version of the protocol, as both halves speak it. A daemon and a plugin that have several use the highest that they
// share: go-plugin's handshake finds it (PLUGIN_PROTOCOL_VERSIONS), and each side then speaks that one and no other.
//
// A new major is a protobuf package of its own (tidemark.plugin.v2), with a Register and a NewClient beside those of the old one, and a line
// in [Majors]. What stands above this package does not know majors.
type Major struct {
	Version int
	// Register adds the plugin's half to a gRPC server.
	Register func(s *Server, g grpc.ServiceRegistrar)
	// NewClient makes the daemon's half, see [NewClient].
	NewClient func(conn grpc.ClientConnInterface, explain func(error) error) *Client
}

// Majors are those that this package speaks, in rising order. Old ones stay until no plugin that is in use speaks nothing newer.
func Majors() []Major {
	return []Major{
		{Version: ProtocolVersion, Register: (*Server).Register, NewClient: NewClient},
	}
}
