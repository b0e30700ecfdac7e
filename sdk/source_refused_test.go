package sdk

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// taker collects one record, and writes down what it is told.
type taker struct {
	mu   sync.Mutex
	told []string
	last chan struct{} // closed when the last position is acknowledged
}

func (s *taker) Run(ctx context.Context, out *SourceContext[string]) error {
	if err := out.Partition("p").CollectAt("a", []byte("1")); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *taker) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, text)
}

func (s *taker) Refused(partition string, refused []Refusal) {
	for _, r := range refused {
		s.say(partition + " refused " + r.Code)
	}
}

func (s *taker) Ack(partition string, position []byte) {
	s.say(partition + " " + string(position))
	if string(position) == "2" {
		close(s.last)
	}
}

// What was refused is told before the acknowledgement that covers it, also when acknowledgements are skipped because the source is slow.
func TestRefusalsComeBeforeTheAcknowledgement(t *testing.T) {
	s := &taker{last: make(chan struct{})}
	p := NewSource("taker", "a test", func(struct{}) (Source[string], error) { return s, nil }, TakesRefusals())
	require.True(t, p.Description().TakesRefusals)
	run, err := p.OpenSource(wire.SourceOpen{Plugin: "taker", Options: []byte("{}")}, wire.Runtime{})
	require.NoError(t, err)
	for {
		e, err := run.Recv()
		require.NoError(t, err)
		if e.Kind == wire.SourceBatch {
			e.Batch.Release()
			break
		}
	}
	refuser := run.(wire.Refuser)
	require.NoError(t, refuser.Refused(7, []Refusal{{Code: "of nobody"}}), "the two sides do not wait for each other")
	s.mu.Lock() // the source is slow
	require.NoError(t, refuser.Refused(0, []Refusal{{Code: "type"}}))
	for range 3 * ackBacklog {
		require.NoError(t, run.Ack(0, []byte("1")))
	}
	require.NoError(t, refuser.Refused(0, []Refusal{{Record: 1, Code: "late news"}}))
	require.NoError(t, run.Ack(0, []byte("2")))
	s.mu.Unlock()
	<-s.last
	require.NoError(t, run.Stop())
	require.NoError(t, run.Close())
	require.Equal(t, "p refused type", s.told[0])
	require.Contains(t, s.told, "p refused late news")
	require.NotContains(t, s.told, "p refused of nobody")
}
