package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Options of assigners that are expressions become columns named like the option. Fields of those names are nothing special.
func TestFieldsNamedLikeOptions(t *testing.T) {
	const pipeline = `
[sources.in]
plugin = "file"
path = %q
[sources.in.time]
timestamp = "ts"
unit = "s"
%s
[transforms.w]
type = "window"
inputs = ["in"]
window = { type = "tumbling", size = "5s" }
[transforms.w.aggregate]
n = "count()"
seen = "collect(coalesce(string(when), string(marker), string(watermark)))"
[sinks.out]
plugin = "capture"
inputs = ["w"]
columns = ["n", "seen"]
`
	for name, c := range map[string]struct {
		time  string
		lines []string
		late  int64
		rows  []string
	}{
		"a rule over a field of the rule's name": {
			time:  `assigner = "punctuated"` + "\n" + `when = "when == 1"`,
			lines: []string{`{"ts":1,"when":2}`, `{"ts":6,"when":1}`, `{"ts":2,"when":7}`, `{"ts":70,"when":2}`, `{"ts":7,"when":3}`},
			late:  1,
			rows:  []string{`{"n":1,"seen":["2"]}`, `{"n":2,"seen":["1","3"]}`, `{"n":1,"seen":["2"]}`},
		},
		"a marker known by a field named marker": {
			time:  `assigner = "marker"` + "\n" + `marker = "marker == 'yes'"`,
			lines: []string{`{"ts":1,"marker":"no"}`, `{"ts":6,"marker":"yes"}`, `{"ts":2,"marker":"no"}`, `{"ts":7,"marker":"no"}`},
			late:  1,
			rows:  []string{`{"n":1,"seen":["no"]}`, `{"n":1,"seen":["no"]}`},
		},
		"a watermark computed from a field named watermark": {
			time:  `assigner = "marker"` + "\n" + `marker = "marker"` + "\n" + `watermark = "watermark - 2"`,
			lines: []string{`{"ts":1}`, `{"ts":6,"marker":true,"watermark":6}`, `{"ts":2,"watermark":4}`, `{"ts":7}`},
			rows:  []string{`{"n":2,"seen":["4"]}`, `{"n":1,"seen":[]}`},
		},
		"a watermark in a field named watermark, in the unit of the timestamps": {
			time:  `assigner = "marker"` + "\n" + `marker = "marker"` + "\n" + `watermark = "watermark"`,
			lines: []string{`{"ts":1}`, `{"ts":6,"marker":true,"watermark":5}`, `{"ts":2}`, `{"ts":7,"watermark":8}`},
			late:  1,
			rows:  []string{`{"n":1,"seen":[]}`, `{"n":1,"seen":["8"]}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			rows, s := r.run(fmt.Sprintf(pipeline, r.file("in", c.lines...), c.time))
			require.Equal(t, c.rows, rows)
			require.Equal(t, c.late, s.Late)
		})
	}
}

// Keys and arguments may lie within what a step before has made, whatever the records had there.
func TestPathsIntoFieldsThatStepsHaveMade(t *testing.T) {
	const pipeline = `
[sources.in]
plugin = "file"
path = %q
[sources.in.time]
timestamp = "ts"
unit = "s"

[transforms.lines]
type = "unnest"
inputs = ["in"]
field = "items"
as = "it"

[transforms.new]
type = "dedup"
inputs = ["lines"]
key_by = ["it.id"]
within = "10s"

[transforms.w]
type = "window"
inputs = ["new"]
key_by = ["it.id"]
window = { type = "tumbling", size = "5s" }
[transforms.w.aggregate]
q = "sum(it.q)"

[transforms.before]
type = "window"
inputs = ["in"]
key_by = ["it.id"]
window = { type = "tumbling", size = "5s" }
[transforms.before.aggregate]
n = "count()"

[sinks.out]
plugin = "capture"
inputs = ["w"]
columns = ["it.id", "q"]

[sinks.second]
plugin = "capture"
as = "second"
inputs = ["before"]
columns = ["it.id", "n"]

[sinks.third]
plugin = "capture"
as = "third"
inputs = ["lines"]
columns = ["it.id"]
`
	r := newRig(t)
	rows, _ := r.run(fmt.Sprintf(pipeline, r.file("in",
		`{"ts":1,"it":{"id":9},"items":[{"id":1,"q":2},{"id":2,"q":3}]}`,
		`{"ts":2,"it":{"id":9},"items":[{"id":1,"q":2},{"id":3,"q":5}]}`)))
	require.Equal(t, sorted([]string{`{"it.id":1,"q":2}`, `{"it.id":2,"q":3}`, `{"it.id":3,"q":5}`}), sorted(rows))
	require.Equal(t, []string{`{"it.id":9,"n":2}`}, r.got("second"))
	require.Equal(t, []string{`{"it.id":1}`, `{"it.id":2}`, `{"it.id":1}`, `{"it.id":3}`}, r.got("third"))
}

func TestMapsOutdateWhatLayWithinAField(t *testing.T) {
	const pipeline = `
[sources.in]
plugin = "file"
path = %q

[transforms.m]
type = "map"
inputs = ["in"]
%s

[sinks.out]
plugin = "capture"
inputs = ["m"]
columns = ["a.id", "b.id"]

[sinks.before]
plugin = "capture"
as = "before"
inputs = ["in"]
columns = ["a.id", "b.id"]
`
	for change, want := range map[string]string{
		`set = { a = "b" }`:                       `{"a.id":2,"b.id":2}`,
		`set = { a = "b", b = "a" }`:              `{"a.id":2,"b.id":1}`,
		`rename = { other = "a" }`:                `{"a.id":3,"b.id":2}`,
		`set = { a = "fromJSON('{\"id\": 4}')" }`: `{"a.id":4,"b.id":2}`,
	} {
		r := newRig(t)
		rows, _ := r.run(fmt.Sprintf(pipeline, r.file("in", `{"a":{"id":1},"b":{"id":2},"other":{"id":3}}`), change))
		require.Equal(t, []string{want}, rows, change)
		require.Equal(t, []string{`{"a.id":1,"b.id":2}`}, r.got("before"))
	}
}
