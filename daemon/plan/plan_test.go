package plan

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

var rewrite = flag.Bool("rewrite", false, "write what the code gives into testdata")

// catalog is a few plugins, described as real ones are.
type catalog map[sdk.Kind]map[string]Found

func shipped(d sdk.Description) Found { return Found{Description: d, Origin: "shipped", Shipped: true} }

func testCatalog() catalog {
	opt := func(name string, t sdk.OptionType, more ...func(*sdk.Option)) sdk.Option {
		o := sdk.Option{Name: name, Type: t}
		for _, f := range more {
			f(&o)
		}
		return o
	}
	required := func(o *sdk.Option) { o.Required = true; o.Help = "it cannot do without" }
	result := func(c wire.CellType) func(*sdk.Option) { return func(o *sdk.Option) { o.Result = c } }
	return catalog{
		sdk.KindSource: {
			"socket": shipped(sdk.Description{Kind: sdk.KindSource, Name: "socket", Options: []sdk.Option{
				opt("address", sdk.StringOption), opt("listen", sdk.StringOption), opt("reconnect", sdk.DurationOption), opt("buffer", sdk.SizeOption),
				opt("retries", sdk.IntOption), opt("jitter", sdk.FloatOption), opt("keep_alive", sdk.BoolOption),
				opt("network", sdk.StringOption, func(o *sdk.Option) { o.Enum = []string{"tcp", "unix", "udp"} }),
				{Name: "tls", Type: sdk.TableOption, Options: []sdk.Option{opt("cert", sdk.StringOption, required), opt("verify", sdk.BoolOption)}},
				{Name: "headers", Type: sdk.TableOption},
			}}),
			"file": shipped(sdk.Description{Kind: sdk.KindSource, Name: "file", Options: []sdk.Option{
				opt("path", sdk.StringsOption, required), opt("follow", sdk.BoolOption),
			}}),
			"ticks": {Origin: "/opt/plugins/tidemark-source-ticks", Description: sdk.Description{Kind: sdk.KindSource, Name: "ticks",
				Output: []wire.Field{{Name: "user", Type: wire.StringCell}, {Name: "value", Type: wire.FloatCell}, {Name: "at", Type: wire.IntCell}}}},
		},
		sdk.KindAssigner: {
			"periodic": shipped(sdk.Description{Kind: sdk.KindAssigner, Name: "periodic", Style: sdk.Periodic, Options: []sdk.Option{opt("max_out_of_orderness", sdk.DurationOption)}}),
			"punctuated": shipped(sdk.Description{Kind: sdk.KindAssigner, Name: "punctuated", Style: sdk.Punctuated, Options: []sdk.Option{
				opt("when", sdk.ExprOption, result(wire.BoolCell)), opt("every", sdk.IntOption), opt("delay", sdk.DurationOption)}}),
			"marker": shipped(sdk.Description{Kind: sdk.KindAssigner, Name: "marker", Style: sdk.Marker, Options: []sdk.Option{
				opt("marker", sdk.ExprOption, required, result(wire.BoolCell)), opt("watermark", sdk.ExprOption, result(wire.TimeCell)), opt("delay", sdk.DurationOption),
				opt("keep", sdk.BoolOption)}}),
			"mine": {Origin: "/opt/plugins/tidemark-assigner-mine", Description: sdk.Description{Kind: sdk.KindAssigner, Name: "mine", Style: sdk.Periodic,
				Fields: []wire.Field{{Name: "ts", Type: wire.IntCell, Required: true}}}},
		},
		sdk.KindTransform: {
			"geoip": {Origin: "/opt/plugins/tidemark-transform-geoip", Description: sdk.Description{Kind: sdk.KindTransform, Name: "geoip",
				Options: []sdk.Option{opt("address", sdk.FieldOption, required, result(wire.StringCell))},
				Output:  []wire.Field{{Name: "country", Type: wire.StringCell}, {Name: "city", Type: wire.StringCell}}}},
		},
		sdk.KindAggregate: {
			"vwap": {Origin: "/opt/plugins/tidemark-aggregate-vwap", Description: sdk.Description{Kind: sdk.KindAggregate, Name: "vwap",
				Fields:  []wire.Field{{Name: "price", Type: wire.FloatCell, Required: true}, {Name: "size", Type: wire.FloatCell}},
				Options: []sdk.Option{opt("min_size", sdk.FloatOption), opt("when", sdk.ExprOption, result(wire.BoolCell))},
				Output:  []wire.Field{{Name: wire.ResultColumn, Type: wire.FloatCell}}}},
			"any": {Origin: "/opt/plugins/tidemark-aggregate-any", Description: sdk.Description{Kind: sdk.KindAggregate, Name: "any", AllFields: true,
				Output: []wire.Field{{Name: wire.ResultColumn, Type: wire.AnyCell}}}},
			"dies": {Origin: "/opt/plugins/tidemark-aggregate-dies", Description: sdk.Description{Kind: sdk.KindAggregate, Name: "dies",
				Output: []wire.Field{{Name: wire.ResultColumn, Type: wire.AnyCell}}}},
		},
		sdk.KindWindow: {
			"stays": {Origin: "/opt/plugins/tidemark-window-stays", Description: sdk.Description{Kind: sdk.KindWindow, Name: "stays",
				Fields: []wire.Field{{Name: "page", Type: wire.StringCell, Required: true}},
				Output: []wire.Field{{Name: "page", Type: wire.StringCell}, {Name: "seconds", Type: wire.FloatCell}}}},
			"hides": {Origin: "/opt/plugins/tidemark-window-hides", Description: sdk.Description{Kind: sdk.KindWindow, Name: "hides",
				Output: []wire.Field{{Name: "window_end", Type: wire.IntCell}}}},
		},
		sdk.KindSink: {
			"stdout":   shipped(sdk.Description{Kind: sdk.KindSink, Name: "stdout", Delivery: sdk.AtLeastOnce, Text: true}),
			"file":     shipped(sdk.Description{Kind: sdk.KindSink, Name: "file", Delivery: sdk.Transactional, Text: true, Options: []sdk.Option{opt("path", sdk.StringOption, required)}}),
			"http":     shipped(sdk.Description{Kind: sdk.KindSink, Name: "http", Delivery: sdk.Idempotent, Text: true, Options: []sdk.Option{opt("url", sdk.StringOption, required), opt("token", sdk.StringOption)}}),
			"postgres": shipped(sdk.Description{Kind: sdk.KindSink, Name: "postgres", Delivery: sdk.Transactional, Options: []sdk.Option{opt("table", sdk.StringOption, required)}}),
			"hangs":    {Origin: "/opt/plugins/tidemark-sink-hangs"},
			"broken":   {Origin: "/opt/plugins/tidemark-sink-broken"},
		},
	}
}

