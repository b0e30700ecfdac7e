package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type event struct {
	User string `tidemark:"user"`
	TS   int64  `tidemark:"ts,required"`
	Mark bool   `tidemark:"mark"`
}

type config struct {
	Delay time.Duration `name:"delay" default:"3500ms" help:"how far the watermark stays behind"`
}

// late is the assigner of the documentation.
type late struct{ delay, high int64 }

func (a *late) ExtractTimestamp(e event, _ int64) int64 {
	a.high = max(a.high, e.TS)
	return e.TS
}

func (a *late) CurrentWatermark() sdk.Watermark {
	if a.high < math.MinInt64+a.delay {
		return sdk.NoWatermark
	}
	return sdk.Watermark(a.high - a.delay)
}

func (a *late) Snapshot() ([]byte, error)  { return json.Marshal(a.high) }
func (a *late) Restore(state []byte) error { return json.Unmarshal(state, &a.high) }

func newLate(c config) (sdk.PeriodicAssigner[event], error) {
	return &late{c.Delay.Milliseconds(), math.MinInt64}, nil
}

func periodic(make func(config) (sdk.PeriodicAssigner[event], error)) sdk.Plugin {
	return sdk.NewPeriodicAssigner("late", "the highest timestamp minus a delay", make)
}

func TestAnAssignerStepByStep(t *testing.T) {
	a := sdktest.NewAssigner(t, periodic(newLate), sdktest.Options{"delay": "1s"})
	a.Record(map[string]any{"user": "a"}).Refused("missing_field").NoWatermark()
	a.Record(event{TS: 10_000}).Timestamp(10_000).Watermark(9_000)
	a.Record(event{TS: 8_000}).Timestamp(8_000).Watermark(9_000)
	a.Restart()
	a.Record(event{TS: 9_000}).Timestamp(9_000).Watermark(9_000)
	a.Record(event{TS: 10_500}).Timestamp(10_500).Watermark(9_500)
	a.Record(map[string]any{"ts": "noon"}).Refused(`the field "ts" is string, and the plugin wants int`)
}

func TestATickedAssigner(t *testing.T) {
	a := sdktest.NewTickedAssigner(t, periodic(newLate), nil)
	a.Tick().NoWatermark()
	a.Record(event{TS: 10_000}).Timestamp(10_000).NoWatermark()
	a.Tick().Watermark(6_500)
}

type punctual struct{}

func (punctual) ExtractTimestamp(e event, previous int64) int64 {
	if previous != sdk.NoTimestamp {
		return previous
	}
	return e.TS
}

func (punctual) CheckAndGetNextWatermark(e event, ts int64) (sdk.Watermark, bool) {
	return sdk.Watermark(ts - 3500), e.Mark
}

func TestAPunctuatedAssigner(t *testing.T) {
	p := sdk.NewPunctuatedAssigner("punctual", "at marked events", func(config) (sdk.PunctuatedAssigner[event], error) { return punctual{}, nil })
	a := sdktest.NewAssigner(t, p, nil)
	a.Record(event{TS: 10_000}).Timestamp(10_000).NoWatermark()
	a.Record(event{TS: 11_000, Mark: true}).Timestamp(11_000).Watermark(7_500)
	a.RecordAt(5_000, event{TS: 12_000, Mark: true}).Timestamp(5_000).Watermark(7_500)
	sdktest.Conforms(t, p, sdktest.Settings{NoSpeed: true})
}

type heartbeats struct{}

func (heartbeats) ExtractTimestamp(e event, _ int64) int64 { return e.TS }
func (heartbeats) Marker(e event) (sdk.Watermark, bool)    { return sdk.Watermark(e.TS), e.Mark }

func TestAMarkerAssigner(t *testing.T) {
	p := sdk.NewMarkerAssigner("heartbeats", "marked events carry time", func(config) (sdk.MarkerAssigner[event], error) { return heartbeats{}, nil })
	a := sdktest.NewAssigner(t, p, nil)
	a.Record(event{TS: 10_000}).Timestamp(10_000).Marker(false).NoWatermark()
	a.Record(event{TS: 11_000, Mark: true}).Marker(true).Watermark(11_000)
	a.Record(event{TS: 9_000, Mark: true}).Marker(true).Watermark(11_000)
	sdktest.Conforms(t, p, sdktest.Settings{NoSpeed: true})
}

