package wire

import (
	"context"
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// OpenWindows starts an aggregate or a window function on the other side. want is what its description asks for of a record; ctx bounds the
// start only.
func (c *Client) OpenWindows(ctx context.Context, o WindowsOpen, want Wanted) (Windows, error) {
	op := openStream(ctx)
	t := &windowsClient{one: o.Kind == KindAggregate, transformClient: transformClient{client: c, ctx: op.ctx, cancel: op.cancel, asked: make(chan question, Credits)},
		request: windowsRequest{want: &want, columns: &Wanted{Columns: o.Columns}, frames: new(ring)}}
	open := wireOpen(o.Plugin, o.Options, o.Place)
	open.Kind = string(o.Kind)
	_, err := t.open(open)
	if err = op.opened(ctx, err); err != nil {
		return nil, err
	}
	return t, nil
}

// windowsClient is an aggregate or a window function on the other side: a transform that is given windows.
type windowsClient struct {
	transformClient
	request windowsRequest
	one     bool // there is one row for each window
}

func (t *windowsClient) Fire(b, records *batch.Batch, counts []uint32) error {
	if err := t.ask(question{kind: Assigned, batch: b}); err != nil {
		return err
	}
	t.request.windows, t.request.records, t.request.counts = b, records, counts
	return t.sent(t.stream.SendMsg(&t.request))
}

func (t *windowsClient) Recv() (TransformEvent, error) {
	e, err := t.transformClient.Recv()
	if err != nil || !t.one {
		return e, err
	}
	wrong := ""
	switch {
	case e.Out.N != e.In.Alive(): // what it refused is not alive any more
		wrong = fmt.Sprintf("it was given %d windows and gave the results of %d, beside those that it refused", e.In.Alive(), e.Out.N)
	case e.Out.N > 0 && e.Out.Column(ResultColumn) == nil:
		wrong = fmt.Sprintf("its answer has no column %q", ResultColumn)
	}
	for i := 1; i < len(e.Origin) && wrong == ""; i++ {
		if e.Origin[i] == e.Origin[i-1] {
			wrong = "it gave two results for one window"
		}
	}
	if wrong == "" {
		return e, nil
	}
	e.Out.Release()
	t.failed = t.client.nonsense("%s", wrong)
	t.cancel()
	return TransformEvent{}, t.failed
}
