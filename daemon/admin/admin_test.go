package admin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/daemon/admin"
	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/plugins"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// station is a daemon of one pipeline, whose source says what the test tells it to.
type station struct {
	t     *testing.T
	dir   string
	set   admin.Settings
	pipe  *pipeline.Pipeline
	lines chan string

	mu       sync.Mutex
	starting string
	refused  []api.Refused
	orders   []string
	gauges   []wire.InstanceMetric
}

func (s *station) Pipelines() ([]admin.Pipeline, []api.Refused) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []admin.Pipeline{{File: "p.toml", Pipeline: s.pipe}}, s.refused
}

func (s *station) Starting() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starting
}

func (s *station) Order(_ context.Context, name, verb string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orders = append(s.orders, verb+" "+name); verb == "dance" {
		return &api.Error{Kind: api.NotFound, Message: "nobody dances here"}
	}
	return nil
}

func (s *station) metrics(context.Context) []wire.InstanceMetric {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gauges
}

func (s *station) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

const stationPipeline = `
[pipeline]
name = "p"
[sources.in]
plugin = "told"
decode = { format = "delimited", fields = ["key:string", "ts:int"] }
[sources.in.time]
timestamp = "ts"
unit = "s"
[transforms.w]
type = "window"
inputs = ["in"]
key_by = ["key"]
window = { type = "tumbling", size = "10s" }
[transforms.w.aggregate]
n = "count()"
[sinks.out]
plugin = "file"
path = "OUT"
inputs = ["w"]
`

type told struct{ lines chan string }

