package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/stretchr/testify/require"
)

// timeTrials are about timestamps, watermarks and lateness.
var timeTrials = []trialCase{
	{"001-last-window-never-emitted", func(t *trial) {
		p := t.run("file.toml")
		t.same("expect.jsonl", "k", p.rows())

		os.RemoveAll(t.path("state"))
		f := t.feed()
		p = t.start("socket.toml", f.env())
		f.send(t.read("input.jsonl"))
		t.until("three rows", func() bool { return len(p.out.lines()) >= 3 })
		p.stop()
		t.same("expect-live.jsonl", "k", p.rows())
		require.EqualValues(t, 2, p.summary().Open, "open windows")
	}},
	{"002-idle-source-holds-watermark", func(t *trial) {
		// As long as the silent source counts, nothing comes out.
		f, silent := t.feed(), t.feed()
		p := t.start("pipeline.toml", f.env(), strings.Replace(silent.env(), "FEED", "SILENT", 1), "IDLE=10m")
		silent.need()
		f.send(t.read("input.jsonl"))
		t.until("four records", func() bool { return t.linesIn("seen.jsonl") == 4 })
		p.stop()
		require.Empty(t, p.rows())
		require.EqualValues(t, 3, p.summary().Open)

		os.RemoveAll(t.path("state"))
		f, silent = t.feed(), t.feed()
		p = t.start("pipeline.toml", f.env(), strings.Replace(silent.env(), "FEED", "SILENT", 1), "IDLE=200ms")
		silent.need()
		f.send(t.read("input.jsonl"))
		t.until("two rows", func() bool { return len(p.out.lines()) >= 2 })
		p.stop()
		t.same("expect-live.jsonl", "k", p.rows())
	}},
	{"006-one-event-from-the-future", func(t *trial) {
		for _, guard := range []string{"ahead", "jump"} {
			p := t.run(guard + ".toml")
			t.same("expect.jsonl", "k", p.rows())
			p.counted(0, 1)
			t.lettersAre(guard, `{"k": "c", "ts": 4102444800000}`)
		}
		t.run("unguarded.toml").counted(5, 0)
		require.Len(t, t.letters("unguarded"), 5)
	}},
	{"007-behind-the-watermark-but-window-open", func(t *trial) {
		f := t.feed()
		p := t.start("pipeline.toml", f.env())
		for _, line := range wholeLines(t.read("input.jsonl")) {
			f.lines(line)
		}
		f.lines(`{"k": "end", "ts": 1700000020000}`) // closes the windows of a stream that stays open
		t.until("two rows", func() bool { return len(p.out.lines()) >= 2 })
		p.stop()
		t.same("expect.jsonl", "k", p.rows())
		p.counted(1, 0)
		t.lettersAre("pipeline", `{"k": "a", "ts": 1700000009500}`)
	}},
	{"008-late-event-counted-anyway", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "k", p.rows())
		p.counted(1, 0)
		late := t.file("late.jsonl")
		require.Equal(t, []string{"50000"}, fields(late, "ts"))
		require.Equal(t, []string{"9999"}, fields(late, "volume"))
	}},
	{"010-boundary-millisecond", func(t *trial) {
		f := t.feed()
		p := t.start("pipeline.toml", f.env())
		lines := wholeLines(t.read("input.jsonl"))
		f.lines(lines[:5]...)
		t.until("the first row", func() bool { return len(p.out.lines()) >= 1 })
		f.lines(lines[5:]...)
		t.until("the second row", func() bool { return len(p.out.lines()) >= 2 })
		f.close()
		p.stop()
		t.same("expect-live.jsonl", "k", p.rows())
		// The watermark at which a window fired tells after which record: 12 s and 22 s, less the bound and the last millisecond.
		require.Equal(t, []string{"1700000009999", "1700000019999"}, fields(p.rows(), "_watermark"))
		p.counted(1, 0)
		require.EqualValues(t, 1, p.summary().Open, "the third window")
	}},
	{"011-marker-goes-backwards", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "k", p.rows())
		p.counted(2, 0)
		require.Equal(t, []string{"0", "0", "0", "0"}, fields(p.rows(), "_firing"))
		t.lettersAre("pipeline", `{"type": "data", "k": "a", "ts": 1700000008000}`, `{"type": "data", "k": "a", "ts": 1700000019000}`)
		require.EqualValues(t, 5, p.summary().Markers)
	}},
	{"012-markers-are-not-data", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "zone", p.rows())
		p.counted(1, 3)
		t.lettersAre("pipeline", `{"type": "watermark"}`, `{"type": "watermark", "watermark": "soon"}`, `{"type": "watermark", "watermark": null}`,
			`{"type": "trip", "zone": "z1", "ts": 9000}`)
	}},
	{"014-seconds-taken-for-milliseconds", func(t *trial) {
		p := t.run("s.toml")
		t.same("expect.jsonl", "user", p.rows())
		require.NotContains(t, p.err.String(), "WARN")
		p = t.run("auto.toml")
		t.same("expect.jsonl", "user", p.rows())
		p = t.run("ms.toml")
		t.same("expect-wrong-unit.jsonl", "user", p.rows())
		p.says("1970-01-20", `unit = "s"`)
		require.Equal(t, 1, strings.Count(p.err.String(), "1970-01-20"), "told once")
		require.EqualValues(t, 5, p.summary().Sources[0].Suspect)
	}},
	{"016-old-file-and-the-first-window", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "event_type_id", p.rows())
		require.Equal(t, fmt.Sprint(1646475356513-10-1), fmt.Sprint(p.rows()[0]["_watermark"]), "the first window closes at the second record")
	}},
	{"017-times-before-1970", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "k", p.rows())
		p.counted(0, 0)
		require.NotContains(t, p.err.String(), "WARN")
	}},
	{"018-window-offset-before-1970", func(t *trial) {
		for _, file := range []string{"offset5s.toml", "offset-5s.toml"} {
			p := t.run(file)
			t.same("expect.jsonl", "k", p.rows())
			p.counted(0, 0)
		}
	}},
	{"019-local-day-in-china", func(t *trial) {
		for _, file := range []string{"offset-minus-8h.toml", "offset-16h.toml", "zone.toml"} {
			t.same("expect.jsonl", "k", t.run(file).rows())
		}
	}},
	{"022-zone-abbreviation", func(t *trial) {
		want := render(t.file("expect.jsonl"), func(r row) string { return fmt.Sprint(r["line"], " ", r["ms"]) })
		for _, zone := range []string{"UTC", "America/New_York"} {
			os.RemoveAll(t.path("state"))
			p := t.run("pipeline.toml", "TZ="+zone)
			t.sameLines(want, render(p.rows(), func(r row) string { return fmt.Sprint(r["line"], " ", r["window_start"]) }))
			p.counted(0, 1)
			letters := t.lettersAre("pipeline", "2024-07-07 03:00:00 XQT INFO line 4")
			require.Contains(t, letters[0].Message, "XQT")
		}
	}},
	{"023-comma-before-the-milliseconds", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "app", p.rows())
		p.counted(0, 1)
		t.lettersAre("pipeline", "2024-06-15 18:12:22:999 INFO app line 6")
	}},
	{"025-leap-second", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect-next-second.jsonl", "k", p.rows())
		p.counted(0, 1)
		t.lettersAre("pipeline", `{"k": "l", "time": "2016-12-31T12:30:60Z"}`)
	}},
	{"027-time-missing-or-null", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "k", p.rows())
		p.counted(0, 6)
		refused := []string{`{"k":"a","ts":null}`, `{"k":"a"}`, `{"k":"a","ts":""}`, `{"k":"a","ts":"banana"}`, `{"k":"a","ts":true}`, `{"k":"a","ts":[1700000001000]}`}
		for _, l := range t.lettersAre("pipeline", refused...) {
			require.Contains(t, l.Message, "ts", "which field was wrong")
		}
		p = t.run("pipeline.toml")
		p.counted(0, 0)
		t.lettersAre("pipeline", refused...)
	}},
}
