package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "clicks.toml"), nil, 0o644))
	_, l := Load(filepath.Join(dir, "click.toml"))
	require.Len(t, l.All(), 1)
	require.Equal(t, "TM1008", l.All()[0].Code)
	require.Contains(t, l.All()[0].Summary, "no such file")
	require.Contains(t, l.All()[0].Hint, "clicks.toml")

	_, l = Load(dir)
	require.Equal(t, "TM1008", l.All()[0].Code)
	require.Contains(t, l.All()[0].Summary, "directory")

	_, l = Load(filepath.Join(dir, "nowhere", "x.toml"))
	require.Contains(t, l.All()[0].Hint, "nowhere is not there either")

	large := filepath.Join(dir, "large.toml")
	require.NoError(t, os.WriteFile(large, nil, 0o644))
	require.NoError(t, os.Truncate(large, maxFile+1))
	_, l = Load(large)
	require.Equal(t, "TM1009", l.All()[0].Code)
	_, l = Parse("f.toml", make([]byte, maxFile+1), nil)
	require.Equal(t, "TM1009", l.All()[0].Code)
	_, l = LoadDaemon(filepath.Join(dir, "tidemark.toml"))
	require.Equal(t, "TM1008", l.All()[0].Code)
}

func TestNamesOfPipelines(t *testing.T) {
	for file, want := range map[string]string{
		"clicks.toml": "clicks", "/etc/pipelines/per-user.toml": "per-user", "examples/quickstart/pipeline.toml": "quickstart", "pipeline.toml": "pipeline",
		"9 lives.toml": "__lives", ".toml": "pipeline", "größe.toml": "gr____e",
	} {
		c, _ := Parse(file, []byte("[sources.a]\nplugin = 'x'"), nil)
		require.Equal(t, want, c.Name, file)
		require.Regexp(t, namePattern, c.Name)
	}
	c, l := Parse("f.toml", []byte("[pipeline]\nname = 'mine'\n[sources.a]\nplugin = 'x'"), nil)
	require.Empty(t, l.All())
	require.Equal(t, "mine", c.Name)
}

// TestDefaults reads the least that a pipeline can say.
func TestDefaults(t *testing.T) {
	c, l := Parse("f.toml", []byte("[sources.a]\nplugin = 'x'\n[sources.a.time]\ntimestamp = 'ts'\n[sinks.b]\nplugin = 'y'\ninputs = 'a'"), nil)
	require.Empty(t, l.All())
	require.Equal(t, time.Second, c.Checkpoint.Interval)
	require.Equal(t, int64(512<<20), c.State.Memory)
	require.Equal(t, 4096, c.BatchRows)
	require.Nil(t, c.Sources[0].Decode)
	require.Equal(t, "process", c.Sources[0].Isolation)
	require.Equal(t, "periodic", c.Sources[0].Time.Assigner)
	require.Equal(t, "auto", c.Sources[0].Time.Unit)
	require.Equal(t, "advance", c.Sources[0].Time.OnAllIdle)
	require.Equal(t, []Ref{{Component: "a", At: c.Sinks[0].Inputs[0].At}}, c.Sinks[0].Inputs)
	require.Equal(t, 30*time.Second, c.Sinks[0].Retry.MaxBackoff)
	require.Equal(t, "json", DefaultDecode().Spec.Format)
	require.Equal(t, "lines", DefaultDecode().Framing)
}

func TestCalendarAndLengths(t *testing.T) {
	read := func(window string) Window {
		c, l := Parse("f.toml", []byte("[transforms.w]\ntype = 'window'\ninputs = 'a'\naggregate = { n = 'count()' }\nwindow = { "+window+" }"), nil)
		require.Empty(t, l.All(), window)
		return c.Transforms[0].Window
	}
	w := read("type = 'tumbling', size = '1d', timezone = 'Asia/Shanghai'")
	require.Equal(t, 1, w.CalendarN)
	require.Equal(t, "d", w.CalendarUnit)
	require.Equal(t, "Asia/Shanghai", w.Location.String())
	w = read("type = 'tumbling', size = '3mo'")
	require.Equal(t, 3, w.CalendarN)
	require.Equal(t, "mo", w.CalendarUnit)
	require.Nil(t, w.Location)
	w = read("type = 'tumbling', size = '24h', offset = '-8h'")
	require.Equal(t, int64(86_400_000), w.Size)
	require.Equal(t, int64(-8*3600_000), w.Offset)
	w = read("type = 'sliding', size = '1d', slide = '1h'")
	require.Equal(t, int64(86_400_000), w.Size)
	require.Zero(t, w.CalendarN)
	w = read("type = 'sliding', size = '2w', slide = '1d'")
	require.Equal(t, []any{2, "w", 1, "d", int64(0), int64(0)}, []any{w.CalendarN, w.CalendarUnit, w.SlideN, w.SlideUnit, w.Size, w.Slide})
	w = read("type = 'sliding', size = '36h', slide = '1d'")
	require.Equal(t, []any{0, 0, int64(36 * 3600_000), int64(86_400_000)}, []any{w.CalendarN, w.SlideN, w.Size, w.Slide})
	w = read("type = 'cumulative', size = '1mo', step = '1d'")
	require.Equal(t, []any{1, "mo", 1, "d", int64(0), int64(0)}, []any{w.CalendarN, w.CalendarUnit, w.SlideN, w.SlideUnit, w.Size, w.Step})
	w = read("type = 'cumulative', size = '1d', step = '6h'")
	require.Equal(t, []any{1, "d", 0, "", int64(6 * 3600_000)}, []any{w.CalendarN, w.CalendarUnit, w.SlideN, w.SlideUnit, w.Step})
	w = read("type = 'cumulative', size = '48h', step = '1d'")
	require.Equal(t, []any{0, 0, int64(48 * 3600_000), int64(86_400_000)}, []any{w.CalendarN, w.SlideN, w.Size, w.Step})
	w = read("type = 'tumbling', size = '1h', timezone = '+05:30'")
	_, seconds := time.Unix(0, 0).In(w.Location).Zone()
	require.Equal(t, 19800, seconds)
}

