package pipeline_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/state"
)

// forgetful is a sink without books, which says for each row that it has come. It takes nothing before it may.
type forgetful struct {
	may func() bool

	mu   sync.Mutex
	rows []string
}

func (f *forgetful) plugin() sdk.Plugin {
	return sdk.NewSink("forgetful", "keeps rows and no number", sdk.SinkTraits{Delivery: sdk.AtLeastOnce, Text: true},
		func(context.Context, struct{}) (sdk.Sink, error) { return f, nil })
}

func (f *forgetful) Write(ctx context.Context, d sdk.Rows) error {
	for !f.may() {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range d.Len() {
		f.rows = append(f.rows, string(d.Batch.Row(i)))
	}
	return nil
}

func (f *forgetful) Close() error { return nil }

// A sink that is slower than the last commit has its rows from the store. When the pipeline has ended they are delivered, and the state says
// so: the next run with it brings none of them again, though the sink could not tell.
func TestWhatIsDeliveredAtTheEndIsNotDeliveredAgain(t *testing.T) {
	sink := &forgetful{}
	r := newRig(t, sink.plugin())
	text := strings.Replace(fmt.Sprintf(clicks, r.file("in", "a 1", "a 20"), "5s"), `plugin = "capture"`, `plugin = "forgetful"`, 1) +
		"[checkpoint]\ninterval = \"1h\"\n"
	for run := range 3 {
		p := r.pipeline(text)
		sink.may = func() bool { return p.Summary().Checkpoints.Count > 0 }
		require.NoError(t, p.Run(context.Background()))
		s := p.Summary()
		require.NoError(t, s.Check())
		require.Len(t, sink.rows, 2, "run %d", run)
	}
}

// A sink that holds more rows than the state has ever numbered belongs to another state: no attempt of any number would change that.
func TestASinkThatIsAheadOfTheStateEndsThePipeline(t *testing.T) {
	r := newRig(t)
	text := fmt.Sprintf(clicks, r.file("in", "a 1", "a 20"), "5s")
	r.run(text)
	r.state = filepath.Join(t.TempDir(), "another")
	p := r.pipeline(text)
	err := p.Run(context.Background())
	require.ErrorIs(t, err, state.Incompatible)
	require.ErrorContains(t, err, "the sink out holds rows up to number 2, but the state knows of 0 only")
	require.Equal(t, pipeline.Failed, p.State())
}

// Sinks that keep one record between them cannot all be right about their last row. Two that have other rows under the same numbers end the
// attempt; at the next one the third, which has got nothing yet, finds the record ahead of itself. That ends the pipeline with the message,
// where it once was tried again for ever.
func TestSinksThatShareOneRecordOfTheirLastRow(t *testing.T) {
	r := newRig(t)
	p := r.pipeline(fmt.Sprintf(clicks, r.file("in", "a 1", "b 2", "c 3", "a 20", "b 40", "a 41"), "5s") + `
[sinks.two]
plugin = "capture"
inputs = ["per_user"]
columns = ["user"]
[sinks.three]
plugin = "capture"
inputs = ["per_user.late"]
[restart]
backoff = "1ms"
`)
	require.ErrorIs(t, p.Run(context.Background()), state.Incompatible)
	require.Equal(t, pipeline.Failed, p.State())
}
