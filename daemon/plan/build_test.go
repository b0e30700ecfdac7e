package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

const working = `
[sources.clicks]
plugin  = "socket"
address = "localhost:9999"
decode  = { format = "delimited", fields = ["user:string", "ts:int"] }
[sources.clicks.time]
timestamp = "ts"
unit      = "s"
max_out_of_orderness = "5s"

[transforms.good]
type   = "filter"
inputs = ["clicks"]
where  = "user != 'bot'"

[transforms.per_user]
type      = "window"
inputs    = ["good"]
key_by    = ["user"]
window    = { type = "tumbling", size = "10s" }
aggregate = { events = "count()" }

[sinks.out]
plugin = "stdout"
inputs = ["per_user"]
`

// TestMistakesAreRefused makes one mistake at a time in a working file. What is said has the place and, where there is a near name, that name.
func TestMistakesAreRefused(t *testing.T) {
	_, problems := build(t, "f.toml", working)
	require.Empty(t, problems)
	for what, c := range map[string]struct{ old, new, want string }{
		"one letter wrong":                    {`size = "10s"`, `sise = "10s"`, "did you mean \"size\"?"},
		"a size without a unit":               {`size = "10s"`, `size = 10`, "f.toml:20:41: TM2107"},
		"a size of zero":                      {`size = "10s"`, `size = "0s"`, "size is 0s"},
		"a negative size":                     {`size = "10s"`, `size = "-5s"`, "size is -5s"},
		"an option of another plugin":         {`address = "localhost:9999"`, `path = "x"`, `"path" is an option of the source "file"`},
		"an option twice":                     {`key_by    = ["user"]`, "key_by = [\"user\"]\nkey_by = [\"user\"]", "f.toml:20:1: TM1003"},
		"an option one level too deep":        {`size = "10s"`, `size = "10s", allowed_lateness = "1s"`, `"allowed_lateness" is a key of [transforms.per_user]`},
		"an unknown aggregate":                {`count()`, `cnt()`, `there is no aggregate "cnt"`},
		"two components with one name":        {`[transforms.per_user]`, `[transforms.good]`, "[transforms.good] is given twice"},
		"an input that does not exist":        {`inputs    = ["good"]`, `inputs = ["goood"]`, `did you mean "good"?`},
		"true where a number is due":          {`max_out_of_orderness = "5s"`, "max_out_of_orderness = \"5s\"\nyear = true", "year is a boolean"},
		"an environment variable not set":     {`localhost:9999`, `${NOT_SET_ANYWHERE}`, "the environment variable NOT_SET_ANYWHERE is not set"},
		"a cycle":                             {`inputs = ["clicks"]`, `inputs = ["clicks", "per_user"]`, "per_user → good → per_user"},
		"no sink":                             {"[sinks.out]\nplugin = \"stdout\"\ninputs = [\"per_user\"]\n", "", "TM3002"},
		"a component with another one's name": {`[transforms.good]`, `[transforms.clicks]`, "TM1011"},
	} {
		t.Run(what, func(t *testing.T) {
			require.Contains(t, working, c.old)
			_, problems := build(t, "f.toml", strings.Replace(working, c.old, c.new, 1))
			require.Contains(t, problems, c.want)
			require.Contains(t, problems, "f.toml:")
		})
	}
}

// TestAllMistakesAtOnce makes several and finds each of them.
func TestAllMistakesAtOnce(t *testing.T) {
	text := strings.NewReplacer(`size = "10s"`, `sise = "10s"`, "count()", "cnt()", `"5s"`, `"5"`, "user != 'bot'", "usr != 'bot'", `"stdout"`, `"stdou"`).Replace(working)
	_, problems := build(t, "f.toml", text)
	for _, code := range []string{"TM1004", "TM2152", "TM2107", "TM5002", "TM4001"} {
		require.Contains(t, problems, code)
	}
}

// TestEveryCodeHasAFile looks for each code of the file's levels in the files of testdata here and in packages config and scenario.
func TestEveryCodeHasAFile(t *testing.T) {
	var all strings.Builder
	for _, pattern := range []string{"testdata/*.want", "../config/testdata/*.want", "../scenario/testdata/wrong/*.want"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			all.Write(text)
		}
	}
	elsewhere := map[string]string{
		"TM1008": "config.TestFilesThatCannotBeRead", "TM1009": "config.TestFilesThatCannotBeRead", "TM1012": "config.TestTooDeepIsToldAtOnce",
		"TM5006": "package transform",
	}
	for _, c := range problem.Codes() {
		if c.Code > "TM4099" && c.Code < "TM5000" || c.Code > "TM6000" || elsewhere[c.Code] != "" {
			continue
		}
		require.True(t, strings.Contains(all.String(), c.Code), "no file shows %s (%s)", c.Code, c.Title)
	}
}

