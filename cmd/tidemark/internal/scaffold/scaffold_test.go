package scaffold_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/scaffold"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

var (
	program  string // the built tidemark
	checkout string // of which it is built
)

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "tidemark-scaffold-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if checkout, err = scaffold.FindCheckout("."); err != nil {
		return 0, err
	}
	program = filepath.Join(dir, "tidemark")
	build := exec.Command("go", "build", "-o", program, "./cmd/tidemark")
	build.Dir, build.Stderr = checkout, os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build the program: %w", err)
	}
	return m.Run(), nil
}

var kinds = []struct {
	kind  wire.Kind
	style wire.Style
	out   string // where the results are; "" = standard output
}{
	{wire.KindAssigner, wire.Periodic, ""},
	{wire.KindAssigner, wire.Punctuated, ""},
	{wire.KindAssigner, wire.Marker, ""},
	{wire.KindSource, "", ""},
	{wire.KindTransform, "", ""},
	{wire.KindAggregate, "", ""},
	{wire.KindWindow, "", ""},
	{wire.KindSink, "", "out.jsonl"},
}

// in runs a command in a folder, without any network, and returns its standard output.
func in(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, log, err := try(dir, name, args...)
	require.NoError(t, err, "%s %q: %s%s", name, args, out, log)
	return out
}

func try(dir, name string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS=")
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err = cmd.Run()
	return out.String(), log.String(), err
}

// A new author's path, for each kind: write, test, build, run, verify; in a folder that has nothing to do with the checkout.
func TestANewPluginWorksAtOnce(t *testing.T) {
	for _, c := range kinds {
		name := "my_first"
		args := []string{"plugins", "new", string(c.kind), "my-first", "--sdk", checkout}
		if c.style != "" {
			args = append(args, "--style", string(c.style))
		}
		t.Run(string(c.kind)+string(c.style), func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			require.Contains(t, in(t, base, program, args...), "it uses the checkout "+checkout)
			executable := fmt.Sprintf("tidemark-%s-%s", c.kind, name)
			dir := filepath.Join(base, executable)
			require.Empty(t, in(t, dir, "gofmt", "-d", "."))
			in(t, dir, "go", "test", "./...")
			file := filepath.Join("plugins", executable)
			in(t, dir, "go", "build", "-o", file, ".")

			require.Contains(t, in(t, dir, program, "--plugin-dir", "plugins", "check", "pipeline.toml"), "ok")
			got := in(t, dir, program, "--plugin-dir", "plugins", "run", "pipeline.toml")
			if c.out != "" {
				got = read(t, filepath.Join(dir, c.out))
			}
			require.Equal(t, read(t, filepath.Join(dir, "expected.jsonl")), got)

			require.Contains(t, in(t, dir, program, "plugins", "describe", file), fmt.Sprintf("%s %s: ", c.kind, name))
			verify := []string{"plugins", "verify", file}
			if c.kind == wire.KindSink {
				_, log, err := try(dir, program, verify...)
				require.Error(t, err)
				require.Contains(t, log, "--option path=VALUE")
				verify = append(verify, "--option", "path=verified.out")
			}
			require.Contains(t, in(t, dir, program, verify...), fmt.Sprintf("[plugins.%s-%s]\nsha256 = [", c.kind, name))
		})
	}
}

// Where the go command has not completed the module, it builds as well.
func TestTheModuleIsCompleteAsWritten(t *testing.T) {
	dir := t.TempDir()
	s := scaffold.Settings{Kind: wire.KindAssigner, Style: wire.Periodic, Name: "late", Dir: dir, SDK: scaffold.SDK{Checkout: checkout}}
	names, err := scaffold.Write(s)
	require.NoError(t, err)
	require.Equal(t, []string{".gitignore", "README.md", "expected.jsonl", "go.mod", "go.sum", "input.jsonl", "main.go", "pipeline.toml", "plugin.go", "plugin_test.go"}, names)
	in(t, dir, "go", "vet", "./...")
}

