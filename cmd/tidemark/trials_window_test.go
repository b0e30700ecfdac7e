package main

import (
	"strings"

	"github.com/stretchr/testify/require"
)

// windowTrials are about windows and sessions.
var windowTrials = []trialCase{
	{"028-window-starts-before-the-data", func(t *trial) {
		t.same("expect.jsonl", "k", t.run("pipeline.toml").rows())

		lines := wholeLines(t.read("input.jsonl"))
		t.write("input.jsonl", strings.Join(lines[1:], "\n"))
		t.write("pipeline2.toml", t.read("pipeline.toml"))
		want := t.file("expect.jsonl")
		want[0]["count"] = 2
		t.sameRows(want, "k", t.run("pipeline2.toml").rows())
	}},
	{"030-event-on-a-sliding-edge", func(t *trial) {
		t.same("expect.jsonl", "k", t.run("pipeline.toml").rows())
	}},
	{"032-session-gap-exactly-equal", func(t *trial) {
		t.same("expect.jsonl", "k", t.run("input.toml").rows())
		t.same("expect.jsonl", "k", t.run("input-reversed.toml").rows())

		// With a bound of 0 the watermark stands one millisecond before the end of the first session when the second record comes.
		f := t.feed()
		p := t.start("socket.toml", f.env())
		f.lines(append(wholeLines(t.read("input.jsonl")), `{"k": "end", "ts": 1700000090000}`)...)
		t.until("all rows", func() bool { return len(p.out.lines()) >= 5 })
		p.stop()
		t.same("expect.jsonl", "k", p.rows())
		p.counted(0, 0)
	}},
	{"033-session-bridge-event", func(t *trial) {
		p := t.run("file.toml")
		t.same("expect.jsonl", "k", p.rows())
		p.counted(0, 0)

		f := t.feed()
		p = t.start("socket.toml", f.env())
		lines := wholeLines(t.read("input.jsonl"))
		f.lines(lines[:4]...)
		t.until("four records", func() bool { return t.linesIn("seen.jsonl") == 4 })
		p.kill()
		require.Empty(t, p.rows())
		f.close()
		p = t.start("socket.toml", f.env())
		f.lines(lines[4:]...)
		f.lines(`{"k": "end", "ts": 1700000090000}`)
		t.until("all rows", func() bool { return len(p.out.lines()) >= 4 })
		p.stop()
		t.same("expect.jsonl", "k", p.rows())
	}},
	{"037-allowed-lateness-second-result", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect-sequence.jsonl", "k", p.rows())
		t.same("expect.jsonl", "k", last(p.rows(), "k"))
		require.Equal(t, []string{"on_time", "late", "on_time"}, fields(p.rows(), "_timing"))
		require.Equal(t, []string{"0", "1", "0"}, fields(p.rows(), "_firing"))
		p.counted(1, 0)
		t.lettersAre("pipeline", `{"k": "l", "ts": 50000}`)
	}},
}