// TestBuildIsDeterministic builds everything again and again: what is printed must not depend on the order of maps.
func TestBuildIsDeterministic(t *testing.T) {
	files, err := filepath.Glob("testdata/*.toml")
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		first, problems := build(t, "f.toml", string(text))
		for range 5 {
			again, p := build(t, "f.toml", string(text))
			require.Equal(t, problems, p)
			if first != nil {
				require.Equal(t, first.String(), again.String())
				require.Equal(t, first.Footprint(), again.Footprint())
			}
		}
	}
}

// TestBuckets checks the rule by brute force: a watermark that crosses a boundary of one of the two crosses one of their bucket.
func TestBuckets(t *testing.T) {
	crosses := func(b Bucket, from, to int64) bool {
		floor := func(x int64) int64 {
			q := x / b.Size
			if x%b.Size < 0 {
				q--
			}
			return q
		}
		return floor(to+1-b.Offset) > floor(from+1-b.Offset)
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Bucket {
			size := rapid.Int64Range(1, 60).Draw(t, name)
			return Bucket{size, rapid.Int64Range(0, size-1).Draw(t, name+" offset")}
		}
		a, b := draw("a"), draw("b")
		both := a.and(b)
		require.Equal(t, both, b.and(a))
		require.Equal(t, a, a.and(Bucket{never, 0}))
		for w := int64(-200); w < 200; w++ {
			if crosses(a, w, w+1) || crosses(b, w, w+1) {
				require.True(t, crosses(both, w, w+1), "%v and %v give %v, and %d is lost", a, b, both, w+1)
			}
		}
	})
}

// TestReaders lists who reads a port, and which of its inputs that is.
func TestReaders(t *testing.T) {
	text, err := os.ReadFile("testdata/projection.toml")
	require.NoError(t, err)
	p, problems := build(t, "f.toml", string(text))
	require.Empty(t, problems)
	require.Equal(t, []Reader{{"paid", 0, false}}, p.Readers("orders", Main))
	require.Equal(t, []Reader{{"late", 1, true}}, p.Readers("orders", Errors))
	require.Equal(t, []Reader{{"late", 0, true}}, p.Readers("sales", Late))
	require.Empty(t, p.Readers("sales", Errors))
	require.NotNil(t, p.Source("orders"))
	require.NotNil(t, p.Step("sales").Window)
	require.Nil(t, p.Step("orders"))

	var computed []string
	for _, c := range p.Step("sales").Inputs[0].Computed {
		computed = append(computed, c.Name)
	}
	require.Equal(t, []string{"user.country"}, computed, "it lies within a column that the map has made")
	computed = nil
	for _, c := range p.Step("sales").Window.Computed {
		computed = append(computed, c.Name)
	}
	require.Equal(t, []string{"=item.price * item.quantity", "=item.id"}, computed)
}

// TestOptionsReachThePlugin shows what a plugin gets: one form for durations and sizes, secrets filled in; and what people see.
func TestOptionsReachThePlugin(t *testing.T) {
	text, err := os.ReadFile("testdata/whole-records.toml")
	require.NoError(t, err)
	p, problems := build(t, "f.toml", string(text))
	require.Empty(t, problems)
	require.JSONEq(t, `{"address": "localhost:9999", "reconnect": "1m30s", "buffer": 1048576, "jitter": 1, "tls": {"cert": "a.pem"},
		"headers": {"Authorization": "Bearer s3cret"}}`, string(p.Source("lines").Plugin.Options))
	require.NotContains(t, string(p.Source("lines").Plugin.Shown), "s3cret")
	require.Contains(t, string(p.Source("lines").Plugin.Shown), "Bearer ${TOKEN}")
}

func FuzzBuild(f *testing.F) {
	files, err := filepath.Glob("testdata/*.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, _ := build(t, "f.toml", text)
		if p != nil {
			_ = p.String()
			_ = p.Footprint()
		}
	})
}
