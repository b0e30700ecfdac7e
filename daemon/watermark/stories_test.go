package watermark

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// TestStories plays testdata/stories. A file is a story about one source (its partitions are single letters, times are durations such as
// 1m30s) or about the inputs of one operator. Commands:
//
//	source [idle_after=D] [on_all_idle=hold] [announce_on_row] [granularity=D] [began=T]    a new source
//	add|remove|end|hold|resume|idle p                          what happens to a partition
//	rows p [T,T,...]                                           a batch of rows; "w=T" inside it is a mark at its place
//	tick                                                       idleness is looked at, and everything recombined
//	now T                                                      processing time moves to T
//	status                                                     each partition's state
//	why                                                        who holds the watermark
//	restore                                                    everything goes through a snapshot
//	finish                                                     the source ends
//	valve n                                                    an operator with n inputs
//	input i [w=T,...|idle|active|end]                          what happens to an input
//
// go test ./daemon/watermark -run Stories -rewrite writes the expectations anew: only when it can be said why they changed.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := &story{t: t}
		datadriven.RunTest(t, path, s.run)
	})
}

type story struct {
	t     *testing.T
	p     *Partitions
	set   PartitionsSettings
	valve *Valve
	now   int64
}

func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	s.t = t
	arg := func(i int) string { return d.CmdArgs[i].Key }
	var out strings.Builder
	events := func(list []Event) {
		for _, e := range list {
			if e.Kind == Rise {
				fmt.Fprintf(&out, "watermark %s\n", span(e.Watermark))
			} else {
				fmt.Fprintln(&out, e.Kind)
			}
		}
	}
	switch d.Cmd {
	case "source":
		s.set = PartitionsSettings{}
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "idle_after":
				s.set.IdleAfter = ms(t, a.Vals[0])
			case "began":
				s.set.Began = ms(t, a.Vals[0])
			case "granularity":
				s.set.Granularity = ms(t, a.Vals[0])
			case "on_all_idle":
				require.Equal(t, "hold", a.Vals[0])
				s.set.OnAllIdle = Hold
			case "announce_on_row":
				s.set.AnnounceOnRow = true
			}
		}
		s.p, s.now = NewPartitions(s.set), 0
	case "now":
		s.now = ms(t, arg(0))
	case "add":
		s.p.Add(id(arg(0)), s.now)
	case "remove":
		s.p.Remove(id(arg(0)))
	case "end":
		s.p.End(id(arg(0)), s.now)
	case "hold":
		s.p.Hold(id(arg(0)), s.now)
	case "resume":
		s.p.Resume(id(arg(0)), s.now)
	case "idle":
		events(s.p.MarkIdle(id(arg(0)), s.now, nil))
	case "tick":
		events(s.p.Tick(s.now, nil))
	case "finish":
		events(s.p.Finish(nil))
	case "restore":
		p := NewPartitions(s.set)
		require.NoError(t, p.Restore(s.p.Snapshot(nil), s.now))
		s.p = p
	case "rows":
		var marks []batch.Mark
		rows := 0
		for _, a := range d.CmdArgs[1:] {
			if a.Key == "w" {
				marks = append(marks, batch.Mark{After: uint32(rows), Watermark: ms(t, a.Vals[0])})
			} else {
				rows++
			}
		}
		combined, activated := s.p.Apply(id(arg(0)), rows, marks, s.now, nil)
		if activated {
			fmt.Fprintln(&out, "active")
		}
		for _, m := range combined {
			fmt.Fprintf(&out, "watermark %s after row %d\n", span(m.Watermark), m.After)
		}
	case "status":
		for _, x := range s.p.Status(nil) {
			fmt.Fprintf(&out, "%c %s at %s", 'a'+rune(x.Partition), x.State, span(x.Watermark))
			if x.IdleAt != Never {
				fmt.Fprintf(&out, ", idle at %s", span(x.IdleAt))
			}
			fmt.Fprintln(&out)
		}
		if s.p.IsIdle() {
			fmt.Fprintln(&out, "the source is idle")
		}
	case "why":
		if h, ok := s.p.Holding(); ok {
			fmt.Fprintln(&out, h.Describe(string('a'+rune(h.Partition)), s.now))
		} else {
			fmt.Fprintln(&out, "nothing holds it")
		}
	case "valve":
		n, err := strconv.Atoi(arg(0))
		require.NoError(t, err)
		s.valve = NewValve(n, 0, 0)
	case "input":
		i, err := strconv.Atoi(arg(0))
		require.NoError(t, err)
		for _, a := range d.CmdArgs[1:] {
			switch a.Key {
			case "w":
				events(s.valve.Watermark(i, ms(t, a.Vals[0]), nil))
			case "idle":
				events(s.valve.Idle(i, nil))
			case "active":
				events(s.valve.Active(i, nil))
			case "end":
				events(s.valve.End(i, nil))
			}
		}
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	if out.Len() == 0 {
		return "-"
	}
	return out.String()
}

func id(name string) uint32 { return uint32(name[0] - 'a') }

func ms(t *testing.T, text string) int64 {
	switch text {
	case "end":
		return batch.EndOfInput
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d.Milliseconds()
}

func span(ms int64) string {
	if ms == batch.NoWatermark || ms == batch.EndOfInput {
		return Format(ms)
	}
	return (time.Duration(ms) * time.Millisecond).String()
}
