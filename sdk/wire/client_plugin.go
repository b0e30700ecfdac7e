package wire

import (
	"context"
	"time"
)

// Remote is a plugin on the other side as a [Plugin]: for what wants to treat it like one in the process. Opening waits for at most
// timeout. The Runtime is not used: the other side logs and counts by itself.
func (c *Client) Remote(d Description, timeout time.Duration) Plugin { return remote{c, d, timeout} }

type remote struct {
	c       *Client
	d       Description
	timeout time.Duration
}

func (r remote) Description() Description { return r.d }

func (r remote) CheckOptions(options []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	return r.c.Check(ctx, r.d.Kind, r.d.Name, options)
}

func (r remote) OpenSource(o SourceOpen, _ Runtime) (Source, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	return r.c.OpenSource(ctx, o)
}

func (r remote) OpenAssigner(o AssignerOpen, _ Runtime) (Assigner, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	return r.c.OpenAssigner(ctx, o, WantedBy(r.d))
}

func (r remote) OpenSink(o SinkOpen, _ Runtime) (Sink, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	return r.c.OpenSink(ctx, o, r.d.Text)
}

func (r remote) OpenWindows(o WindowsOpen, _ Runtime) (Windows, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	return r.c.OpenWindows(ctx, o, WantedBy(r.d))
}

func (r remote) OpenTransform(o TransformOpen, _ Runtime) (Transform, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	return r.c.OpenTransform(ctx, o, WantedBy(r.d))
}
