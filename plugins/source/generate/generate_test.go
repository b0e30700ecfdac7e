package generate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/source/sourcetest"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func lines(w Workload, n int, write func([]byte, Event) []byte) []string {
	g, err := NewGenerator(w)
	if err != nil {
		panic(err)
	}
	var out []string
	for range n {
		out = append(out, strings.TrimSuffix(string(write(nil, g.Next())), "\n"))
	}
	return out
}

// Benchmarks are compared over years, so these lines must never change.
func TestTheLinesAreTheSameForEver(t *testing.T) {
	require.Equal(t, `{"key":"user-00005191","ts":1699999999894,"region":"eu-west-1","type":"login","value":88.04,"seq":10000000}`,
		lines(DefaultWorkload(), 1, AppendJSON)[0])
	require.Equal(t, "user-00005191 1699999999894", lines(DefaultWorkload(), 1, AppendPair)[0])
	w := DefaultWorkload()
	w.Keys, w.Rate = 100, 1000
	require.Equal(t, []string{
		`{"ts":1699999999894,"page":"/docs/windows","user":"u051","dwell_ms":8804}`,
		`{"ts":1699999999991,"page":"/pricing","user":"u048","dwell_ms":78058}`,
	}, lines(w, 2, AppendPageView))
}

// The published measurements rest on an input with these numbers of events in its first windows of 5 s.
func TestTheMeasuredWorkload(t *testing.T) {
	g, err := NewGenerator(DefaultWorkload())
	require.NoError(t, err)
	windows := map[int64]int{}
	for range 800_000 {
		windows[(g.Next().Time-1_700_000_000_000+5000)/5000]++
	}
	require.Equal(t, []int{50163, 249726, 249985}, []int{windows[0], windows[1], windows[2]})
}

func TestAResumedGeneratorGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Workload{
			Seed: rapid.Uint64().Draw(t, "seed"), Keys: rapid.IntRange(1, 50).Draw(t, "keys"), Rate: 100,
			Disorder: rapid.Int64Range(0, 100).Draw(t, "disorder"), Start: rapid.Int64Range(-1e6, 1e6).Draw(t, "start"),
			Skew: rapid.SampledFrom([]float64{0, 1.1}).Draw(t, "skew"),
		}
		g, err := NewGenerator(w)
		require.NoError(t, err)
		for range rapid.IntRange(0, 20).Draw(t, "before") {
			g.Next()
		}
		w.Start = 99 // belongs to the position, not to the restarted run
		again, err := NewGenerator(w)
		require.NoError(t, err)
		require.NoError(t, again.Resume(g.Position()))
		for range 5 {
			require.Equal(t, g.Next(), again.Next())
		}
	})
	g, err := NewGenerator(DefaultWorkload())
	require.NoError(t, err)
	require.Error(t, g.Resume([]byte{1, 2, 3}))
	require.Error(t, g.Resume(nil))
}

func TestTheSourceMakesWhatTheGeneratorSays(t *testing.T) {
	o := sourcetest.Options{"records": "events", "count": 3000, "keys": 10, "event_rate": 50000.0, "start": "2023-11-14T22:13:20Z"}
	r := sourcetest.Start(t, Plugin(), o)
	require.NoError(t, r.Wait())
	w := DefaultWorkload()
	w.Keys = 10
	require.Equal(t, lines(w, 3000, AppendJSON), r.Rows())
	require.True(t, r.Ended())
}

func TestTheSourceGoesOnAfterARestart(t *testing.T) {
	o := sourcetest.Options{"count": 5000}
	whole := sourcetest.Start(t, Plugin(), o)
	require.NoError(t, whole.Wait())
	first := whole.Restore()
	first[0].Position = []byte(whole.Of("default").Positions[1]) // the commit was after the second batch
	first[0].Ended = false
	rest := sourcetest.Start(t, Plugin(), o, first...)
	require.NoError(t, rest.Wait())
	require.Equal(t, whole.Rows()[2*batchRows:], rest.Rows())

	after := sourcetest.Start(t, Plugin(), o, rest.Restore()...)
	require.NoError(t, after.Wait())
	require.Empty(t, after.Rows(), "everything had been made")
}

