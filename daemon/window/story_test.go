package window

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
)

var rewrite = flag.Bool("rewrite", false, "write what the stories in testdata really gave into their files")

// TestStories plays the files in testdata/stories. A file is comments (#), and commands with their input and, behind ----, what they
// give. Run `go test ./daemon/window -run Stories -rewrite` after a change that is meant to change them, and say why in the commit.
//
// The commands:
//
//	window type=session gap=5s allowed_lateness=10s aggregate=count meta
//	    begins an operator. Settings have the names of pipeline files; size also takes 1d, 2w, 3mo. aggregate= is count, or sum, min,
//	    max, collect … of the value of rows. meta shows firing and timing. timezone= also sets the zone in which times are shown.
//	    dates shows times as dates, not as distances from 1970.
//	rows
//	a: 3s 7s=40 12s
//	b: 1s
//	    hands rows over as one batch: the key, times, and values where they are not 1. Late rows are shown; "gap=4s" behind a value
//	    (7s=1/4s) is the row's own gap.
//	watermark 12s     or "end": event time goes on
//	clock 5s          the clock goes on
//	restart           checkpoint, and restore from it, here with another number of shards each time
//	live              how many windows there are
//	row 4s            what the windows say about a row at 4s now
//	explain 0s 10s    the rules in words, for the window from 0s to 10s
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, e := range engines() {
			t.Run(name+"/"+e.name, func(t *testing.T) {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				s := &story{t: t, engine: e, file: file}
				out, skipped := s.play(string(data))
				if skipped {
					t.Skip("the story asks for more than this engine does")
				}
				if *rewrite && e.name == generalEngine.name {
					require.NoError(t, os.WriteFile(file, []byte(out), 0o644))
					return
				}
				require.Equal(t, string(data), out, "%s", file)
			})
		}
	}
}

type story struct {
	t      *testing.T
	engine engine
	file   string
	rig    *rig
	aggs   []aggregate.Spec
	dates  bool
	zone   *time.Location
	shards int
}

// play returns the story with what its commands have given.
func (s *story) play(text string) (out string, skipped bool) {
	var b strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		i++
		b.WriteString(line + "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		var input []string
		for ; lines[i] != "----"; i++ {
			input = append(input, lines[i])
			b.WriteString(lines[i] + "\n")
		}
		for i++; i < len(lines) && lines[i] != ""; i++ { // the old output
		}
		b.WriteString("----\n")
		got, can := s.command(strings.Fields(line), input)
		if !can {
			return "", true
		}
		for _, g := range got {
			b.WriteString(g + "\n")
		}
	}
	return b.String(), false
}

func (s *story) command(words, input []string) (out []string, can bool) {
	switch words[0] {
	case "window":
		return nil, s.window(words[1:])
	case "rows":
		return s.rows(input), true
	case "watermark":
		return s.show(s.rig.advance(s.time(words[1]))), true
	case "clock":
		return s.show(s.rig.clock(s.time(words[1]))), true
	case "restart":
		s.shards = s.shards%3 + 1
		s.rig.restart(s.shards)
		return nil, true
	case "live":
		return []string{fmt.Sprint(s.rig.live())}, true
	case "row":
		return s.rig.spec.ExplainRow(s.time(words[1]), s.rig.watermark), true
	case "explain":
		span := globalSpan
		if len(words) > 1 {
			span = Span{s.time(words[1]), s.time(words[2])}
		}
		return s.rig.spec.Explain(span).Rules, true
	}
	s.t.Fatalf("%s: no command %q", s.file, words[0])
	return nil, false
}