func (c catalog) Describe(kind sdk.Kind, name string) (Found, error) {
	f, ok := c[kind][name]
	switch {
	case !ok:
		return f, ErrNotFound
	case name == "hangs":
		return f, fmt.Errorf("describe: %w", failure{})
	case name == "broken":
		return f, errors.New("/opt/plugins/tidemark-sink-broken: permission denied")
	}
	return f, nil
}

// failure is an error that knows its problem, as those of plugin processes do.
type failure struct{}

func (failure) Error() string { return "plugin hangs: it has not answered in 10s" }
func (failure) Problem() problem.Problem {
	return problem.Problem{Code: "TM4105", Summary: "plugin hangs: it has not answered in 10s", Hint: "raise start_timeout"}
}

func (c catalog) Names(kind sdk.Kind) []string {
	var out []string
	for n := range c[kind] {
		out = append(out, n)
	}
	return out
}

// CheckOptions plays a plugin with a rule of its own: one of address and listen.
func (c catalog) CheckOptions(kind sdk.Kind, name string, options []byte) error {
	if kind == sdk.KindSource && name == "socket" && strings.Contains(string(options), `"address"`) && strings.Contains(string(options), `"listen"`) {
		return sdk.OptionErrors{{Path: []string{"listen"}, Message: "address and listen exclude each other", Hint: "remove one of them"}}
	}
	if name == "dies" {
		return fmt.Errorf("check: %w", failure{})
	}
	return nil
}

func build(t *testing.T, file, text string) (*Plan, string) {
	t.Helper()
	return buildFile(file, text)
}

func buildQuiet(text string) (*Plan, string) { return buildFile("f.toml", text) }

func buildFile(file, text string) (*Plan, string) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"TOKEN": "s3cret", "DIR": "/data"}[name]
		return v, ok
	}
	c, problems := config.Parse(file, []byte(text), env)
	var p *Plan
	if c != nil {
		var more = problems
		p, more = Build(c, testCatalog())
		problems.Append(more)
	}
	var out []string
	for _, q := range problems.All() {
		out = append(out, q.Error())
	}
	return p, strings.Join(out, "\n")
}

// TestFiles builds each file of testdata and compares the problems and, where there is no error, the plan with the .want beside it.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.toml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".toml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			p, problems := build(t, filepath.Base(file), string(text))
			got := problems + "\n"
			if problems == "" {
				got = ""
			}
			if p != nil && !strings.Contains(file, "/TM") {
				got += p.String()
			}
			want := strings.TrimSuffix(file, ".toml") + ".want"
			if *rewrite {
				require.NoError(t, os.WriteFile(want, []byte(got), 0o644))
			}
			expected, err := os.ReadFile(want)
			require.NoError(t, err)
			require.Equal(t, string(expected), got)
			require.NotContains(t, got, "s3cret", "what comes from the environment must not be shown")
		})
	}
}