func TestAGoodAssignerConforms(t *testing.T) {
	r := sdktest.Check(periodic(newLate), sdktest.Settings{})
	require.Empty(t, r.Findings)
	require.Contains(t, r.Passed, "over the wire: a snapshot and a restart at every place do not show")
	require.Contains(t, r.Passed, "nothing is left running")
	require.Positive(t, r.NsPerRow)
}

// third gives a watermark at every third event.
type third struct {
	*late
	n int
}

func (t *third) CurrentWatermark() sdk.Watermark {
	if t.n++; t.n%3 != 0 {
		return sdk.NoWatermark
	}
	return t.late.CurrentWatermark()
}

// forgetful has state and no snapshot.
type forgetful struct{ *third }

func (forgetful) Snapshot() {}

// wrapping subtracts without looking.
type wrapping struct{ *late }

func (w wrapping) CurrentWatermark() sdk.Watermark { return sdk.Watermark(w.high - w.delay) }

// random asks a die.
type random struct{ *late }

func (r random) ExtractTimestamp(e event, p int64) int64 {
	return r.late.ExtractTimestamp(e, p) + rand.Int64N(1000)
}

// shared keeps its state in one place for all partitions.
type shared struct{ *late }

// proud brings back one half of its state: the highest timestamp, not the count.
type proud struct{ *third }

// clumsy falls over what it does not expect.
type clumsy struct{ *late }

func (c clumsy) ExtractTimestamp(e event, p int64) int64 {
	if e.User == "" {
		panic("who are you?")
	}
	return c.late.ExtractTimestamp(e, p)
}

// Each of these has one thing wrong, and the kit says which.
func TestTheKitFindsWhatIsWrong(t *testing.T) {
	one := &late{1000, math.MinInt64}
	for name, c := range map[string]struct {
		make  func(*late) sdk.PeriodicAssigner[event]
		check string
		says  string
	}{
		"forgetful": {func(l *late) sdk.PeriodicAssigner[event] { return forgetful{&third{late: l}} }, "a snapshot and a restart", "implement sdk.Snapshotter"},
		"wrapping":  {func(l *late) sdk.PeriodicAssigner[event] { return wrapping{l} }, "missing and odd values", "wraps around"},
		"random":    {func(l *late) sdk.PeriodicAssigner[event] { return random{l} }, "batches do not show", "no randomness"},
		"shared":    {func(l *late) sdk.PeriodicAssigner[event] { return shared{one} }, "batches do not show", "no other instance"},
		"proud":     {func(l *late) sdk.PeriodicAssigner[event] { return proud{&third{late: l}} }, "a snapshot and a restart", "Restore does not bring back"},
		"clumsy":    {func(l *late) sdk.PeriodicAssigner[event] { return clumsy{l} }, "missing and odd values", "who are you?"},
	} {
		t.Run(name, func(t *testing.T) {
			r := sdktest.Check(periodic(func(config) (sdk.PeriodicAssigner[event], error) { return c.make(&late{1000, math.MinInt64}), nil }), sdktest.Settings{NoSpeed: true})
			var all string
			for _, f := range r.Findings {
				if all == "" || f.Check == "in process: "+c.check {
					all += f.String() + "\n"
				}
			}
			require.Contains(t, all+fmt.Sprint(r.Findings), c.check)
			require.Contains(t, all+fmt.Sprint(r.Findings), c.says)
		})
	}
}

// counter is a source that is right, or wrong in the way that it is told.
type counter struct{ wrong string }

type counterConfig struct {
	Rows int `name:"rows" default:"95" help:"how many"`
}

func (c *counter) Run(ctx context.Context, out *sdk.SourceContext[event]) error {
	p := out.Partition("p")
	at := p.Count()
	if c.wrong == "forgets" {
		at = 0
	}
	for i := at; i < 95; i++ {
		if err := p.CollectWithTimestamp(event{User: "u", TS: i}, i); err != nil && c.wrong != "deaf" {
			return err
		}
		if err := p.EmitWatermark(sdk.Watermark(i)); err != nil && c.wrong != "deaf" {
			return err
		}
	}
	if c.wrong == "deaf" {
		time.Sleep(7 * time.Second)
	}
	return nil
}

func newCounter(wrong string) sdk.Plugin {
	return sdk.NewSource("counter", "counts", func(counterConfig) (sdk.Source[event], error) { return &counter{wrong}, nil })
}

