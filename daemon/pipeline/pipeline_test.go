package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state/deadletter"
)

const clicks = `
[sources.clicks]
plugin = "file"
path = %q
decode = { format = "delimited", delimiter = " ", fields = ["user:string", "ts:int"] }
[sources.clicks.time]
timestamp = "ts"
unit = "s"
max_out_of_orderness = "%s"

[transforms.per_user]
type = "window"
inputs = ["clicks"]
key_by = ["user"]
window = { type = "tumbling", size = "5s" }
[transforms.per_user.aggregate]
events = "count()"

[sinks.out]
plugin = "capture"
inputs = ["per_user"]
time_format = "epoch_ms"
`

func TestCountsInEventTimeWindows(t *testing.T) {
	r := newRig(t)
	rows, s := r.run(fmt.Sprintf(clicks, r.file("in", "a 1", "b 2", "a 4", "a 7", "a 3", "b 12", "a 2"), "5s"))
	require.Equal(t, sorted([]string{
		`{"user":"a","window_start":0,"window_end":5000,"events":3}`,
		`{"user":"b","window_start":0,"window_end":5000,"events":1}`,
		`{"user":"a","window_start":5000,"window_end":10000,"events":1}`,
		`{"user":"b","window_start":10000,"window_end":15000,"events":1}`,
	}), sorted(rows))
	require.EqualValues(t, 7, s.In)
	require.EqualValues(t, 1, s.Late, "the last line comes when [0 s, 5 s) has been closed by 12 s - 5 s")
	require.EqualValues(t, 3, s.Firings)
	require.EqualValues(t, 1, s.DeadLetters)
}

func TestResultsDoNotDependOnShardsWorkersAndBatches(t *testing.T) {
	var lines []string
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("user%d %d", i*7919%97, i/20-i*31%11))
	}
	var want []string
	for _, size := range []int{1, 2, 5} {
		for _, batch := range []int{4096, 100, 7} {
			r := newRig(t)
			r.size = size
			text := fmt.Sprintf(clicks, r.file("in", lines...), "3s") + fmt.Sprintf("[pipeline]\nbatch_rows = %d\n", batch)
			rows, s := r.run(text)
			if want == nil {
				want = rows
				require.Greater(t, s.Late, int64(0))
				require.Greater(t, len(want), 1000)
			}
			require.Equal(t, want, rows, "size %d, batches of %d", size, batch)
		}
	}
}

// Somebody who waits in front of the screen is told at once what keeps a pipeline from starting; a service tries again.
func TestWhatKeepsAPipelineFromStarting(t *testing.T) {
	text := fmt.Sprintf(clicks, filepath.Join(t.TempDir(), "nothing"), "5s")
	r := newRig(t)
	plan, view := r.plan(text)
	p := pipeline.New(plan, pipeline.Settings{Clock: r.clock, Plugins: view, StateDir: r.state, Log: hclog.NewNullLogger(), Foreground: true})
	err := p.Run(context.Background())
	var start *pipeline.StartError
	require.ErrorAs(t, err, &start)
	require.ErrorContains(t, err, "there is no file")
	require.Equal(t, pipeline.Failed, p.State())

	ctx, stop := context.WithCancel(context.Background())
	p = r.pipeline(text)
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	require.Eventually(t, func() bool { return p.State() == pipeline.Waiting }, time.Minute, time.Millisecond)
	stop()
	require.NoError(t, <-done)
}

// A failure behind the first record is tried again, whoever waits.
func TestAFailureInTheMiddleIsNoFailureToStart(t *testing.T) {
	r := newRig(t)
	r.failAt = 1
	plan, view := r.plan("[restart]\nmax_attempts = 1\n" + fmt.Sprintf(clicks, r.file("in", "a 1", "a 20"), "5s"))
	p := pipeline.New(plan, pipeline.Settings{Clock: r.clock, Plugins: view, StateDir: r.state, Log: hclog.NewNullLogger(), Foreground: true})
	err := p.Run(context.Background())
	var start *pipeline.StartError
	require.Error(t, err)
	require.False(t, errors.As(err, &start))
}

