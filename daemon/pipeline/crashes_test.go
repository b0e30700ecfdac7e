package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// failing opens transforms with these errors, one after the other, then well.
type failing struct {
	pipeline.Plugins
	errs  []error
	opens *int
}

func (f failing) OpenTransform(ctx context.Context, o wire.TransformOpen, i host.Isolation) (wire.Transform, error) {
	n := *f.opens
	*f.opens++
	if n < len(f.errs) {
		return nil, f.errs[n]
	}
	return f.Plugins.OpenTransform(ctx, o, i)
}

func TestAPluginThatCrashesAgainAndAgainIsNotStartedForEver(t *testing.T) {
	plugin := sdk.NewTransform("twice", "says everything twice", func(struct{}) (sdk.Transform[pair, pair], error) { return &twice{}, nil })
	died := fmt.Errorf("open: %w", &host.Failure{Kind: sdk.KindTransform, Name: "twice", Path: "/x", Reason: host.Died, Detail: "the process has ended (exit status 7)"})
	world := errors.New("no route to host")
	for name, c := range map[string]struct {
		errs  []error
		opens int
		loop  bool
	}{
		"four crashes in a row":                      {[]error{died, died, died, died}, 4, true},
		"three are forgiven":                         {[]error{died, died, died}, 4, false},
		"a failure of the world in between":          {[]error{died, died, died, world, died, died, died}, 8, false},
		"failures of the world are tried for longer": {[]error{world, world, world, world, world, world, world, world}, 9, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plugin)
			p, view := r.plan(fmt.Sprintf(`
[sources.s]
plugin = "file"
path = %q
decode = { format = "delimited", fields = ["user", "ts:int"] }
[transforms.twice]
type = "plugin"
plugin = "twice"
isolation = "none"
inputs = ["s"]
[sinks.out]
plugin = "capture"
inputs = ["twice"]
[restart]
backoff = "1ms"
max_backoff = "1ms"
max_crashes = 4
`, r.file("in", "a 1")))
			opens := 0
			run := pipeline.New(p, pipeline.Settings{Clock: r.clock, Plugins: failing{view, c.errs, &opens}, StateDir: r.state, Log: hclog.NewNullLogger()})
			err := run.Run(context.Background())
			require.Equal(t, c.opens, opens)
			if !c.loop {
				require.NoError(t, err)
				require.Len(t, r.got("out"), 2)
				return
			}
			var loop *pipeline.CrashLoopError
			require.ErrorAs(t, err, &loop)
			require.Equal(t, 4, loop.Failures)
			require.ErrorContains(t, err, "exit status 7")
			require.ErrorContains(t, err, "failure 4 in a row of a plugin, so it is not started again (max_crashes in [restart])")
			var failure *host.Failure
			require.ErrorAs(t, err, &failure)
			require.Equal(t, pipeline.Failed, run.State())
		})
	}
}

// useless fails with every record.
type useless struct{}

func (useless) Process(pair, func(pair)) error { panic("no licence") }

// uselessBatches answers every call with an error, and stays alive.
type uselessBatches struct{}

func (uselessBatches) ProcessBatch(*sdk.Transformation) error { return errors.New("no licence") }

func (useless) ExtractTimestamp(pair, int64) int64 { panic("no licence") }
func (useless) CurrentWatermark() sdk.Watermark    { return sdk.NoWatermark }

// The search for poison must not convict a plugin's records one by one when it is the plugin that is of no use.
func TestAPluginThatFailsWithEveryRecordIsItselfToBlame(t *testing.T) {
	for _, kind := range []string{"a transform that returns errors", "a transform that dies", "an assigner that dies"} {
		t.Run(kind, func(t *testing.T) {
			transform := sdk.NewTransform("useless", "", func(struct{}) (sdk.Transform[pair, pair], error) { return useless{}, nil })
			if kind == "a transform that returns errors" {
				transform = sdk.NewBatchTransform("useless", "", nil, nil, func(struct{}) (sdk.BatchTransform, error) { return uselessBatches{}, nil })
			}
			r := newRig(t, transform,
				sdk.NewPeriodicAssigner("useless", "", func(struct{}) (sdk.PeriodicAssigner[pair], error) { return useless{}, nil }))
			assigner, step, input := "assigner = \"useless\"", "", "s"
			if kind != "an assigner that dies" {
				assigner, input = "", "t"
				step = "[transforms.t]\ntype = \"plugin\"\nplugin = \"useless\"\nisolation = \"none\"\ninputs = [\"s\"]\n"
			}
			var lines []string
			for i := range 100 {
				lines = append(lines, fmt.Sprintf("user%d %d", i%3, i))
			}
			p := r.pipeline(fmt.Sprintf(`
[sources.s]
plugin = "file"
path = %q
decode = { format = "delimited", fields = ["user", "ts:int"] }
[sources.s.time]
timestamp = "ts"
unit = "s"
%s
%s
[sinks.out]
plugin = "capture"
inputs = [%q]
[restart]
backoff = "1ms"
max_backoff = "1ms"
max_crashes = 7
`, r.file("in", lines...), assigner, step, input))
			err := p.Run(context.Background())
			var loop *pipeline.CrashLoopError
			require.ErrorAs(t, err, &loop)
			require.Equal(t, 7, loop.Failures)
			require.Equal(t, 2, loop.Refused, "a failure among others and two alone, each")
			require.ErrorContains(t, err, "no licence")
			require.ErrorContains(t, err, "the 2 that were refused meanwhile (reason poison) are hardly to blame")
			require.Equal(t, pipeline.Failed, p.State())
		})
	}
}