func (o told) Run(ctx context.Context, out *sdk.SourceContext[string]) error {
	p := out.Partition("p")
	for {
		select {
		case line, more := <-o.lines:
			if !more {
				return nil
			}
			if err := p.Collect(line); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func newStation(t *testing.T) *station {
	s := &station{t: t, dir: t.TempDir(), lines: make(chan string)}
	source := sdk.NewSource("told", "says what it is told", func(struct{}) (sdk.Source[string], error) { return told{s.lines}, nil }, sdk.NotReplayable())
	h, err := host.New(host.Settings{Shipped: append(plugins.All(), source)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	text := strings.Replace(stationPipeline, "OUT", filepath.Join(s.dir, "out.jsonl"), 1)
	cfg, problems := config.Parse("p.toml", []byte(text), os.LookupEnv)
	require.NoError(t, problems.Err())
	view := h.Plugins(cfg.Plugins, ".")
	p, problems := plan.Build(cfg, describer{view})
	require.NoError(t, problems.Err())
	p.Sources[0].Plugin.Isolation, p.Sources[0].Assigner.Isolation, p.Sinks[0].Plugin.Isolation = "none", "none", "none"
	s.pipe = pipeline.New(p, pipeline.Settings{Clock: clock.System(), Plugins: view, StateDir: filepath.Join(s.dir, "p"), Log: hclog.NewNullLogger(), Workers: 2})
	s.set = admin.Settings{Daemon: s, Clock: clock.System(), Log: hclog.NewNullLogger(), Version: "v1", Socket: filepath.Join(s.dir, "admin.sock"), Metrics: s.metrics}
	return s
}

type describer struct{ *host.Plugins }

func (d describer) Describe(kind sdk.Kind, name string) (plan.Found, error) {
	f, err := d.Plugins.Describe(kind, name)
	return plan.Found(f), err
}

// run runs the pipeline; the test has to end it by closing s.lines.
func (s *station) run() <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.pipe.Run(context.Background()) }()
	return done
}

// serve serves until the test ends.
func (s *station) serve() *admin.Server {
	s.t.Helper()
	server, err := admin.Listen(s.set)
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); server.Run(ctx) }()
	s.t.Cleanup(func() { cancel(); <-done })
	return server
}

func (s *station) client() *api.Client {
	c := api.OfState(s.dir)
	s.t.Cleanup(c.Close)
	return c
}

// get asks over TCP.
func get(t *testing.T, address, path string, change func(r *http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+address+path, nil)
	require.NoError(t, err)
	if change != nil {
		change(r)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// A pipeline is asked before it runs, while it does, and when it has ended.
func TestADaemonIsAsked(t *testing.T) {
	s := newStation(t)
	s.serve()
	c := s.client()
	ctx := context.Background()

	h, err := c.Health(ctx)
	require.NoError(t, err)
	require.False(t, h.Ready)
	require.Equal(t, []string{"p: it has not begun to start"}, h.NotReady)
	kind := func(err error) api.Kind {
		var told *api.Error
		require.ErrorAs(t, err, &told)
		return told.Kind
	}
	_, err = c.State(ctx, "p", "windows")
	require.Equal(t, api.Restarts, kind(err), "it does not run yet, and may at any moment")

	done := s.run()
	for i := range 25 {
		s.lines <- fmt.Sprintf("%c %d", 'a'+i%2, i)
	}
	require.Eventually(t, func() bool { return s.pipe.Records() == 25 }, 10*time.Second, 5*time.Millisecond)
	m, err := c.Savepoint(ctx, "p", api.Savepoint{To: filepath.Join(s.dir, "saved"), Note: "a remark"})
	require.NoError(t, err)
	require.Equal(t, "a remark", m.Note)
	_, err = c.Savepoint(ctx, "p", api.Savepoint{To: filepath.Join(s.dir, "saved")})
	require.Equal(t, api.Failed, kind(err), "it is there already")
	_, err = c.Savepoint(ctx, "p", api.Savepoint{To: "saved"})
	require.Equal(t, api.BadInput, kind(err), "relative to whom?")

	st, err := c.Status(ctx)
	require.NoError(t, err)
	require.True(t, st.Ready)
	require.Equal(t, "v1", st.Version)
	p := st.Pipelines[0]
	require.Equal(t, pipeline.Running, p.Status.State)
	require.EqualValues(t, 25, p.Summary.In)
	require.Equal(t, p.Status.Sources[0].Watermark, p.Watermark)
	require.NotNil(t, p.Lag)
	one, err := c.Pipeline(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, "p.toml", one.File)

	windows, err := c.State(ctx, "p", "windows")
	require.NoError(t, err)
	require.NotZero(t, windows.Checkpoint)
	require.Equal(t, "w", windows.Windows[0].Step)
	require.EqualValues(t, 2, windows.Windows[0].Keys)
	marks, err := c.State(ctx, "p", "watermarks")
	require.NoError(t, err)
	require.Equal(t, "in", marks.Watermarks[0].Component)
	positions, err := c.State(ctx, "p", "positions")
	require.NoError(t, err)
	require.Equal(t, "in", positions.Positions[0].Source)
	_, err = c.State(ctx, "p", "secrets")
	require.Equal(t, api.NotFound, kind(err))
	_, err = c.State(ctx, "q", "windows")
	require.Equal(t, api.NotFound, kind(err))

	x, err := c.Explain(ctx, "p", "w", "1970-01-01T00:00:22Z")
	require.NoError(t, err)
	require.False(t, x.Due)
	require.Len(t, x.Waits, 1)
	require.Contains(t, x.Waits[0], "source in")
	_, err = c.Explain(ctx, "p", "w", "tomorrow")
	require.Equal(t, api.BadInput, kind(err))
	_, err = c.Explain(ctx, "p", "no", "1970-01-01T00:00:22Z")
	require.Equal(t, api.NotFound, kind(err))

	require.NoError(t, c.Order(ctx, "p", "restart"))
	require.Equal(t, api.NotFound, kind(c.Order(ctx, "p", "dance")))
	require.Equal(t, []string{"restart p", "dance p"}, s.orders)

	close(s.lines)
	require.NoError(t, <-done)
	h, err = c.Health(ctx)
	require.NoError(t, err)
	require.True(t, h.Ready, "a source that has ended is no fault: %v", h.NotReady)
	_, err = c.State(ctx, "p", "windows")
	require.Equal(t, api.NotOpen, kind(err), "the directory can be opened by others now")
}

// What is missing is told by name, whoever knows of it: the daemon, a file, a plugin.
func TestWhatIsMissingIsNamed(t *testing.T) {
	s := newStation(t)
	s.serve()
	c := s.client()
	done := s.run()
	require.Eventually(t, func() bool { return s.pipe.State() == pipeline.Running }, 10*time.Second, 5*time.Millisecond)
	missing := func() []string {
		t.Helper()
		h, err := c.Health(context.Background())
		require.NoError(t, err)
		require.Equal(t, len(h.NotReady) == 0, h.Ready)
		return h.NotReady
	}
	require.Empty(t, missing())
	place := wire.Place{Pipeline: "p", Component: "in"}
	metric := func(name string, v float64, place wire.Place) wire.InstanceMetric {
		return wire.InstanceMetric{Metric: wire.Metric{Name: name, Help: "to the broker", Gauge: true, Value: v}, Kind: sdk.KindSource, Plugin: "told", Place: place}
	}
	for _, c := range []struct {
		change func()
		want   []string
	}{
		{func() { s.starting = "it reads files" }, []string{"it reads files"}},
		{func() { s.starting, s.refused = "", []api.Refused{{File: "b.toml", Why: "b.toml:1:1: no"}} }, []string{"refused: b.toml:1:1: no"}},
		{func() { s.refused[0].Running = true }, nil},
		{func() { s.gauges = []wire.InstanceMetric{metric(sdk.Listening, 0, place)} }, []string{"p: source in does not listen yet"}},
		{func() { s.gauges = []wire.InstanceMetric{metric(sdk.Connected, 0, place)} }, []string{"p: source in is not connected"}},
		{func() { s.gauges = []wire.InstanceMetric{metric(sdk.Connected, 1, place)} }, nil},
		{func() { s.gauges = []wire.InstanceMetric{metric(sdk.Found, 0, place)} }, []string{"p: source in finds nothing to read"}},
		{func() { s.gauges = []wire.InstanceMetric{metric(sdk.Connected, 0, wire.Place{Pipeline: "q"})} }, nil},
		{func() { s.gauges = []wire.InstanceMetric{metric("connections", 0, place)} }, nil},
	} {
		s.change(c.change)
		require.Equal(t, c.want, missing())
	}
	close(s.lines)
	require.NoError(t, <-done)
}

func TestMetrics(t *testing.T) {
	s := newStation(t)
	s.set.Address = "127.0.0.1:0"
	server := s.serve()
	s.gauges = []wire.InstanceMetric{
		{Metric: wire.Metric{Name: "lines", Help: "said", Value: 3}, Kind: sdk.KindSource, Plugin: "my-told", Place: wire.Place{Pipeline: "p", Component: "in"}},
		{Metric: wire.Metric{Name: "lines", Help: "said", Value: 4}, Kind: sdk.KindSource, Plugin: "my-told", Place: wire.Place{Pipeline: "p", Component: "in"}},
		{Metric: wire.Metric{Name: "lines", Help: "another kind", Gauge: true, Value: 9}, Kind: sdk.KindSource, Plugin: "my-told_total"},
		{Metric: wire.Metric{Name: "asked_total", Help: "by code", Value: 1, Labels: []wire.Label{{Name: "code", Value: "404"}}}, Plugin: "shop", Place: wire.Place{Pipeline: "p", Component: "in"}},
		{Metric: wire.Metric{Name: "asked_total", Help: "by code", Value: 2, Labels: []wire.Label{{Name: "code", Value: "404"}}}, Plugin: "shop", Place: wire.Place{Pipeline: "p", Component: "in"}},
		{Metric: wire.Metric{Name: "asked_total", Help: "by code", Value: 5, Labels: []wire.Label{{Name: "code", Value: `"2\n"`}}}, Plugin: "shop", Place: wire.Place{Pipeline: "p", Component: "in"}},
		{Metric: wire.Metric{Name: "asked_total", Help: "an older build", Value: 9}, Plugin: "shop", Place: wire.Place{Pipeline: "q", Component: "in"}},
		{Metric: wire.Metric{Name: "bad", Help: "x", Value: 1}, Kind: sdk.KindSource, Plugin: "p", Place: wire.Place{Pipeline: "\xff"}},
	}
	done := s.run()
	for i := range 25 {
		s.lines <- fmt.Sprintf("a %d", i)
	}
	s.lines <- "without a time"
	close(s.lines)
	require.NoError(t, <-done)
	code, text := get(t, server.Address(), "/metrics", nil)
	require.Equal(t, http.StatusOK, code)
	for _, line := range []string{
		`tidemark_build_info{version="v1"} 1`,
		`tidemark_source_records_total{pipeline="p",source="in"} 26`,
		`tidemark_source_rejected_total{pipeline="p",source="in"} 1`,
		`tidemark_dead_letters_total{pipeline="p"} 1`,
		`tidemark_step_rows_in_total{pipeline="p",step="w"} 25`,
		`tidemark_windows_fired_total{pipeline="p",step="w"} 3`,
		`tidemark_sink_rows_total{pipeline="p",sink="out"} 3`,
		`tidemark_pipeline_state{pipeline="p",state="finished"} 1`,
		`tidemark_plugin_my_told_lines_total{component="in",pipeline="p"} 7`,
		`tidemark_plugin_shop_asked_total{code="404",component="in",pipeline="p"} 3`,
		`tidemark_plugin_shop_asked_total{code="\"2\\n\"",component="in",pipeline="p"} 5`,
		`tidemark_plugin_shop_asked_total{component="in",pipeline="q"} 9`,
	} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	require.Regexp(t, `\ntidemark_checkpoint_duration_seconds_count\{pipeline="p"\} [1-9]`, text)
	require.Contains(t, text, "\ngo_goroutines ")
	code, _ = get(t, server.Address(), "/debug/pprof/", nil)
	require.Equal(t, http.StatusNotFound, code, "profiles are for those who want them")
}

// Over TCP the token decides; without one the address answers questions, and only to those who mean this machine.
func TestWhoMayAskOverTCP(t *testing.T) {
	post := func(r *http.Request) { r.Method = http.MethodPost }
	bearer := func(token string) func(r *http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	hosted := func(name string) func(r *http.Request) { return func(r *http.Request) { r.Host = name } }
	const status, restart = "/api/v1/status", "/api/v1/pipelines/p/restart"
	for _, c := range []struct {
		token, path string
		change      func(r *http.Request)
		want        int
	}{
		{"", status, nil, 200},
		{"", restart, post, 403},
		{"", status, hosted("attacker.example:9464"), 403},
		{"", status, hosted("localhost:9464"), 200},
		{"", status, hosted("[::1]:9464"), 200},
		{"secret", status, nil, 401},
		{"secret", status, bearer("guess"), 401},
		{"secret", status, bearer("secret"), 200},
		{"secret", "/livez", nil, 200},
		{"secret", "/readyz", nil, 503},
		{"secret", "/metrics", nil, 401},
		{"secret", "/debug/pprof/cmdline", nil, 401},
		{"secret", "/debug/pprof/cmdline", bearer("secret"), 200},
		{"secret", restart, post, 401},
		{"secret", restart, func(r *http.Request) { post(r); bearer("secret")(r) }, 200},
		{"secret", "/livez", post, 401},
		{"", "/nothing", nil, 404},
		{"", "/api/v1/pipelines/p/tap?component=in", nil, 403},
		{"secret", "/api/v1/pipelines/p/tap?component=no", bearer("secret"), 404},
		{"secret", "/api/v1/pipelines/p/tap?component=in&rate=0", bearer("secret"), 400},
	} {
		s := newStation(t)
		s.set.Socket, s.set.Address, s.set.Token, s.set.PProf = "", "127.0.0.1:0", c.token, true
		code, text := get(t, s.serve().Address(), c.path, c.change)
		require.Equal(t, c.want, code, "%+v: %s", c, text)
	}
}

// The socket is the daemon user's alone, and one daemon's: a second one is refused, and what a dead one has left is no hindrance.
func TestTheSocket(t *testing.T) {
	s := newStation(t)
	s.serve()
	info, err := os.Stat(s.set.Socket)
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o600, info.Mode())
	_, err = admin.Listen(s.set)
	require.ErrorContains(t, err, "another daemon serves there")
	_, err = s.client().Status(context.Background())
	require.NoError(t, err, "the first one goes on")

	t.Run("left behind", func(t *testing.T) {
		s := newStation(t)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.set.Socket, Net: "unix"})
		require.NoError(t, err)
		l.SetUnlinkOnClose(false)
		require.NoError(t, l.Close())
		_, err = s.client().Status(context.Background())
		require.ErrorIs(t, err, api.ErrNobody)
		s.serve()
		_, err = s.client().Status(context.Background())
		require.NoError(t, err)
	})
	t.Run("a file in its place", func(t *testing.T) {
		s := newStation(t)
		require.NoError(t, os.WriteFile(s.set.Socket, []byte("mine"), 0o600))
		_, err := admin.Listen(s.set)
		require.ErrorContains(t, err, "no socket")
		text, err := os.ReadFile(s.set.Socket)
		require.NoError(t, err)
		require.Equal(t, "mine", string(text))
	})
	t.Run("a path longer than sockets may have", func(t *testing.T) {
		s := newStation(t)
		s.dir = filepath.Join(s.dir, strings.Repeat("long/", 40))
		s.set.Socket = filepath.Join(s.dir, api.SocketName)
		s.serve()
		_, err := s.client().Status(context.Background())
		require.NoError(t, err)
	})
	t.Run("nobody", func(t *testing.T) {
		_, err := newStation(t).client().Status(context.Background())
		require.ErrorIs(t, err, api.ErrNobody)
	})
	t.Run("a port that is taken", func(t *testing.T) {
		s := newStation(t)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		s.set.Address = l.Addr().String()
		_, err = admin.Listen(s.set)
		require.ErrorContains(t, err, "[admin] address")
		_, err = os.Stat(s.set.Socket)
		require.True(t, errors.Is(err, os.ErrNotExist), "nothing is left of it")
	})
}