// A header without a column that the pipeline wants ends a source of which nothing has been read; later ones only refuse their rows.
func TestAHeaderThatLacksAColumn(t *testing.T) {
	text := strings.Replace(clicks, `decode = { format = "delimited", delimiter = " ", fields = ["user:string", "ts:int"] }`, `read = "in_order"
decode = { format = "csv" }`, 1)
	r := newRig(t)
	p := r.pipeline(fmt.Sprintf(text, r.file("in", "user,time", "a,1", "b,2"), "5s"))
	require.ErrorContains(t, p.Run(context.Background()), `the header has no column "ts"; it has user, time`)
	require.Equal(t, pipeline.Failed, p.State())
	require.Zero(t, p.Summary().DeadLetters)

	r = newRig(t)
	good := r.file("in1", "user,ts", "a,1")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(good), "in2"), []byte("user,time\na,2\n"), 0o600))
	rows, s := r.run(fmt.Sprintf(text, strings.TrimSuffix(good, "1")+"?", "5s"))
	require.Len(t, rows, 1)
	require.EqualValues(t, 1, s.Rejected)
}

// pickySink refuses rows that hold its word for good, and takes nothing at all while it is down.
type pickySink struct {
	mu   sync.Mutex
	down bool
	rows []string
}

func (p *pickySink) plugin() sdk.Plugin {
	return sdk.NewSink("picky", "takes what it likes", sdk.SinkTraits{Delivery: sdk.Idempotent, Text: true},
		func(context.Context, struct{}) (sdk.Sink, error) { return p, nil })
}

func (p *pickySink) Write(_ context.Context, d sdk.Rows) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return errors.New("nobody is there")
	}
	var refused sdk.RowsRefused
	for i := range d.Len() {
		if text := string(d.Batch.Row(i)); strings.Contains(text, "bad") {
			refused.Rows = append(refused.Rows, batch.BadRow{Row: uint32(i), Code: "disliked", Message: "it is bad"})
		} else {
			p.rows = append(p.rows, text)
		}
	}
	if refused.Rows != nil {
		return &refused
	}
	return nil
}

func (p *pickySink) Close() error { return nil }

const plain = `
[sources.in]
plugin = "file"
path = %q
%s

[sinks.out]
plugin = "picky"
inputs = ["in"]
retry = { backoff = "1h", max_backoff = "1h" }
`

// A row that a sink refuses after the last commit of the sources is in the store of dead letters when the pipeline has finished.
func TestALetterOfTheLastDeliveryIsKept(t *testing.T) {
	sink := &pickySink{}
	r := newRig(t, sink.plugin())
	_, s := r.run(fmt.Sprintf(plain, r.file("in", `{"a":"good"}`, `{"a":"bad"}`, `{"a":"fine"}`), ""))
	require.Equal(t, []string{`{"a":"good"}`, `{"a":"fine"}`}, sink.rows)
	require.EqualValues(t, 1, s.DeadLetters)
	var letters []string
	require.NoError(t, deadletter.Read(vfs.Default, filepath.Join(r.state, pipeline.LettersFolder), deadletter.Filter{}, func(l deadletter.Letter) error {
		letters = append(letters, l.Code+" "+string(l.Raw))
		return nil
	}))
	require.Equal(t, []string{`disliked {"a":"bad"}`}, letters)
}

// A stop does not wait for a sink that fails; its rows go out in the next run.
func TestAStopWhileASinkIsDown(t *testing.T) {
	sink := &pickySink{down: true}
	r := newRig(t, sink.plugin())
	text := fmt.Sprintf(plain, r.file("in", `{"a":1}`), "follow = true")
	p := r.pipeline(text)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	require.Eventually(t, func() bool { return p.Summary().In == 1 }, 30*time.Second, time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	require.Equal(t, pipeline.Stopped, p.State())
	require.Empty(t, sink.rows)

	sink.down = false
	p = r.pipeline(text)
	ctx, stop = context.WithCancel(context.Background())
	go func() { ended <- p.Run(ctx) }()
	require.Eventually(t, func() bool { return p.Summary().Delivered == 1 }, 30*time.Second, time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	require.Equal(t, []string{`{"a":1}`}, sink.rows)
}