func TestAReleasedVersionIsRequired(t *testing.T) {
	dir := t.TempDir()
	s := scaffold.Settings{Kind: wire.KindSource, Name: "sensors", Dir: dir, SDK: scaffold.SDK{Version: "v1.2.3"}}
	names, err := scaffold.Write(s)
	require.NoError(t, err)
	require.NotContains(t, names, "input.jsonl")
	require.NotContains(t, names, "go.sum")
	mod := read(t, filepath.Join(dir, "go.mod"))
	require.Contains(t, mod, "require github.com/tidemark-stream/tidemark v1.2.3")
	require.NotContains(t, mod, "replace")
	require.Contains(t, read(t, filepath.Join(dir, "README.md")), "github.com/tidemark-stream/tidemark v1.2.3")

	for version, released := range map[string]bool{
		"v1.2.3": true, "v0.0.0-20261130135446-39c1a8e7cf4f": true, "v1.2.4-0.20261130135446-39c1a8e7cf4f+dirty": false, "development": false, "(devel)": false,
	} {
		require.Equal(t, released, scaffold.Released(version), version)
	}
}

func TestNothingIsWrittenOver(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "plugin.go")
	require.NoError(t, os.WriteFile(mine, []byte("package mine\n"), 0o600))
	s := scaffold.Settings{Kind: wire.KindSink, Name: "mine", Dir: dir, SDK: scaffold.SDK{Checkout: checkout}}
	_, err := scaffold.Write(s)
	require.ErrorIs(t, err, scaffold.ErrNotEmpty)
	require.Equal(t, "package mine\n", read(t, mine))
	for _, name := range []string{"", "Mine", "1st", "my__sink", "my-sink", "../sink"} {
		s.Name, s.Dir = name, filepath.Join(t.TempDir(), "new")
		_, err := scaffold.Write(s)
		require.ErrorIs(t, err, scaffold.ErrName, name)
		require.NoDirExists(t, s.Dir)
	}
}

// What verify is for: an assigner that forgets its state is found out, with the reason.
func TestVerifyFindsAnAssignerThatForgets(t *testing.T) {
	dir := t.TempDir()
	s := scaffold.Settings{Kind: wire.KindAssigner, Style: wire.Periodic, Name: "late", Dir: dir, SDK: scaffold.SDK{Checkout: checkout}}
	_, err := scaffold.Write(s)
	require.NoError(t, err)
	path := filepath.Join(dir, "plugin.go")
	code, found := bytes.CutSuffix([]byte(read(t, path)), snapshots)
	require.True(t, found, "the assigner of the template ends with its snapshot methods")
	code = bytes.ReplaceAll(code, []byte("\t\"strconv\"\n"), nil)
	code = bytes.ReplaceAll(code, []byte("\treturn e.TS\n"), []byte("\treturn a.highest\n")) // so that what it remembers shows in each record
	require.NoError(t, os.WriteFile(path, code, 0o600))
	in(t, dir, "go", "build", "-o", "forgets", ".")

	out, log, err := try(dir, program, "plugins", "verify", "forgets")
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit))
	require.Equal(t, 1, exit.ExitCode(), log)
	require.Contains(t, out, "FAILED a snapshot and a restart at every place do not show: restarted after")
	require.Contains(t, out, "implement sdk.Snapshotter")
	require.Contains(t, out, "sha256 = [", "what to pin is said all the same: the author decides")

	out, _, err = try(dir, program, "--json", "plugins", "verify", "forgets")
	require.Error(t, err)
	require.Contains(t, out, `"Check": "a snapshot and a restart at every place do not show"`)
}

var snapshots = []byte(`
// Snapshot is what a checkpoint keeps of it, and Restore brings it back after a restart. An assigner that remembers nothing needs neither.
func (a *Assigner) Snapshot() ([]byte, error) { return strconv.AppendInt(nil, a.highest, 10), nil }

// Restore is called before the first record, with what Snapshot gave.
func (a *Assigner) Restore(state []byte) (err error) {
	a.highest, err = strconv.ParseInt(string(state), 10, 64)
	return err
}
`)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
