package sdktest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

// pair is a source of two partitions that one goroutine reads in turns.
type pair struct{ wait bool }

func (s *pair) Run(ctx context.Context, out *sdk.SourceContext[event]) error {
	parts := []*sdk.Partition[event]{out.Partition("a"), out.Partition("b")}
	for {
		change, read, held := out.HoldsChange(), false, false
		for _, p := range parts {
			switch {
			case p.Count() == 200:
			case s.wait: // wrong: the other one is not read meanwhile
				if err := p.WaitWhileHeld(); err != nil {
					return err
				}
				fallthrough
			case !p.Held():
				read = true
				if err := p.CollectWithTimestamp(event{User: "u", TS: p.Count()}, p.Count()); err != nil {
					return err
				}
			default:
				held = true
			}
		}
		switch {
		case !read && !held:
			return nil
		case !read:
			select {
			case <-change:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func newPair(wait bool) sdk.Plugin {
	return sdk.NewSource("pair", "two partitions", func(struct{}) (sdk.Source[event], error) { return &pair{wait}, nil }, sdk.HoldsPartitions())
}

func TestASourceThatLeavesHeldPartitionsAloneConforms(t *testing.T) {
	r := sdktest.Check(newPair(false), sdktest.Settings{NoSpeed: true})
	require.Empty(t, r.Findings)
	require.Contains(t, r.Passed, "over the wire: a held partition keeps no other one waiting, and goes on")
}

func TestASourceThatWaitsForAHeldPartitionIsFoundOut(t *testing.T) {
	r := sdktest.Check(newPair(true), sdktest.Settings{NoSpeed: true})
	require.Contains(t, fmt.Sprint(r.Findings), `with partition "a" held, the others did not come to their end`)
	require.Contains(t, fmt.Sprint(r.Findings), "HoldsChange")
}
