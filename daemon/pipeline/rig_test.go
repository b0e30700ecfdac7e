package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/plugins"
	"github.com/tidemark-stream/tidemark/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig runs pipelines with the shipped plugins inside the test, and with a sink named "capture" that keeps the rows it gets.
type rig struct {
	t     testing.TB
	host  *host.Host
	state string
	clock clock.Clock
	size  int // workers and shards
	// failAt makes the sink fail for good, once, when it is given the row of that number.
	failAt int

	mu   sync.Mutex
	rows map[string][]string // by sink, in order
}

func newRig(t testing.TB, more ...sdk.Plugin) *rig {
	r := &rig{t: t, state: filepath.Join(t.TempDir(), "state"), clock: clock.System(), rows: map[string][]string{}}
	h, err := host.New(host.Settings{Shipped: append(append(plugins.All(), r.capture()), more...)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	r.host = h
	return r
}

// capture is a transactional sink in memory.
func (r *rig) capture() sdk.Plugin {
	type options struct {
		As string `name:"as" default:"out" help:"under which name the rows are kept"`
	}
	return sdk.NewSink("capture", "keeps rows for the test", sdk.SinkTraits{Delivery: sdk.Transactional, Text: true},
		func(_ context.Context, o options) (sdk.Sink, error) { return &captureSink{r, o.As}, nil })
}

type captureSink struct {
	rig *rig
	as  string
}

func (c *captureSink) Write(_ context.Context, d sdk.Rows) error {
	c.rig.mu.Lock()
	defer c.rig.mu.Unlock()
	rows := c.rig.rows[c.as]
	for i := range d.Len() {
		n := int(d.First) + i
		if n == c.rig.failAt {
			c.rig.failAt, c.rig.rows[c.as] = 0, rows
			return sdk.Permanent(fmt.Errorf("row %d does not please", n))
		}
		switch text := string(d.Batch.Row(i)); {
		case n <= len(rows): // comes again
			if rows[n-1] != text {
				return sdk.Permanent(fmt.Errorf("row %d was %q and is %q now", n, rows[n-1], text))
			}
		case n == len(rows)+1:
			rows = append(rows, text)
		default:
			return sdk.Permanent(fmt.Errorf("row %d after row %d", n, len(rows)))
		}
	}
	c.rig.rows[c.as] = rows
	return nil
}

func (c *captureSink) LastDelivered(context.Context) (uint64, error) {
	c.rig.mu.Lock()
	defer c.rig.mu.Unlock()
	return uint64(len(c.rig.rows[c.as])), nil
}

func (c *captureSink) Close() error { return nil }

// plan makes a plan of a pipeline file's text. Every plugin runs inside the test.
func (r *rig) plan(text string) (*plan.Plan, pipeline.Plugins) {
	r.t.Helper()
	cfg, problems := config.Parse("test.toml", []byte(text), os.LookupEnv)
	require.NoError(r.t, problems.Err())
	view := r.host.Plugins(cfg.Plugins, ".")
	p, problems := plan.Build(cfg, describer{view})
	require.NoError(r.t, problems.Err())
	for _, s := range p.Sources {
		s.Plugin.Isolation = "none"
		if s.Assigner != nil {
			s.Assigner.Isolation = "none"
		}
	}
	for _, s := range p.Sinks {
		s.Plugin.Isolation = "none"
	}
	return p, view
}

type describer struct{ *host.Plugins }

func (d describer) Describe(kind sdk.Kind, name string) (plan.Found, error) {
	f, err := d.Plugins.Describe(kind, name)
	return plan.Found(f), err
}

func (r *rig) pipeline(text string) *pipeline.Pipeline {
	p, view := r.plan(text)
	return pipeline.New(p, pipeline.Settings{Clock: r.clock, Plugins: view, StateDir: r.state, Log: hclog.NewNullLogger(), Workers: r.size})
}

// run runs a pipeline to its end and returns the rows of the sink.
func (r *rig) run(text string) (rows []string, s pipeline.Summary) {
	r.t.Helper()
	p := r.pipeline(text)
	require.NoError(r.t, p.Run(context.Background()))
	require.Equal(r.t, pipeline.Finished, p.State())
	s = p.Summary()
	require.NoError(r.t, s.Check())
	return r.got("out"), s
}

func (r *rig) got(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.rows[name]...)
}

// file writes lines to a file for a file source.
func (r *rig) file(name string, lines ...string) string {
	path := filepath.Join(r.t.TempDir(), name)
	require.NoError(r.t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

func sorted(rows []string) []string {
	out := append([]string(nil), rows...)
	sort.Strings(out)
	return out
}
