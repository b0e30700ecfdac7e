// Package python_test runs the plugins in Python as a user would, in a virtual environment that holds grpcio and protobuf and nothing else.
package python_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	pluginv1 "github.com/tidemark-stream/tidemark/sdk/proto/tidemark/plugin/v1"
)

var (
	program string // the built tidemark
	python  string // the folder of the environment's python3
	missing string // why there is no environment
)

func TestMain(m *testing.M) {
	code, err := prepare(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func prepare(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "tidemark-python-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "tidemark")
	if text, err := exec.Command("go", "build", "-o", program, "../../cmd/tidemark").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the program: %w\n%s", err, text)
	}
	if python, err = environment(); err != nil {
		missing = err.Error()
	}
	return m.Run(), nil
}

// environment makes the virtual environment, once for each content of requirements.txt and version of Python: it stays in the user's
// folder of caches.
func environment() (string, error) {
	version, err := exec.Command("python3", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("there is no python3: %w", err)
	}
	wanted, err := os.ReadFile("requirements.txt")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	base := filepath.Join(cache, "tidemark")
	home := filepath.Join(base, fmt.Sprintf("python-%x", sha256.Sum256(append(version, wanted...)))[:24])
	bin := filepath.Join(home, "bin")
	if exec.Command(filepath.Join(bin, "python3"), "-c", "import grpc, google.protobuf").Run() == nil {
		return bin, nil
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(base, "python-new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	for _, c := range [][]string{
		{"python3", "-m", "venv", fresh},
		{filepath.Join(fresh, "bin", "python3"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-r", "requirements.txt"},
	} {
		if text, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%q: %w: %s", c, err, text)
		}
	}
	_ = os.RemoveAll(home) // one that was broken
	if err := os.Rename(fresh, home); err != nil && exec.Command(filepath.Join(bin, "python3"), "-c", "import grpc").Run() != nil {
		return "", err
	}
	return bin, nil
}

// needPython skips a test where Python or its packages cannot be had. CI has to have them.
func needPython(t *testing.T) {
	t.Helper()
	if missing == "" {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// command runs tidemark from the repository's root, with the environment's Python first in PATH.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "PATH="+python+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

func run(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := command(t, args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	require.NoError(t, cmd.Run(), "%s%s", out.String(), log.String())
	return out.String(), log.String()
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

func expected(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return lines(string(text))
}

func TestPipelines(t *testing.T) {
	needPython(t)
	for name, summary := range map[string]string{
		"nth_highest": "9 records in, 4 windows fired, 6 results, 0 late, 0 dead-lettered",
		"high_water":  "288 records in, 7 windows fired, 16 results, 0 late, 0 dead-lettered",
		"tides":       "288 records in, 4 windows fired, 8 results, 0 late, 0 dead-lettered",
	} {
		t.Run(name, func(t *testing.T) {
			out, log := run(t, "--plugin-dir", "examples/python", "run", "examples/python/"+name+".toml")
			require.ElementsMatch(t, expected(t, name+".expected.txt"), lines(out)) // two sinks write side by side
			require.Contains(t, log, summary)
		})
	}
}

func TestTheKitPasses(t *testing.T) {
	needPython(t)
	for _, name := range []string{"tidemark-assigner-nth_highest", "tidemark-source-tides", "tidemark-aggregate-trimmed_mean", "tidemark-window-turns"} {
		t.Run(name, func(t *testing.T) {
			out, _ := run(t, "plugins", "verify", "--records", "60", "examples/python/"+name)
			require.Contains(t, out, "sha256 = [")
			require.NotContains(t, out, "FAILED")
		})
	}
}

// A plugin that is killed costs a restart from the last commit, and no result.
func TestAKilledPluginLosesNothing(t *testing.T) {
	needPython(t)
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("there is no /proc to find the plugin's process in")
	}
	text, err := os.ReadFile("tides.toml")
	require.NoError(t, err)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.jsonl")
	slow := strings.NewReplacer("readings = 144", "readings = 144\nevery = \"20ms\"", `plugin = "stdout"`, "plugin = \"file\"\npath = "+strconv.Quote(out)).Replace(string(text))
	slow += "\n[restart]\nbackoff = \"50ms\"\n"
	file := filepath.Join(dir, "tides.toml")
	require.NoError(t, os.WriteFile(file, []byte(slow), 0o600))

	cmd := command(t, "--plugin-dir", "examples/python", "run", "--state", filepath.Join(dir, "state"), file)
	var log bytes.Buffer
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { b, _ := os.ReadFile(out); return len(b) > 0 }, 40*time.Second, 20*time.Millisecond, "results before the crash")
	victim := child(t, cmd.Process.Pid, "tidemark-source-tides")
	require.NoError(t, victim.Kill())
	require.NoError(t, cmd.Wait(), log.String())
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, expected(t, "tides.expected.txt"), lines(string(got)))
	require.Contains(t, log.String(), "tides", "the crash is told")
}

// child finds a child of a process by a word of its command line.
func child(t *testing.T, parent int, word string) *os.Process {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		_, rest, _ := bytes.Cut(stat, []byte(") ")) // the name before it may hold spaces
		fields := bytes.Fields(rest)
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(parent) && bytes.Contains(line, []byte(word)) {
			pid, err := strconv.Atoi(filepath.Base(dir))
			require.NoError(t, err)
			p, err := os.FindProcess(pid)
			require.NoError(t, err)
			return p
		}
	}
	t.Fatalf("process %d has no child with %q", parent, word)
	return nil
}

// The generated code in Python and that in Go come from the same definition.
func TestTheGeneratedCodeIsUpToDate(t *testing.T) {
	needPython(t)
	for module, file := range map[string]protoreflect.FileDescriptor{
		"batch_pb2": pluginv1.File_tidemark_plugin_v1_batch_proto, "plugin_pb2": pluginv1.File_tidemark_plugin_v1_plugin_proto,
	} {
		script := fmt.Sprintf("import base64; from tidemark.plugin.v1 import %s as m; print(base64.b64encode(m.DESCRIPTOR.serialized_pb).decode())", module)
		text, err := exec.Command(filepath.Join(python, "python3"), "-B", "-c", script).Output()
		require.NoError(t, err)
		data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		var got descriptorpb.FileDescriptorProto
		require.NoError(t, proto.Unmarshal(data, &got))
		require.True(t, proto.Equal(plain(protodesc.ToFileDescriptorProto(file)), plain(&got)), "run examples/python/generate.sh")
	}
}

// plain leaves out the names for JSON, which only Go's generator writes down.
func plain(f *descriptorpb.FileDescriptorProto) *descriptorpb.FileDescriptorProto {
	for _, m := range f.GetMessageType() {
		for _, field := range m.GetField() {
			field.JsonName = nil
		}
	}
	return f
}
