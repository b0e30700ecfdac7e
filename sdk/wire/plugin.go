package wire

import "github.com/hashicorp/go-hclog"

// Plugin is what stands behind the wire: the author's half hands it to the server, and the host opens shipped ones of it in its own
// process. Calls may come from several goroutines.
type Plugin interface {
	Description() Description
	CheckOptions(options []byte) error
	OpenSource(SourceOpen, Runtime) (Source, error)
	OpenAssigner(AssignerOpen, Runtime) (Assigner, error)
	OpenSink(SinkOpen, Runtime) (Sink, error)
	OpenTransform(TransformOpen, Runtime) (Transform, error)
	OpenWindows(WindowsOpen, Runtime) (Windows, error)
}

// Runtime is what surrounds an instance.
type Runtime struct {
	Logger  hclog.Logger // nil: nothing is logged
	Metrics *Metrics     // nil: nothing is kept
}
