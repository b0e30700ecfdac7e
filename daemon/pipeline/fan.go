package pipeline

import "github.com/tidemark-stream/tidemark/sdk/batch"

// port is where a component's batches go: through stateless transforms into inputs of window stages and sinks. A port is built
// once for each worker that prepares batches for it; the inputs at its ends are shared.
type port struct {
	branches []branch   // what reads the port directly
	ends     []terminal // all inputs that can be reached, each once
}

// branch is one reader of a port: a transform with readers of its own, or an end.
type branch interface {
	// prepare does everything that needs no order. It takes over one share of b and appends what has to be sent.
	prepare(b *batch.Batch, out []prepared) []prepared
}

// prepared is something ready to be sent. send is called in the order of the stream, by one goroutine, once.
type prepared interface{ send() error }

// terminal is one input of a stage or sink.
type terminal interface {
	idle(idle bool) error
	barrier(id uint64) error
}

// prepare takes over one share of b.
func (p *port) prepare(b *batch.Batch, out []prepared) []prepared {
	switch len(p.branches) {
	case 0:
		b.Release()
	case 1:
		return p.branches[0].prepare(b, out)
	default:
		for _, r := range p.branches {
			out = r.prepare(b.Fork(), out)
		}
		b.Release()
	}
	return out
}

func (p *port) idle(idle bool) error {
	for _, t := range p.ends {
		if err := t.idle(idle); err != nil {
			return err
		}
	}
	return nil
}

func (p *port) barrier(id uint64) error {
	for _, t := range p.ends {
		if err := t.barrier(id); err != nil {
			return err
		}
	}
	return nil
}
