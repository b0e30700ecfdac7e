package bench

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/baseline"
	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
)

func TestSpread(t *testing.T) {
	require.Equal(t, Spread{}, spread(nil))
	require.Equal(t, Spread{N: 3, Median: 2, Min: 1, Max: 9}, spread([]float64{9, 1, 2}))
	require.Equal(t, Spread{N: 4, Median: 2.5, Min: 1, Max: 9}, spread([]float64{9, 1, 2, 3}))
}

// A machine that is busy in one round is busy for both: the ratio of neighbours says more than that of the medians.
func TestRatiosCompareNeighbours(t *testing.T) {
	r := &Report{Workloads: []WorkloadReport{{Name: "w2b", Records: 100, Truth: Truth{Seconds: 1}, Contestants: []ContestantReport{
		{Name: "I", Samples: []Sample{{Round: 1, Seconds: 2}, {Round: 2, Seconds: 20}, {Round: 3, Seconds: 4}}},
		{Name: "limit", Samples: []Sample{{Round: 1, Seconds: 1}, {Round: 2, Seconds: 10}, {Round: 4, Seconds: 1}}},
	}}}}
	r.Finish()
	require.Len(t, r.Ratios, 1)
	require.Equal(t, Spread{N: 2, Median: 0.5, Min: 0.5, Max: 0.5}, r.Ratios[0].Values)
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	require.Contains(t, b.String(), "w2b I against limit  0.50 (0.50-0.50)")
	require.Contains(t, b.String(), "goal 0.75: not reached")
	require.Empty(t, r.Wrong())
}

func TestAWrongRunIsInTheReport(t *testing.T) {
	r := &Report{Workloads: []WorkloadReport{{Name: "w3", Records: 1, Truth: Truth{Seconds: 1, Digest: baseline.Digest{Rows: 1}}, Contestants: []ContestantReport{{Name: "R"}}}}}
	r.put("w3", "R", Sample{Round: 1, Seconds: 1, Wrong: "1 result is missing"})
	r.Finish()
	require.Equal(t, []string{"w3, R: 1 result is missing"}, r.Wrong())
}

func TestContestants(t *testing.T) {
	names := func(o Options, name string) (out []string) {
		w, err := workload.Find(name)
		require.NoError(t, err)
		for _, c := range o.contestants(w) {
			out = append(out, c.Name)
		}
		return out
	}
	require.Equal(t, []string{"R", "I", "limit"}, names(Options{Limit: true}, "w2b"))
	require.Equal(t, []string{"R", "I"}, names(Options{Limit: true}, "w5"), "the prototype knows one job")
	require.Equal(t, []string{"R", "other R"}, names(Options{Other: "x"}, "w10"), "a user's plugin is a process")
	require.Equal(t, []string{"I", "other I"}, names(Options{Other: "x", Modes: []Mode{InProcess}}, "w3"))
}

// A window is closed by the first record whose watermark reaches its last instant; one record can close several.
func TestClosers(t *testing.T) {
	p := &prepared{Workload: workload.Workload{Size: time.Second, Input: workload.Input{}}, path: t.TempDir() + "/in"}
	p.Input.Events.Disorder = 200
	require.NoError(t, writeAside(p.path, writeText("a 10\na 1199\na 900\na 1200\na 1300\na 3200\na 3300\n")))
	got, err := p.closers()
	require.NoError(t, err)
	require.Equal(t, map[int64]int64{0: 1, 1000: 3, 2000: 5, 3000: 5}, got)
}

// What is written last, while nobody looks any more, counts too: it would be the slowest results that are missing.
func TestTheLastArrivalsCount(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	path := t.TempDir() + "/out"
	require.NoError(t, writeAside(path, writeText(`{"key":"a","window_end":"1970-01-01T00:00:01.000Z"}
{"key":"a","window_end":"1970-01-01T00:00:02.000Z"}
`)))
	begun := time.Now().Add(-time.Hour)
	ages, rows, err := arrivals(ctx, path, func(end int64) (time.Time, bool) { return begun, end == 1000 })
	require.NoError(t, err)
	require.EqualValues(t, 2, rows)
	require.Len(t, ages, 1, "the input's end closes the second window")
	require.GreaterOrEqual(t, ages[0], 3_600_000.0)
	_, rows, err = arrivals(ctx, path+"-that-is-not-there", nil)
	require.NoError(t, err)
	require.Zero(t, rows)
}

