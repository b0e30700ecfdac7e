package pipeline

import (
	"context"

	"github.com/tidemark-stream/tidemark/daemon/shard"
	"github.com/tidemark-stream/tidemark/daemon/window"
)

// recovered is what the last commit holds.
type recovered struct {
	lanes  map[string]laneSnapshot
	stages map[string]stageSnapshot
}

func (r *recovered) lane(name string) laneSnapshot { return r.lanes[name] }

func (a *attempt) openState() error {
	a.restored = &recovered{}
	return nil
}

// restoreStage makes a stage's shards and gives them their state back.
func (a *attempt) restoreStage(n *stageNode, cfg shard.Config) (err error) {
	n.stage, err = shard.New(cfg)
	return err
}

// snapshot takes the changes of one shard; it runs on the shard's goroutine.
func (a *attempt) snapshot(n *stageNode, barrier uint64, i int, op window.Operator) error {
	return a.coord.contribute(a.ctx, barrier, func(*cut) {})
}

func (a *attempt) cutLetters(barrier uint64) error {
	letters := a.box.take()
	return a.coord.contribute(a.ctx, barrier, func(c *cut) { c.letters = letters })
}

func (a *attempt) commit(ctx context.Context, c *cut) error { return nil }

// gate waits until there is room for more input.
func (a *attempt) gate(ctx context.Context) error { return nil }

// drain waits until the sinks have taken everything.
func (a *attempt) drain(ctx context.Context) error {
	for _, o := range a.outlets {
		o.finish(ctx)
	}
	return nil
}
