package sdk

// Gauges by which a source or a sink says how it stands with the outside, for the daemon's /readyz: 0 says "not yet" or "not any more", 1 says that
// all is well. What sets none of them counts as ready as soon as it runs. Set one to 0 in the factory, so that the first answer is true:
//
//	func(c Config) (sdk.Source[[]byte], error) { c.Gauge(sdk.Listening, "the port is open", 0); … }
//
// A daemon that was started by a service manager says that it is ready only when all that is to listen does.
const (
	Listening = "listening" // others can connect to it
	Connected = "connected" // what it talks to answers
	Found     = "found"     // what it reads is there
)