func TestQuantiles(t *testing.T) {
	var ages []float64
	for i := range 1000 {
		ages = append(ages, float64(999-i))
	}
	require.Equal(t, &Latency{Rows: 1000, P50: 500, P99: 990, P999: 999, Max: 999}, quantiles(ages))
	require.Equal(t, &Latency{}, quantiles(nil))
}

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestPeersTakePartInTheOneJobTheyKnow(t *testing.T) {
	o := Options{Limit: true, Peers: []Peer{{Name: "theirs", Command: []string{"/bin/theirs"}}}}
	for name, want := range map[string][]string{"w2a": {"R", "I", "limit", "theirs"}, "w3": {"R", "I", "limit", "theirs"}, "w5": {"R", "I"}, "w8": {"R"}, "w9": {"R", "I"}} {
		w, err := workload.Find(name)
		require.NoError(t, err)
		var got []string
		for _, c := range o.contestants(w) {
			got = append(got, c.Name)
		}
		require.Equal(t, want, got, name)
	}
}

// What a peer says of its job alone is what it is compared by; what its whole process took is told beside it.
func TestAPeerIsComparedByItsJobAlone(t *testing.T) {
	r := newReport(Options{Peers: []Peer{{Name: "theirs"}}})
	r.Workloads = []WorkloadReport{{Name: "w2a", Records: 100, Truth: Truth{Seconds: 1}, Contestants: []ContestantReport{
		{Name: "I", Samples: []Sample{{Round: 1, Seconds: 1, CPUSeconds: 1}}},
		{Name: "theirs", Samples: []Sample{{Round: 1, Seconds: 10, CPUSeconds: 20, Whole: &Whole{Seconds: 25, CPUSeconds: 50, Version: "theirs 1.0"}}}},
	}}}
	r.Finish()
	require.Len(t, r.Ratios, 1)
	require.Equal(t, "w2a I against theirs", r.Ratios[0].What)
	require.Equal(t, 10.0, r.Ratios[0].Values.Median)
	require.Equal(t, 20.0, r.Ratios[0].CPU.Median)
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	require.Contains(t, b.String(), "theirs: theirs 1.0; its job alone. The whole process took 25.00 s, 50.00 s of CPU")
}

// The moments of a kill are told apart: after one in the middle of a window, the rest of its input comes before the next result.
func TestKillsAreToldApart(t *testing.T) {
	r := &Report{Workloads: []WorkloadReport{{Name: "w8", Records: 1, Truth: Truth{Seconds: 1}, Contestants: []ContestantReport{{Name: "R", Samples: []Sample{
		{Round: 1, Seconds: 9, Recovery: &Recovery{Kills: []Kill{{Moment: AtRandom, FirstRecord: 0.2, FirstResult: 3}, {Moment: InResults, FirstRecord: 0.1, FirstResult: 0.3}}}},
		{Round: 2, Seconds: 9, Recovery: &Recovery{Kills: []Kill{{Moment: AtRandom}, {Moment: InResults, FirstRecord: 0.3, FirstResult: 0.5}}}},
	}}}}}}
	r.Finish()
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	require.Contains(t, b.String(), "R, killed while results were being written: first record 0.200 s (0.100-0.300, n=2), first new result 0.400 s (0.300-0.500, n=2)")
	require.Contains(t, b.String(), "R, killed at a random moment: first record 0.200 s (0.200-0.200, n=1), first new result 3.000 s (3.000-3.000, n=1)")
}

// A life ends at its moment, and knows when something new stood in the output.
func TestALifeIsEndedAtItsMoment(t *testing.T) {
	output := t.TempDir() + "/out"
	begun := time.Now()
	require.NoError(t, writeAside(output, writeText("0123456789")))
	written := &life{output: output, stood: 4, moment: InResults, bytes: 9}
	require.ErrorIs(t, written.watch(context.Background(), begun), errKilled)
	require.Positive(t, written.grown)

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	short := &life{output: output, stood: 10, moment: InResults, bytes: 10}
	require.NoError(t, short.watch(ended, begun), "as much as there was is nothing new")
	require.Zero(t, short.grown)

	random := &life{output: output, stood: 10, moment: AtRandom, after: time.Nanosecond}
	require.ErrorIs(t, random.watch(context.Background(), begun), errKilled)
	last := &life{output: output, never: true}
	require.NoError(t, last.watch(context.Background(), begun))
}
