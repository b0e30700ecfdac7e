package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runner is a source that is a function.
type runner struct {
	run func(context.Context, *SourceContext[string]) error
	ack func(string, []byte)
}

func (r *runner) Run(ctx context.Context, out *SourceContext[string]) error { return r.run(ctx, out) }
func (r *runner) Ack(partition string, position []byte) {
	if r.ack != nil {
		r.ack(partition, position)
	}
}

func openRunner(t *testing.T, r *runner, o wire.SourceOpen) wire.Source {
	t.Helper()
	p := NewSource("runner", "", func(struct{}) (Source[string], error) { return r, nil })
	s, err := p.OpenSource(o, wire.Runtime{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// hear writes down what a source says until it ends.
func hear(s wire.Source) (script []string, err error) {
	for {
		e, err := s.Recv()
		if err != nil {
			return script, err
		}
		switch e.Kind {
		case wire.SourceBatch:
			line := fmt.Sprintf("%d:", e.Partition)
			for i := range e.Batch.N {
				line += " " + string(e.Batch.Row(i))
				if len(e.Batch.Times) > 0 {
					line += fmt.Sprintf("@%d", e.Batch.Times[i])
				}
			}
			for _, m := range e.Batch.Marks {
				line += fmt.Sprintf(" [%d after %d]", m.Watermark, m.After)
			}
			script = append(script, line+" -> "+string(e.Batch.Position))
			e.Batch.Release()
		case wire.PartitionAdded:
			script = append(script, fmt.Sprintf("%d is %s", e.Partition, e.Name))
		case wire.PartitionEnded:
			script = append(script, fmt.Sprintf("%d ended", e.Partition))
		case wire.PartitionIdle:
			script = append(script, fmt.Sprintf("%d idle", e.Partition))
		case wire.PartitionBusy:
			script = append(script, fmt.Sprintf("%d busy", e.Partition))
		case wire.SourceEnded:
			return append(script, "ended"), nil
		case wire.SourceStopped:
			return append(script, "stopped"), nil
		}
	}
}

// long keeps batches open until the source says otherwise.
const long = time.Hour

func TestWhatASourceSaysInTheOrderInWhichItSaysIt(t *testing.T) {
	s := openRunner(t, &runner{run: func(_ context.Context, out *SourceContext[string]) error {
		a, b := out.Partition("a"), out.Partition("b")
		require.Equal(t, "#5", string(a.Position()))
		require.EqualValues(t, 5, a.Count())
		return errors.Join(
			a.Collect("a1"), a.CollectWithTimestamp("a2", 20), a.EmitWatermark(15), a.EmitWatermark(10), a.Collect("a3"),
			b.CollectAt("b1", []byte("p1")), b.CollectAtWithTimestamp("b2", 7, []byte("p2")),
			a.MarkIdle(), a.MarkActive(), a.EmitWatermark(16), a.Flush(),
			b.End(), b.End(), out.Collect("d"),
		)
	}}, wire.SourceOpen{Linger: long, Restored: []RestoredPartition{{Name: "a", Position: []byte("#5")}}})
	script, err := hear(s)
	require.NoError(t, err)
	require.Equal(t, []string{"0 is a", "1 is b",
		fmt.Sprintf("0: a1@%d a2@20 a3@%d [15 after 2] -> #8", NoTimestamp, NoTimestamp), "0 idle", "0 busy", "0: [16 after 0] -> ",
		fmt.Sprintf("1: b1@%d b2@7 -> p2", NoTimestamp), "1 ended", "2 is default", "2: d -> #1", "ended"}, script)
	_, err = s.Recv()
	require.ErrorIs(t, err, io.EOF)
}

func TestAPartitionThatHasEndedMayBeginAgainWhereItWas(t *testing.T) {
	s := openRunner(t, &runner{run: func(_ context.Context, out *SourceContext[string]) error {
		first := out.Partition("p")
		if err := errors.Join(first.Collect("one"), first.End()); err != nil {
			return err
		}
		again := out.Partition("p")
		require.Equal(t, "#1", string(again.Position()))
		return errors.Join(again.Collect("two"), first.Collect("never"))
	}}, wire.SourceOpen{Linger: long})
	script, err := hear(s)
	require.Equal(t, []string{"0 is p", "0: one -> #1", "0 ended", "1 is p"}, script)
	require.ErrorContains(t, err, `partition "p" has ended`)
}

func TestABatchGoesOutWhenItIsFull(t *testing.T) {
	s := openRunner(t, &runner{run: func(_ context.Context, out *SourceContext[string]) error {
		for i := range 5 {
			if err := out.Collect(fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	}}, wire.SourceOpen{Linger: long, BatchRows: 2})
	script, err := hear(s)
	require.NoError(t, err)
	require.Equal(t, []string{"0 is default", "0: 0 1 -> #2", "0: 2 3 -> #4", "0: 4 -> #5", "ended"}, script)
}

func TestABatchDoesNotWaitForASlowSource(t *testing.T) {
	s := openRunner(t, &runner{run: func(ctx context.Context, out *SourceContext[string]) error {
		if err := out.Collect("one"); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}, wire.SourceOpen{})
	e, err := s.Recv()
	require.NoError(t, err)
	require.Equal(t, wire.PartitionAdded, e.Kind)
	e, err = s.Recv()
	require.NoError(t, err)
	require.Equal(t, "one", string(e.Batch.Row(0)))
	require.NoError(t, s.Stop())
	script, err := hear(s)
	require.NoError(t, err)
	require.Equal(t, []string{"stopped"}, script)
}

func TestWholeBatches(t *testing.T) {
	s := openRunner(t, &runner{run: func(_ context.Context, out *SourceContext[string]) error {
		p := out.Partition("f")
		b := NewBatch()
		b.N, b.Trailer, b.Data, b.Offsets, b.Position = 2, 1, append(b.Data, "x\ny\n"...), append(b.Offsets, 0, 2, 4), append(b.Position, "4"...)
		return errors.Join(p.Collect("first"), p.Send(b))
	}}, wire.SourceOpen{Linger: long})
	script, err := hear(s)
	require.NoError(t, err)
	require.Equal(t, []string{"0 is f", "0: first -> #1", "0: x y -> 4", "ended"}, script)
}

func TestAFullPipelineHoldsTheSourceBackAndCloseLetsGo(t *testing.T) {
	returned := make(chan error, 1)
	s := openRunner(t, &runner{run: func(_ context.Context, out *SourceContext[string]) error {
		for {
			if err := out.Collect("again"); err != nil {
				returned <- err
				return err
			}
		}
	}}, wire.SourceOpen{BatchRows: 1})
	_, err := s.Recv()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Error(t, <-returned)
	_, err = s.Recv()
	require.ErrorIs(t, err, io.EOF)
}

func TestErrorsAndPanicsEndTheSource(t *testing.T) {
	for says, run := range map[string]func(context.Context, *SourceContext[string]) error{
		"source runner: no more":        func(context.Context, *SourceContext[string]) error { return errors.New("no more") },
		"source runner: panic: at once": func(context.Context, *SourceContext[string]) error { panic("at once") },
	} {
		s := openRunner(t, &runner{run: run}, wire.SourceOpen{})
		_, err := hear(s)
		require.ErrorContains(t, err, says)
		_, err = s.Recv()
		require.ErrorIs(t, err, io.EOF)
	}
}

func TestAcknowledgements(t *testing.T) {
	acks := make(chan string, 10)
	s := openRunner(t, &runner{
		run: func(ctx context.Context, out *SourceContext[string]) error {
			_ = out.Partition("p")
			<-ctx.Done()
			return nil
		},
		ack: func(partition string, position []byte) { acks <- partition + " " + string(position) },
	}, wire.SourceOpen{})
	_, err := s.Recv()
	require.NoError(t, err)
	require.NoError(t, s.Ack(0, []byte("#3")))
	require.Equal(t, "p #3", <-acks)
	require.NoError(t, s.Ack(0, nil), "no position says nothing")
	require.ErrorContains(t, s.Ack(9, []byte("x")), "has no partition 9")
}

func TestAPanicInAckFailsTheSource(t *testing.T) {
	s := openRunner(t, &runner{
		run: func(ctx context.Context, out *SourceContext[string]) error {
			_ = out.Partition("p")
			<-ctx.Done()
			return nil
		},
		ack: func(string, []byte) { panic("ack!") },
	}, wire.SourceOpen{})
	_, err := s.Recv()
	require.NoError(t, err)
	require.NoError(t, s.Ack(0, []byte("#3")))
	_, err = hear(s)
	require.ErrorContains(t, err, "acknowledge: panic: ack!")
}

func BenchmarkCollect(b *testing.B) {
	type event struct {
		User string `tidemark:"user"`
		TS   int64  `tidemark:"ts"`
	}
	p := NewSource("bench", "", func(struct{}) (Source[event], error) { return benchSource[event]{event{"user-00001234", 7}}, nil })
	s, err := p.OpenSource(wire.SourceOpen{}, wire.Runtime{})
	require.NoError(b, err)
	defer s.Close()
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		e, err := s.Recv()
		require.NoError(b, err)
		if e.Batch != nil {
			n += e.Batch.N
			e.Batch.Release()
		}
	}
}

type benchSource[E any] struct{ event E }

func (s benchSource[E]) Run(_ context.Context, out *SourceContext[E]) error {
	for {
		if err := out.CollectWithTimestamp(s.event, 7); err != nil {
			return err
		}
	}
}
