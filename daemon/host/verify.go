package host

import (
	"context"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Executable is a running plugin executable of which nothing is known beforehand, for `tidemark plugins describe` and `verify`.
type Executable struct {
	process *process
	Plugins []wire.Plugin // what it serves, to be opened like plugins in the process
}

// OpenExecutable starts an executable and asks what it serves. Errors are *Failure.
func (h *Host) OpenExecutable(ctx context.Context, path string, args ...string) (*Executable, error) {
	l := launch{path: absolute(path, ""), args: args, name: path, kind: "plugin"}
	p, err := h.start(ctx, l)
	if err != nil {
		return nil, err
	}
	asking, cancel := context.WithTimeout(ctx, h.startTimeout)
	defer cancel()
	list, err := p.wire.List(asking)
	if err != nil {
		p.stop()
		return nil, err
	}
	e := &Executable{process: p}
	for _, d := range list {
		e.Plugins = append(e.Plugins, p.wire.Remote(d, h.callTimeout))
	}
	return e, nil
}

// Close ends the process.
func (e *Executable) Close() { e.process.stop() }
