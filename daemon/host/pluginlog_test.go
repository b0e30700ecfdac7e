package host

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// A line of a plugin's log is one line of the daemon's, with each key once, in the plugin's order.
func TestALineOfAPluginsLog(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"@level":"warn","@message":"a sensor is silent","@module":"m","@timestamp":"2026-01-01T00:00:00.000000Z","pipeline":"p","component":"c","sensor":"door","n":1234567,"on":true,"of":[1,2],"none":null}`,
			`[WARN]  a sensor is silent: plugin=numbers sensor=door n=1234567 on=true of="[1,2]" none=null`},
		{`{"@message":"no level","plugin":"another"}`, `[INFO]  no level: plugin=numbers plugin.plugin=another`},
		{`{"@message":"two\nlines","@level":"error"}`, `[ERROR] "two\nlines": plugin=numbers`},
		{`{"@message":5}`, `[INFO]  5: plugin=numbers`},
		{`{"@level":"error"}`, `[INFO]  the plugin has printed a line: plugin=numbers line="{\"@level\":\"error\"}"`},
		{`{"@message":"m"} and more`, `[INFO]  the plugin has printed a line: plugin=numbers line="{\"@message\":\"m\"} and more"`},
		{`{"@message":"cut`, `[INFO]  the plugin has printed a line: plugin=numbers line="{\"@message\":\"cut"`},
		{`[ERROR] by hand`, `[ERROR] the plugin has printed a line: plugin=numbers line="[ERROR] by hand"`},
		{`panic: oh`, ``}, // it comes with the failure
		{` `, ``},
	} {
		out := &logLines{}
		log := hclog.New(&hclog.LoggerOptions{Output: out, DisableTime: true}).With("plugin", "numbers")
		newPluginLog(log, map[string]string{"plugin": "numbers", "pipeline": "p", "component": "c"}, clock.System()).line(c.line)
		require.Equal(t, c.want, strings.TrimSpace(out.String()), c.line)
	}
}

// Too many lines are left out, and it is said how many; a while later there is room again.
func TestALogTakesSoMuchAndNoMore(t *testing.T) {
	out := &logLines{}
	time_ := clock.NewVirtual(time.Unix(0, 0))
	l := newPluginLog(hclog.New(&hclog.LoggerOptions{Output: out, DisableTime: true}), nil, time_)
	for i := range logBurst + 300 {
		l.printed(fmt.Sprint("number ", i))
	}
	l.end()
	time_.Advance(2 * time.Second)
	for i := range 2*logPerSecond + 1 {
		l.printed(fmt.Sprint("later ", i))
	}
	l.end()
	counts := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		_, what, _ := strings.Cut(line, "line=")
		word, _, _ := strings.Cut(strings.Trim(what, `"`), " ")
		counts[word]++
	}
	require.Equal(t, map[string]int{"number": logBurst, "later": 2 * logPerSecond, "": 3}, counts)
	require.Contains(t, out.String(), "lines_left_out=1\n")
	require.Contains(t, out.String(), "lines_left_out=299\n")
}

// What a plugin writes is anybody's text. It ends nobody.
func TestOddLinesOfLogsDoNoHarm(t *testing.T) {
	h, log := newHost(t, Settings{})
	s := openNumbers(t, misbehaving(h, sdk.KindSource, "numbers", "odd_log"), `{"count": 2}`)
	_, err := drain(t, s)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return strings.Contains(log.String(), `[WARN]  a duty: component=c kind=source pipeline=p plugin=numbers plugin.pipeline=another took=1234567 list="[1, 2]"`)
	}, 10*time.Second, 5*time.Millisecond, log.String())
}

// The line that a Go plugin logs, through the sdk and the wire of a process.
func TestWhatAPluginLogsIsOneCleanLine(t *testing.T) {
	h, log := newHost(t, Settings{})
	s, err := h.Plugins(nil, "").OpenSource(context.Background(), wire.SourceOpen{Plugin: "numbers", Options: []byte(`{"count":1,"pause":"1ms"}`),
		Place: wire.Place{Pipeline: "p", Component: "c"}}, OwnProcess)
	require.NoError(t, err)
	_, err = drain(t, s)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Contains(t, log.String(), "[INFO]  numbers begin: component=c kind=source pipeline=p plugin=numbers at=0 pause=1ms\n")
}
