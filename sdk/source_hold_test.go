package sdk

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// A goroutine for each partition: the fast one waits in WaitWhileHeld, and what the slow one brings is not kept back by it.
func TestAHeldPartitionWaitsAndTheOthersGoOn(t *testing.T) {
	mayGo := make(chan struct{})
	s := openRunner(t, &runner{run: func(_ context.Context, out *SourceContext[string]) error {
		fast, slow := out.Partition("fast"), out.Partition("slow")
		done := make(chan error, 1)
		go func() {
			<-mayGo
			done <- errors.Join(fast.WaitWhileHeld(), fast.Collect("after"), fast.End())
		}()
		<-mayGo
		return errors.Join(slow.Collect("meanwhile"), slow.End(), <-done)
	}}, wire.SourceOpen{Linger: long})
	next := func() wire.SourceEvent {
		e, err := s.Recv()
		require.NoError(t, err)
		return e
	}
	require.Equal(t, "fast", next().Name)
	require.Equal(t, "slow", next().Name)
	require.NoError(t, s.(wire.Holder).Hold(0, true))
	close(mayGo)
	require.Equal(t, "meanwhile", string(next().Batch.Row(0)))
	require.Equal(t, wire.SourceEvent{Kind: wire.PartitionEnded, Partition: 1}, next())
	require.NoError(t, s.(wire.Holder).Hold(1, true), "it has ended: nothing to be done")
	require.NoError(t, s.(wire.Holder).Hold(9, true), "nobody knows it")
	require.NoError(t, s.(wire.Holder).Hold(0, false))
	require.Equal(t, "after", string(next().Batch.Row(0)))
}

// One goroutine for all partitions looks at Held, and sleeps until that changes when there is nothing else to do.
func TestASourceThatReadsAllPartitionsInOneGoroutineSeesWhichAreHeld(t *testing.T) {
	seen := make(chan bool)
	s := openRunner(t, &runner{run: func(ctx context.Context, out *SourceContext[string]) error {
		p := out.Partition("p")
		for {
			change := out.HoldsChange()
			seen <- p.Held()
			select {
			case <-change:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}}, wire.SourceOpen{Linger: long})
	_, err := s.Recv()
	require.NoError(t, err)
	require.False(t, <-seen)
	require.NoError(t, s.(wire.Holder).Hold(0, true))
	require.True(t, <-seen)
	require.NoError(t, s.(wire.Holder).Hold(0, true), "no change wakes nobody")
	require.NoError(t, s.(wire.Holder).Hold(0, false))
	require.False(t, <-seen)
}

func TestAStopWakesWhoIsHeld(t *testing.T) {
	held, returned := make(chan struct{}), make(chan error, 1)
	s := openRunner(t, &runner{run: func(_ context.Context, out *SourceContext[string]) error {
		p := out.Partition("p")
		<-held
		returned <- p.WaitWhileHeld()
		return nil
	}}, wire.SourceOpen{Linger: long})
	_, err := s.Recv()
	require.NoError(t, err)
	require.NoError(t, s.(wire.Holder).Hold(0, true))
	close(held)
	require.NoError(t, s.Stop())
	require.ErrorIs(t, <-returned, errStopped)
	script, err := hear(s)
	require.NoError(t, err)
	require.Equal(t, []string{"stopped"}, script)
}
