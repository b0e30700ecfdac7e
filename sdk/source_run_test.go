package sdk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// A listener sees any number of connections; what has ended must leave nothing behind but positions that are needed to go on.
func TestEndedPartitionsAreForgotten(t *testing.T) {
	r := newSourceRun("test", wire.SourceOpen{})
	events := make(chan wire.SourceEvent, 1)
	go func() {
		defer close(events)
		for {
			e, err := r.Recv()
			if err != nil {
				return
			}
			if e.Batch != nil {
				events <- e
				e.Batch.Release()
			}
		}
	}()
	for i := range 1000 {
		require.NoError(t, r.partition(fmt.Sprint("connection ", i)).end())
	}
	require.Empty(t, r.parts)
	require.Empty(t, r.byID)
	require.Empty(t, r.left)

	r.acks = make(chan ack, 10)
	file := r.partition("file")
	b := batch.Get()
	b.Position = append(b.Position, "here"...)
	require.NoError(t, file.send(b))
	<-events
	require.NoError(t, file.end())
	require.Empty(t, r.parts)
	require.Equal(t, map[string][]byte{"file": []byte("here")}, r.left)
	require.NoError(t, r.Ack(file.id, []byte("before")))
	require.Len(t, r.byID, 1, "its last position is still to be acknowledged")
	require.NoError(t, r.Ack(file.id, []byte("here")))
	require.Empty(t, r.byID)
	require.Len(t, r.acks, 2)
	require.NoError(t, r.Ack(file.id, []byte("here")), "once more is no mistake")
	require.Len(t, r.acks, 2)
	require.Error(t, r.Ack(file.id+1, []byte("here")))

	again := r.partition("file")
	require.Equal(t, "here", string(again.restored))
	require.Empty(t, r.left)
	close(r.finished)
}

// A source that fails may leave a batch to its timer, and goroutines that go on writing: they find the run finished, and its failure is still told.
func TestWritersOutliveARun(t *testing.T) {
	for range 200 {
		r := newSourceRun("test", wire.SourceOpen{Linger: time.Microsecond})
		var writers sync.WaitGroup
		r.start(func(context.Context) error {
			for i := range 3 {
				p := r.partition(fmt.Sprint("p", i))
				writers.Go(func() {
					for range 100 {
						p.mu.Lock()
						b, err := p.begin()
						if err == nil {
							b.Extra = append(b.Extra, "x"...)
							err = p.wrote(b, batch.NoTimestamp, nil)
						}
						p.mu.Unlock()
						if err != nil {
							return
						}
					}
				})
			}
			return errors.New("the well has run dry")
		}, nil)
		var err error
		for err == nil {
			var e wire.SourceEvent
			if e, err = r.Recv(); e.Batch != nil {
				e.Batch.Release()
			}
		}
		require.EqualError(t, err, "source test: the well has run dry")
		writers.Wait()
		require.NoError(t, r.Close())
	}
}
