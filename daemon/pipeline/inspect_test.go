package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/state"
)

// slow says n lines once, of which some wait until they are let through.
type slow struct {
	lines []string
	steps chan int // so many more lines may be said
}

func (s *slow) plugin() sdk.Plugin {
	return sdk.NewSource("slow", "says lines when told to", func(struct{}) (sdk.Source[string], error) { return s, nil }, sdk.NotReplayable())
}

func (s *slow) Run(ctx context.Context, out *sdk.SourceContext[string]) error {
	p := out.Partition("p")
	for len(s.lines) > 0 {
		select {
		case n := <-s.steps:
			for _, line := range s.lines[:n] {
				if err := p.Collect(line); err != nil {
					return err
				}
			}
			s.lines = s.lines[n:]
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

const slowPipeline = `
[pipeline]
name = "p"
[sources.in]
plugin = "slow"
decode = { format = "delimited", fields = ["key:string", "ts:int"] }
[sources.in.time]
timestamp = "ts"
unit = "s"
[transforms.w]
type = "window"
inputs = ["in"]
key_by = ["key"]
window = { type = "tumbling", size = "10s" }
[transforms.w.aggregate]
n = "count()"
[sinks.out]
plugin = "capture"
inputs = ["w"]
`

// A running pipeline is asked what is in its state, and has savepoints made of it: each is of one commit, journal and all, so that a pipeline that
// goes on from one gives the very rows that were still to come.
func TestARunningPipelineIsLookedInto(t *testing.T) {
	var lines []string
	for i := range 400 {
		lines = append(lines, fmt.Sprintf("%c %d", 'a'+i%3, i))
	}
	source := &slow{lines: lines, steps: make(chan int)}
	r := newRig(t, source.plugin())
	p := r.pipeline(slowPipeline)
	require.ErrorIs(t, p.Inspect(context.Background(), nil), pipeline.ErrNotOpen)
	require.NotEmpty(t, p.NotReady())
	done := make(chan error, 1)
	go func() { done <- p.Run(context.Background()) }()

	copies := t.TempDir()
	var delivered []int
	for i := range 4 {
		source.steps <- 90
		require.Eventually(t, func() bool { return p.Records() == int64(90*(i+1)) }, 10*time.Second, 5*time.Millisecond)
		m, err := p.Savepoint(context.Background(), filepath.Join(copies, fmt.Sprint(i)), "between")
		require.NoError(t, err)
		require.Equal(t, "p", m.Pipeline)
		delivered = append(delivered, len(r.got("out")))

		err = p.Inspect(context.Background(), func(_ context.Context, v *state.View, st *checkpoint.State) error {
			windows, err := checkpoint.OpenWindows(v, st, func() error { return nil })
			require.NoError(t, err)
			require.NotEmpty(t, windows, "the last window is open")
			require.Equal(t, "w", windows[0].Step)
			require.Equal(t, "in", st.Positions()[0].Source)
			require.Equal(t, "in", st.Watermarks()[0].Component)
			require.GreaterOrEqual(t, st.Number, p.Summary().Checkpoints.Last.Number)
			return nil
		})
		require.NoError(t, err)
		require.Empty(t, p.NotReady())
	}
	_, err := p.Savepoint(context.Background(), filepath.Join(copies, "0"), "")
	require.ErrorIs(t, err, state.Foreign)

	// A visitor who does not go is told to when the pipeline ends.
	asked := make(chan struct{})
	looking := make(chan error, 1)
	go func() {
		looking <- p.Inspect(context.Background(), func(ctx context.Context, _ *state.View, _ *checkpoint.State) error {
			close(asked)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	<-asked
	source.steps <- 40
	require.NoError(t, <-done)
	require.ErrorIs(t, <-looking, pipeline.ErrNotOpen)
	require.Empty(t, p.NotReady(), "a pipeline that has finished is fine")
	_, err = p.Savepoint(context.Background(), filepath.Join(copies, "late"), "")
	require.ErrorIs(t, err, pipeline.ErrNotOpen)
	all := r.got("out")
	require.Len(t, all, 120)

	for i, before := range delivered {
		// The rest of the lines follow those of the savepoint.
		rest := &slow{lines: lines[90*(i+1):], steps: make(chan int, 1)}
		rest.steps <- len(rest.lines)
		again := newRig(t, rest.plugin())
		again.rows["out"] = all[:before] // what was delivered then at the least
		at := filepath.Join(again.state, pipeline.StateFolder)
		_, err := state.Restore(vfs.Default, filepath.Join(copies, fmt.Sprint(i)), at, map[string]string{
			pipeline.JournalFolder: filepath.Join(again.state, pipeline.JournalFolder), pipeline.LettersFolder: filepath.Join(again.state, pipeline.LettersFolder),
		})
		require.NoError(t, err)
		rows, _ := again.run(slowPipeline)
		require.Equal(t, all, rows, "from savepoint %d", i)
	}
}

// A savepoint that cannot be made says so, and does the pipeline no harm.
func TestASavepointThatFailsHarmsNothing(t *testing.T) {
	source := &slow{lines: []string{"a 1", "b 12"}, steps: make(chan int)}
	r := newRig(t, source.plugin())
	p := r.pipeline(slowPipeline)
	done := make(chan error, 1)
	go func() { done <- p.Run(context.Background()) }()
	source.steps <- 1
	require.Eventually(t, func() bool { return p.Records() == 1 }, 10*time.Second, 5*time.Millisecond)
	_, err := p.Savepoint(context.Background(), filepath.Join(r.file("no-folder"), "x"), "")
	require.Error(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("nobody waits"))
	_, err = p.Savepoint(ctx, filepath.Join(t.TempDir(), "x"), "")
	require.ErrorContains(t, err, "nobody waits")
	source.steps <- 1
	require.NoError(t, <-done)
	require.Equal(t, 0, p.Summary().Restarts)
	require.Len(t, r.got("out"), 2)
}