func TestAGoodSourceConforms(t *testing.T) {
	r := sdktest.Check(newCounter(""), sdktest.Settings{})
	require.Empty(t, r.Findings)
	require.Empty(t, r.Notes)
	require.Contains(t, r.Passed, "over the wire: a restart at every position loses and doubles nothing")
}

func TestASourceThatForgetsItsPositionIsFoundOut(t *testing.T) {
	r := sdktest.Check(newCounter("forgets"), sdktest.Settings{})
	require.Contains(t, fmt.Sprint(r.Findings), "a restart at every position")
	require.Contains(t, fmt.Sprint(r.Findings), `instead of`)
}

func TestASourceStepByStep(t *testing.T) {
	first := sdktest.RunSource(t, newCounter(""), nil, sdktest.Until{})
	require.NoError(t, first.Err)
	lines := first.Lines()
	require.Equal(t, []string{"p: partition", "p: user=u ts=0 mark=false @0", "p: watermark 0", "p: user=u ts=1 mark=false @1"}, lines[:4])
	require.Equal(t, "ended", lines[len(lines)-1])
	again := sdktest.RunSource(t, newCounter(""), nil, sdktest.Until{}, first.Restored()...)
	require.Equal(t, []string{"p: partition", "ended"}, again.Lines())
}

// shelf is a sink in memory.
type shelf struct {
	rows *[]string
	last *uint64
	bad  string
}

func (s shelf) LastDelivered(context.Context) (uint64, error) { return *s.last, nil }
func (s shelf) Close() error                                  { return nil }
func (s shelf) Write(_ context.Context, r sdk.Rows) error {
	for i := range r.Len() {
		if s.bad == "drops" && i == 50 {
			continue
		}
		*s.rows = append(*s.rows, string(r.Batch.Row(i)))
	}
	if s.bad != "miscounts" {
		*s.last = r.First + uint64(r.Len()) - 1
	}
	return nil
}

func checkShelf(bad string) sdktest.Report {
	var rows []string
	var last uint64
	p := sdk.NewSink("shelf", "keeps rows in memory", sdk.SinkTraits{Delivery: sdk.Transactional, Text: true},
		func(context.Context, struct{}) (sdk.Sink, error) { return shelf{&rows, &last, bad}, nil })
	return sdktest.Check(p, sdktest.Settings{Delivered: func() ([]string, error) { return rows, nil }})
}

func TestSinks(t *testing.T) {
	require.Empty(t, checkShelf("").Findings)
	require.Contains(t, fmt.Sprint(checkShelf("drops").Findings), "what was delivered is not what is there")
	require.Contains(t, fmt.Sprint(checkShelf("miscounts").Findings), "it says that the last one is 0")
}

type out struct {
	User string `tidemark:"user"`
	N    int    `tidemark:"n"`
}

type numberer struct{ n *int }

func (x numberer) Process(e event, emit func(out)) error {
	if e.User == "" {
		return errors.New("nobody")
	}
	if x.n != nil {
		*x.n++
		emit(out{e.User, *x.n % 5})
		return nil
	}
	emit(out{e.User, len(e.User)})
	emit(out{e.User, -1})
	return nil
}

func TestTransforms(t *testing.T) {
	make := func(n *int) sdk.Plugin {
		return sdk.NewTransform("numberer", "numbers users", func(struct{}) (sdk.Transform[event, out], error) { return numberer{n}, nil })
	}
	require.Empty(t, sdktest.Check(make(nil), sdktest.Settings{}).Findings)
	some := func(i int) any { return event{User: []string{"ann", "", "bob"}[i%3]} } // refused ones between others
	require.Empty(t, sdktest.Check(make(nil), sdktest.Settings{Record: some}).Findings)
	require.Contains(t, fmt.Sprint(sdktest.Check(make(new(int)), sdktest.Settings{Records: 7}).Findings), "no randomness")
}

func TestAPanicSaysWhereItWas(t *testing.T) {
	p := periodic(func(config) (sdk.PeriodicAssigner[event], error) { return clumsy{&late{}}, nil })
	r := sdktest.Check(p, sdktest.Settings{NoSpeed: true})
	require.Regexp(t, `panic: who are you\?, in sdktest_test\.clumsy\.ExtractTimestamp \(sdktest_test\.go:\d+\)`, fmt.Sprint(r.Findings))
}
