package sdk

import (
	"fmt"
	"testing"

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
		for e := range r.events {
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
	close(r.events)
}