func (s *story) window(words []string) bool {
	var spec Spec
	meta := false
	s.aggs, s.dates, s.zone, s.shards = nil, false, time.UTC, 1
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "type":
			spec.Type = Type(value)
		case "size":
			if n, unit := calendarSize(value); n > 0 {
				spec.CalendarN, spec.CalendarUnit = n, unit
			} else {
				spec.Size = s.time(value)
			}
		case "slide", "step":
			if n, unit := calendarSize(value); n > 0 {
				spec.SlideN, spec.SlideUnit = n, unit
			} else {
				spec.Slide = s.time(value)
			}
		case "gap":
			spec.Gap = s.time(value)
		case "gap_field":
			spec.GapColumn = value
		case "max_length":
			spec.MaxLength = s.time(value)
		case "offset":
			spec.Offset = s.time(value)
		case "timezone":
			loc, err := time.LoadLocation(value)
			require.NoError(s.t, err)
			spec.Location, s.zone, s.dates = loc, loc, true
		case "time":
			spec.ProcessingTime = value == "processing"
		case "allowed_lateness":
			spec.Lateness = s.time(value)
		case "late_every":
			spec.LateEvery = s.time(value)
		case "trigger":
			spec.Trigger = TriggerKind(value)
		case "count":
			spec.Count = s.number(value)
		case "interval":
			spec.Interval = s.time(value)
		case "purging":
			spec.Purging = true
		case "mode":
			spec.Mode = Mode(value)
		case "early_every":
			spec.EarlyEvery = s.time(value)
		case "early_processing_every":
			spec.EarlyProcessingEvery = s.time(value)
		case "early_count":
			spec.EarlyCount = s.number(value)
		case "aggregate":
			arg := "value"
			if value == "count" {
				arg = ""
			}
			s.aggs = append(s.aggs, aggregate.Spec{Name: value, Func: value, Arg: arg})
		case "meta":
			meta = true
		case "dates":
			s.dates = true
		default:
			s.t.Fatalf("%s: no setting %q", s.file, name)
		}
	}
	layout, err := aggregate.New(s.aggs)
	require.NoError(s.t, err)
	if !s.engine.can(spec, layout) {
		return false
	}
	s.rig = newRig(s.t, s.engine, spec, meta, s.shards, s.aggs...)
	return true
}

func calendarSize(text string) (int, CalendarUnit) {
	for _, unit := range []CalendarUnit{Month, Week, Day} {
		if number, ok := strings.CutSuffix(text, string(unit)); ok {
			n, err := strconv.Atoi(number)
			if err == nil {
				return n, unit
			}
		}
	}
	return 0, ""
}

func (s *story) rows(lines []string) []string {
	var rows []testRow
	for _, line := range lines {
		key, rest, ok := strings.Cut(line, ":")
		require.True(s.t, ok, "%s: %q has no key", s.file, line)
		for _, word := range strings.Fields(rest) {
			ts, value, found := strings.Cut(word, "=")
			row := testRow{key: key, value: 1, ts: s.time(ts), gap: -1}
			if found {
				number, gap, own := strings.Cut(value, "/")
				row.value = s.number(number)
				if own {
					row.gap = s.time(gap)
				}
			}
			rows = append(rows, row)
		}
	}
	return s.show(s.rig.process(rows...))
}

func (s *story) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(s.t, err, "%s: %q", s.file, text)
	return n
}

func (s *story) time(text string) int64 {
	if text == "end" {
		return math.MaxInt64
	}
	if len(text) > 10 && text[4] == '-' {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
			if t, err := time.Parse(layout, text); err == nil {
				return t.UnixMilli()
			}
		}
	}
	d, err := time.ParseDuration(text)
	require.NoError(s.t, err, "%s: %q", s.file, text)
	return d.Milliseconds()
}

func (s *story) shown(t any) string {
	ms, ok := t.(int64)
	switch {
	case !ok:
		return "-"
	case ms == math.MaxInt64:
		return "end"
	case s.dates:
		return time.UnixMilli(ms).In(s.zone).Format("2006-01-02T15:04:05.999Z07:00")
	}
	return (time.Duration(ms) * time.Millisecond).String()
}

func (s *story) show(results []testResult) (out []string) {
	for _, r := range results {
		line := fmt.Sprintf("%s [%s,%s)", r.key, s.shown(r.start), s.shown(r.end))
		if r.start == nil {
			line = r.key + " global"
		}
		for i, a := range s.aggs {
			line += fmt.Sprintf(" %s=%s", a.Name, r.values[i])
		}
		if r.firing >= 0 {
			line += fmt.Sprintf(" %s firing=%d", r.timing, r.firing)
		}
		if r.retract {
			line += " retract"
		}
		out = append(out, line)
	}
	for _, r := range s.rig.late {
		out = append(out, fmt.Sprintf("late: %s %s", r.key, s.shown(r.ts)))
	}
	s.rig.late = s.rig.late[:0]
	if s.rig.silent > 0 {
		out = append(out, fmt.Sprintf("no window: %d", s.rig.silent))
		s.rig.silent = 0
	}
	return out
}