// To name UTC is to say what times without an offset are in, which no default does.
func TestTheZoneOfTimesInRecords(t *testing.T) {
	for zone, want := range map[string]*time.Location{"": nil, "timezone = 'UTC'": time.UTC} {
		c, l := Parse("f.toml", []byte("[sources.a]\nplugin = 'x'\n[sources.a.decode]\n"+zone), nil)
		require.Empty(t, l.All(), zone)
		require.Equal(t, want, c.Sources[0].Decode.Spec.Location, zone)
	}
}

func TestEnvironment(t *testing.T) {
	c, l := Parse("f.toml", []byte(`[sources.a]
plugin = "x"
one = "${HOST}:9999"
two = "${UNSET:-a}${EMPTY:-b}${EMPTY}$${HOST} ${HOST:-c} $HOST {HOST}"
list = ["${HOST}", { three = "${HOST}" }]
`), testEnv)
	require.Empty(t, l.All())
	o := c.Sources[0].Options
	require.Equal(t, "localhost:9999", o.Get("one").Str)
	require.Equal(t, "${HOST}:9999", o.Get("one").Raw)
	require.Equal(t, "ab${HOST} localhost $HOST {HOST}", o.Get("two").Str)
	require.Equal(t, map[string]any{"one": "${HOST}:9999", "two": o.Get("two").Raw, "list": []any{"${HOST}", map[string]any{"three": "${HOST}"}}}, o.Any(true))
	require.Equal(t, []any{"localhost", map[string]any{"three": "localhost"}}, o.Get("list").Any(false))
}

// TestInside finds characters within a value where that can be done, and else the value.
func TestInside(t *testing.T) {
	c, l := Parse("f.toml", []byte("[sources.a]\nplugin = 'x'\na = \"größe == 1\"\nb = \"\"\"\nx == 1\"\"\"\nc = \"a \\\"b\\\"\"\nd = '''größe and\n  y == 1\nz'''\n"), nil)
	require.Empty(t, l.All())
	a := c.Sources[0].Options.Get("a")
	require.Equal(t, 6+6, a.Inside(6, 2).Column)
	require.Equal(t, 2, a.Inside(6, 2).Width)
	at := func(name string, offset, n int) []int {
		p := c.Sources[0].Options.Get(name).Inside(offset, n)
		return []int{p.Line, p.Column, p.Width}
	}
	require.Equal(t, []int{5, 3, 2}, at("b", 2, 2), "the text begins on the line after the quotes")
	require.Equal(t, []int{7, 8, 5}, at("d", 0, 5), "and here on theirs")
	require.Equal(t, []int{7, 14, 3}, at("d", 6, 20), "not beyond the end of the line")
	require.Equal(t, []int{8, 3, 1}, at("d", 12, 1))
	require.Equal(t, []int{9, 2, 1}, at("d", 20, 1), "behind the end")
	v := c.Sources[0].Options.Get("c")
	require.Equal(t, v.At, v.Inside(2, 1), "with escapes the columns inside cannot be told")
}

func TestDaemonFile(t *testing.T) {
	d, l := ParseDaemon("/etc/tidemark/tidemark.toml", []byte("state = '/var/lib/tidemark'\nplugin_dirs = ['plugins', '/opt/p']\n[admin]\naddress = '0.0.0.0:80'\ntoken = '${HOST}'\n[plugins.sink-mine]\nmtls = true\nsha256 = '"+
		"ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789'\nenv = { A = '${HOST}' }\nlimits = { memory = '1GiB' }\n"), testEnv)
	require.Empty(t, l.All())
	require.Equal(t, "/var/lib/tidemark/admin.sock", d.Admin.Socket)
	require.Equal(t, "/etc/tidemark/pipelines", d.Pipelines)
	require.Equal(t, "/var/lib/tidemark", d.State)
	require.Equal(t, []string{"/etc/tidemark/plugins", "/opt/p"}, d.PluginDirs)
	require.Equal(t, "localhost", d.Admin.Token)
	p := d.Plugins[0]
	require.Equal(t, "sink", p.Kind)
	require.Equal(t, "mine", p.Name)
	require.Equal(t, []string{"abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"}, p.SHA256)
	require.Equal(t, map[string]string{"A": "localhost"}, p.Env)
	require.Equal(t, int64(1<<30), p.Memory)
	require.Equal(t, 8, p.Spots["sha256"].Line)
}

// TestDefaultsGiveWay sets one of two durations that must be in order; the default of the other one follows.
func TestDefaultsGiveWay(t *testing.T) {
	c, l := Parse("f.toml", []byte("[sinks.b]\nplugin = 'y'\ninputs = 'a'\nretry = { backoff = '1m' }\n[checkpoint]\ninterval = '5ms'\n[restart]\nmax_backoff = '10ms'"), nil)
	require.Empty(t, l.All())
	require.Equal(t, time.Minute, c.Sinks[0].Retry.MaxBackoff)
	require.Equal(t, 5*time.Millisecond, c.Checkpoint.MinInterval)
	require.Equal(t, 10*time.Millisecond, c.Restart.Backoff)
}