func TestPartitionsShareTheCount(t *testing.T) {
	r := sourcetest.Start(t, Plugin(), sourcetest.Options{"count": 10, "partitions": 3, "records": "template", "template": "{{.Number}} {{.Key}}"})
	require.NoError(t, r.Wait())
	require.Equal(t, []string{"000", "001", "002"}, r.Names())
	for name, n := range map[string]int{"000": 4, "001": 3, "002": 3} {
		require.Len(t, r.Of(name).Rows, n)
		require.True(t, r.Of(name).Ended)
	}
}

func TestAPacerHoldsItsRate(t *testing.T) {
	start := time.Unix(0, 0)
	p := newPacer(1000, start)
	require.Equal(t, 0, p.due(start, 100))
	require.Equal(t, 5, p.due(start.Add(5*time.Millisecond), 100))
	require.Equal(t, 0, p.due(start.Add(5*time.Millisecond), 100))
	require.Equal(t, 100, p.due(start.Add(time.Second), 100), "a batch at a time")
	sum := 0
	for n := 1; n > 0; sum += n {
		n = p.due(start.Add(time.Second), 100)
	}
	require.Equal(t, 895, sum, "a pause is made up for")
}

func TestOptionsThatCannotBe(t *testing.T) {
	for options, want := range map[string]string{
		`{"records":"jsonl"}`:                    "jsonl",
		`{"records":"template"}`:                 "needs a template",
		`{"template":"x"}`:                       "has no template",
		`{"start":"yesterday"}`:                  `"yesterday" is neither`,
		`{"keys":0}`:                             "0 is not at least 1",
		`{"skew":0.5}`:                           "0.5 is not possible",
		`{"partitions":0}`:                       "not between",
		`{"disorder":"-1s"}`:                     "negative",
		`{"records":"template","template":"{{"}`: "template",
	} {
		require.ErrorContains(t, Plugin().CheckOptions([]byte(options)), want, options)
	}
}

func BenchmarkNext(b *testing.B) {
	for name, write := range map[string]func([]byte, Event) []byte{"json": AppendJSON, "pair": AppendPair} {
		b.Run(name, func(b *testing.B) {
			g, err := NewGenerator(DefaultWorkload())
			require.NoError(b, err)
			var buf []byte
			b.ReportAllocs()
			for range b.N {
				buf = write(buf[:0], g.Next())
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func ExampleGenerator() {
	g, err := NewGenerator(DefaultWorkload())
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s", AppendPair(nil, g.Next()))
	// Output: user-00005191 1699999999894
}

// While a partition is held the others make their records, and then it goes on where it was.
func TestAHeldPartitionMakesNothing(t *testing.T) {
	options := []byte(`{"count":200000,"partitions":2}`)
	source, err := Plugin().OpenSource(wire.SourceOpen{Options: options}, wire.Runtime{})
	require.NoError(t, err)
	defer source.Close()
	rows, ended := map[uint32]int{}, map[uint32]bool{}
	next := func() wire.SourceEvent {
		e, err := source.Recv()
		require.NoError(t, err)
		if e.Batch != nil {
			rows[e.Partition] += e.Batch.N
			e.Batch.Release()
		}
		ended[e.Partition] = ended[e.Partition] || e.Kind == wire.PartitionEnded
		return e
	}
	require.Equal(t, "000", next().Name)
	require.NoError(t, source.(wire.Holder).Hold(0, true))
	for !ended[1] {
		next()
	}
	require.Less(t, rows[0], 50_000, "what was made before the hold is a few batches")
	require.NoError(t, source.(wire.Holder).Hold(0, false))
	for next().Kind != wire.SourceEnded {
	}
	require.Equal(t, map[uint32]int{0: 100_000, 1: 100_000}, rows)
}
