package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/sdk"
)

// sideBySide is a source that reads each of its partitions in a goroutine of its own, as far as it is not held.
type sideBySide struct{ parts [][]event }

func (s *sideBySide) plugin() sdk.Plugin {
	return sdk.NewSource("told", "says what a test tells it", func(struct{}) (sdk.Source[event], error) { return s, nil }, sdk.HoldsPartitions())
}

func (s *sideBySide) Run(_ context.Context, out *sdk.SourceContext[event]) error {
	var partitions []*sdk.Partition[event]
	for p := range s.parts {
		partitions = append(partitions, out.Partition(fmt.Sprint(p)))
	}
	var group errgroup.Group
	for p, events := range s.parts {
		group.Go(func() error {
			for _, e := range events {
				if err := partitions[p].WaitWhileHeld(); err != nil {
					return err
				}
				if err := partitions[p].Collect(e); err != nil {
					return err
				}
			}
			return partitions[p].End()
		})
	}
	return group.Wait()
}

// Which partitions wait for which, and for how long, shows in no result: the same rows come as without max_drift, in the same order. And none
// waits for ever.
func TestPartitionsThatAreKeptTogetherGiveTheSameRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(kindsOfWindow).Draw(rt, "window")
		bound := bounds.Draw(rt, "bound")
		var parts [][]event
		for p := range rapid.IntRange(1, 4).Draw(rt, "partitions") {
			parts = append(parts, records(rt, p, bound))
		}
		if kind.session {
			parts = withoutTouching(parts)
		}
		var all []event
		for _, p := range parts {
			all = append(all, p...)
		}
		text := toldPipeline(kind.text, time.Duration(bound)*time.Millisecond, rapid.SampledFrom([]int{1, 2, 7}).Draw(rt, "batch"))
		want, late := runTold(t, rt, &told{partitions: len(parts), events: all}, text, 2)
		require.Empty(rt, late)

		drift := rapid.SampledFrom([]string{"1ms", "100ms", "1s", "20s"}).Draw(rt, "drift")
		text = strings.Replace(text, `unit = "ms"`, `unit = "ms"`+"\nmax_drift = \""+drift+`"`, 1)
		r := newRig(t, (&sideBySide{parts}).plugin())
		r.size = rapid.IntRange(1, 5).Draw(rt, "shards")
		p := r.pipeline(text)
		require.NoError(rt, p.Run(context.Background()))
		s := p.Summary()
		require.NoError(rt, s.Check())
		require.EqualValues(rt, len(all), s.In)
		require.Equal(rt, want, r.got("out"))
		require.Empty(rt, r.got("late"))
	})
}

// tortoise is a source of two partitions. The hare says records, an hour after each other, for as long as it is not held; the tortoise waits
// until that has happened before it moves, and ends when the hare goes on: each of them proves that the daemon has said so.
type tortoise struct{ ran, after int }

func (s *tortoise) Run(ctx context.Context, out *sdk.SourceContext[event]) error {
	hare, slow := out.Partition("hare"), out.Partition("tortoise")
	at := int64(0)
	if err := slow.Collect(event{Key: "tortoise", TS: 1}); err != nil {
		return err
	}
	if err := slow.Flush(); err != nil {
		return err
	}
	for !hare.Held() {
		at += time.Hour.Milliseconds()
		s.ran++
		if err := hare.Collect(event{Key: "hare", TS: at}); err != nil {
			return err
		}
		if err := hare.Flush(); err != nil {
			return err
		}
	}
	for now := int64(0); ; { // the hare has its place, and the tortoise catches up
		change := out.HoldsChange()
		if !hare.Held() {
			break
		}
		if now += time.Hour.Milliseconds(); now <= at {
			if err := slow.Collect(event{Key: "tortoise", TS: now}); err != nil {
				return err
			}
			continue
		}
		if err := slow.Flush(); err != nil {
			return err
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.after++
	return hare.Collect(event{Key: "hare", TS: at + 1})
}

// Without max_drift this source would never end.
func TestAPartitionThatIsAheadIsHeldUntilTheOthersHaveCaughtUp(t *testing.T) {
	s := &tortoise{}
	r := newRig(t, sdk.NewSource("told", "a race", func(struct{}) (sdk.Source[event], error) { return s, nil }, sdk.HoldsPartitions()))
	text := strings.Replace(toldPipeline(kindsOfWindow[0].text, 0, 64), `unit = "ms"`, "unit = \"ms\"\nmax_drift = \"2h\"", 1)
	_, summary := r.run(text)
	require.EqualValues(t, 0, summary.Late)
	require.Equal(t, 1, s.after)
	require.GreaterOrEqual(t, s.ran, 3)
}
