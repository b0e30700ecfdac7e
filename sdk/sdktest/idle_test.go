package sdktest_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

// hasty lets time pass while nothing comes.
type hasty struct {
	*late
	since time.Time
}

func (h *hasty) ExtractTimestamp(e event, p int64) int64 {
	h.since = time.Now()
	return h.late.ExtractTimestamp(e, p)
}

func (h *hasty) CurrentWatermark() sdk.Watermark {
	w := h.late.CurrentWatermark()
	if w != sdk.NoWatermark {
		w += sdk.Watermark(time.Since(h.since) / (20 * time.Millisecond))
	}
	return w
}

// early begins at 1970.
type early struct{ *late }

func TestAssignersInSilence(t *testing.T) {
	for _, c := range []struct {
		name string
		make func() sdk.PeriodicAssigner[event]
		says string
	}{
		{"good", func() sdk.PeriodicAssigner[event] { return &late{1000, math.MinInt64} }, ""},
		{"hasty", func() sdk.PeriodicAssigner[event] { return &hasty{late: &late{1000, math.MinInt64}} }, "there is idle_after in the pipeline"},
		{"early", func() sdk.PeriodicAssigner[event] { return early{&late{1000, 0}} }, "before its first record the watermark is -1000 (1969-12-31T23:59:59.000Z)"},
	} {
		r := sdktest.Check(periodic(func(config) (sdk.PeriodicAssigner[event], error) { return c.make(), nil }), sdktest.Settings{NoSpeed: true})
		var found string
		for _, f := range r.Findings {
			if f.Check == "in process: silence does not move time" {
				found = f.String()
			}
		}
		if c.says == "" {
			require.Empty(t, r.Findings)
			require.Contains(t, r.Passed, "over the wire: silence does not move time")
		}
		require.Contains(t, found, c.says, c.name)
	}
}

// waiter has three partitions and is silent after a while.
type waiter struct{ how string }

func (w waiter) Run(ctx context.Context, out *sdk.SourceContext[event]) error {
	out.Partition("a")
	b, c := out.Partition("b"), out.Partition("c")
	for _, p := range []*sdk.Partition[event]{b, c} {
		for p.Count() < 5 {
			if err := p.Collect(event{TS: p.Count()}); err != nil {
				return err
			}
		}
	}
	if w.how == "idle" {
		if err := out.Partition("a").MarkIdle(); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestPartitionsThatHoldBackTimeAreNoted(t *testing.T) {
	notes := func(how string) string {
		p := sdk.NewSource("waiter", "waits", func(struct{}) (sdk.Source[event], error) { return waiter{how}, nil })
		r := sdktest.Check(p, sdktest.Settings{NoSpeed: true, Until: sdktest.Until{After: 100 * time.Millisecond}})
		require.Empty(t, r.Findings)
		return fmt.Sprint(r.Notes)
	}
	require.Contains(t, notes(""), `partition "a" was made and has said nothing since: it holds back the time of all`)
	require.Contains(t, notes(""), "none of its 3 partitions was marked idle or ended meanwhile")
	require.NotContains(t, notes("idle"), "holds back")
}

// perUser counts users, of whom there is no end.
type perUser struct {
	*late
	env sdk.Env
}

func (c perUser) ExtractTimestamp(e event, p int64) int64 {
	c.env.Count("users_total", "by user", 1, "user", fmt.Sprint(e.TS))
	return c.late.ExtractTimestamp(e, p)
}

type perUserConfig struct{ sdk.Env }

func TestMetricsWithoutEndAreFoundOut(t *testing.T) {
	p := sdk.NewPeriodicAssigner("counting", "counts", func(c perUserConfig) (sdk.PeriodicAssigner[event], error) {
		return perUser{&late{1000, math.MinInt64}, c.Env}, nil
	})
	r := sdktest.Check(p, sdktest.Settings{NoSpeed: true})
	require.Len(t, r.Findings, 1)
	require.Equal(t, "its metrics can be shown", r.Findings[0].Check)
	require.Contains(t, r.Findings[0].String(), "users_total: it has more than 100 combinations of labels")
}
