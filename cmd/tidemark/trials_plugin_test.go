package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/stretchr/testify/require"
)

// trialPlugin builds the program of testdata/plugin, once, into a plugin directory of its own.
var trialPlugin = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(binary), "plugins", "tidemark-plugins-trial")
	if text, err := exec.Command("go", "build", "-o", path, "./testdata/plugin").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the plugin: %w\n%s", err, text)
	}
	return path, nil
})

func (t *trial) plugin() string {
	t.Helper()
	path, err := trialPlugin()
	require.NoError(t, err)
	return path
}

// withPlugins are the arguments of a run that finds the trials' plugins.
func (t *trial) withPlugins(files ...string) []string {
	return append([]string{"run", "--json", "--state", "state", "--plugin-dir", filepath.Dir(t.plugin())}, files...)
}

// left are the processes that p has started and that are still there, itself included.
func (p *program) left() []string { return processes("", "TMPDIR="+p.tmp) }

// gone waits until nothing is left of p.
func (p *program) gone() {
	p.t.Helper()
	p.t.until("nothing is left", func() bool { return len(p.left()) == 0 })
}

// pluginTrials are about plugin processes.
var pluginTrials = []trialCase{
	{"070-plugin-prints-before-handshake", func(t *trial) {
		for _, how := range []string{"prints", "chats", "floods"} {
			require.NoError(t, os.RemoveAll(t.path("state")))
			p := t.tidemark(t.withPlugins("pipeline.toml"), "MISBEHAVE="+how)
			require.Equal(t, exitOK, p.wait(), "%s", p.err.String())
			t.same("expect.jsonl", "key", p.rows())
			require.NotContains(t, p.err.String(), "Loading 3 modules")
			require.NotContains(t, p.err.String(), "event 7 passes")
			p.gone()
		}
		require.NoError(t, os.RemoveAll(t.path("state")))
		p := t.tidemark(append(t.withPlugins("pipeline.toml"), "--log-level", "debug"), "MISBEHAVE=chats")
		require.Equal(t, exitOK, p.wait())
		said := slices.IndexFunc(p.err.lines(), func(l string) bool { return strings.Contains(l, "event 7 passes") })
		require.GreaterOrEqual(t, said, 0)
		require.Contains(t, p.err.lines()[said], "bound")

		require.NoError(t, os.RemoveAll(t.path("state")))
		p = t.tidemark([]string{"run", "pipeline.toml", "--state", "state", "--plugin-dir", t.soleAssigner()}, "MISBEHAVE=prints_only")
		require.NotEqual(t, exitOK, p.wait())
		p.says("bound", "tidemark-assigner-bound", "Welcome to my program")
		p.gone()
	}},
	{"071-plugin-left-behind", func(t *trial) {
		signal := func(s syscall.Signal) func(p *program) {
			return func(p *program) { require.NoError(t, p.cmd.Process.Signal(s)) }
		}
		for name, end := range map[string]func(p *program){
			"SIGTERM": signal(syscall.SIGTERM),
			"SIGINT to the whole group": func(p *program) {
				require.NoError(t, syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT))
			},
			"SIGKILL": signal(syscall.SIGKILL),
			"SIGTERM with a stopped plugin": func(p *program) {
				for _, process := range p.left() {
					if pid, _, _ := strings.Cut(process, " "); pid != strconv.Itoa(p.cmd.Process.Pid) {
						n, err := strconv.Atoi(pid)
						require.NoError(t, err)
						_ = syscall.Kill(n, syscall.SIGSTOP)
					}
				}
				signal(syscall.SIGTERM)(p)
			},
		} {
			require.NoError(t, os.RemoveAll(t.path("state")))
			misbehave, least := "child", 4
			if name == "SIGKILL" { // nobody is left to end what a plugin has started
				misbehave, least = "", 3
			}
			p := t.tidemark(append(t.withPlugins("pipeline.toml"), "--stop-timeout", "2s"), "MISBEHAVE="+misbehave)
			t.until(name, func() bool { return t.linesIn("seen.jsonl") == 120 && len(p.out.lines()) > 10 })
			require.GreaterOrEqual(t, len(p.left()), least, "the program, a source, an assigner and its child: %v", p.left())
			end(p)
			code := p.wait()
			if !strings.Contains(name, "KILL") && !strings.Contains(name, "stopped") {
				require.Equal(t, exitOK, code, "%s: %s", name, p.err.String())
			}
			p.gone()

			p = t.tidemark(t.withPlugins("pipeline.toml"))
			t.append("input.jsonl", `{"id": 120, "key": "end", "ts": 1700000090000, "val": 0}`+"\n")
			t.until("it goes on", func() bool { return t.linesIn("seen.jsonl") == 121 })
			p.stop()
			p.gone()
			require.NoError(t, os.Remove(t.path("seen.jsonl")))
			require.NoError(t, os.CopyFS(t.path("again"), os.DirFS("testdata/trials/071-plugin-left-behind")))
			t.write("input.jsonl", t.read("again/input.jsonl"))
			require.NoError(t, os.RemoveAll(t.path("again")))
		}
	}},
	{"072-plugin-crashes-mid-stream", func(t *trial) {
		for kind, crash := range map[string]string{"assigner": "exit", "source": "panic", "transform": "panic", "sink": "exit"} {
			fresh := func() {
				for _, left := range []string{"state", "out.jsonl", "once", "other.jsonl"} {
					require.NoError(t, os.RemoveAll(t.path(left)))
				}
			}
			fresh()
			p := t.tidemark(t.withPlugins(kind+".toml"), "CRASH="+crash, "ONCE="+t.path("once"))
			require.Equal(t, exitOK, p.wait(), "%s %s: %s", kind, crash, p.err.String())
			require.FileExists(t, t.path("once"))
			rows := t.file("out.jsonl")
			if kind == "sink" { // a delivery that fails is tried again by itself
				rows = last(rows, "key")
			} else {
				sum := p.summary()
				require.Equal(t, 1, sum.Restarts)
				require.NoError(t, sum.Check(), "the accounts close after a restart")
				require.NotEmpty(t, sum.Balance)
			}
			t.same("expect.jsonl", "key", rows)
			p.says("event 50 is too much for me")

			fresh()
			p = t.tidemark(t.withPlugins(kind+".toml", "other.toml"), "CRASH="+crash, "ONCE=")
			require.Equal(t, exitFailed, p.wait())
			p.says("event 50 is too much for me")
			require.Equal(t, 120, t.linesIn("other.jsonl"), "the other pipeline")
			p.gone()
		}

		// Killed from outside, again and again.
		require.NoError(t, os.RemoveAll(t.path("out.jsonl")))
		t.write("grows.jsonl", "")
		p := t.start("killed.toml")
		lines := wholeLines(t.read("input.jsonl"))
		for n := 12; n <= 120; n += 12 {
			t.append("grows.jsonl", strings.Join(lines[n-12:n], "\n")+"\n")
			if n > 12 {
				t.until("a plugin to kill", func() bool {
					for _, process := range p.left() {
						pid, _, _ := strings.Cut(process, " ")
						if at, err := strconv.Atoi(pid); err == nil && at != p.cmd.Process.Pid {
							return syscall.Kill(at, syscall.SIGKILL) == nil
						}
					}
					return false
				})
			}
			t.until(fmt.Sprint(n, " records"), func() bool { return t.linesIn("seen.jsonl") == n })
		}
		t.append("grows.jsonl", `{"id": 120, "key": "end", "ts": 1700000090000, "val": 0}`+"\n")
		t.until("all rows", func() bool { return t.linesIn("out.jsonl") >= 20 })
		p.stop()
		t.same("expect.jsonl", "key", t.file("out.jsonl"))
		require.GreaterOrEqual(t, p.summary().Restarts, 1)
		p.gone()
	}},
	{"074-plugin-of-another-protocol-version", func(t *trial) {
		script := func(text string) {
			t.write("tidemark-assigner-bound", "#!/bin/sh\n"+text+"\n")
			require.NoError(t, os.Chmod(t.path("tidemark-assigner-bound"), 0o755))
		}
		for _, c := range []struct {
			name, script string
			says         []string
		}{
			{"newer", `echo "1|9|unix|/nowhere|grpc"; sleep 1000`, []string{"version 9", "version 1"}},
			{"older", `echo "1|0|unix|/nowhere|grpc"; sleep 1000`, []string{"version 0", "version 1"}},
			{"another cookie", `echo "This binary is a plugin and is not meant to be executed directly." >&2; exit 1`, []string{"not meant to be executed"}},
			{"no plugin", `echo "usage: thing [-v] FILE"; exit 0`, []string{"usage: thing [-v] FILE"}},
		} {
			script(c.script)
			for _, verb := range []string{"check", "run"} {
				p := t.tidemark([]string{verb, "pipeline.toml"})
				require.Equal(t, exitConfig, p.wait(), "%s: %s", c.name, p.err.String())
				p.says(append(c.says, "bound", t.path("tidemark-assigner-bound"))...)
				require.NotContains(t, p.err.String(), "goroutine")
				p.gone()
			}
		}
		// By hand.
		text, err := exec.Command(t.plugin()).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(text), "plugin")
	}},
	{"076-plugin-path-with-a-space", func(t *trial) {
		code, err := os.ReadFile(t.plugin())
		require.NoError(t, err)
		for _, name := range []string{"with space/plugin", `it's "quoted"/plugin`, "für-plugins/plugin", "-x"} {
			t.write("etc/"+name, string(code))
			require.NoError(t, os.Chmod(t.path("etc/"+name), 0o755))
			link := t.path("a link")
			_ = os.Remove(link)
			require.NoError(t, os.Symlink(t.path("etc/"+name), link))
			paths := []string{name} // relative ones begin at the pipeline's file
			if name == "-x" {
				paths = append(paths, t.path("etc/"+name), link)
			}
			for _, path := range paths {
				require.NoError(t, os.RemoveAll(t.path("state")))
				p := t.run("etc/pipeline.toml", "PLUGIN="+path, "ARGUMENTS="+t.path("arguments"))
				t.same("expect.jsonl", "key", p.rows())
				require.Equal(t, "two words\n\nit's \"quoted\" $HOME *", t.read("arguments"))
			}
		}
		p := t.tidemark([]string{"check", "etc/pipeline.toml"}, "PLUGIN=no where/plugin", "ARGUMENTS=")
		require.Equal(t, exitConfig, p.wait())
		p.says(t.path("etc/no where/plugin"))
	}},
	{"077-plugin-file-not-executable", func(t *trial) {
		code, err := os.ReadFile(t.plugin())
		require.NoError(t, err)
		other := slices.Clone(code)
		other[18], other[19] = byte(elf.EM_S390), 0
		t.write("no-permission", string(code))
		require.NoError(t, os.Mkdir(t.path("directory"), 0o755))
		for name, text := range map[string]string{"empty": "", "text": "hello\n", "other-machine": string(other)} {
			t.write(name, text)
			require.NoError(t, os.Chmod(t.path(name), 0o755))
		}
		require.NoError(t, os.Symlink(t.path("nothing"), t.path("link-to-nothing")))
		for name, cause := range map[string]string{
			"no-permission": "is not executable", "directory": "is a directory", "empty": "is empty", "text": "is neither a Linux program nor a script",
			"other-machine": "for another machine", "link-to-nothing": "there is no file",
		} {
			if runtime.GOOS != "linux" && (name == "text" || name == "other-machine") {
				continue
			}
			for _, verb := range [][]string{{"check"}, {"run", "--state", "state"}} {
				p := t.tidemark(append(verb, "pipeline.toml"), "PLUGIN="+name)
				require.Equal(t, exitConfig, p.wait(), "%s: %s", name, p.err.String())
				p.says("TM4101", "bound", t.path(name), cause)
				require.NoDirExists(t, t.path("state"), "nothing has been started")
			}
		}

		t.write("anybody", string(code))
		require.NoError(t, os.Chmod(t.path("anybody"), 0o777))
		p := t.run("pipeline.toml", "PLUGIN=anybody")
		t.same("expect.jsonl", "key", p.rows())
		p.says("anybody may write", t.path("anybody"))
	}},
}

// soleAssigner is a plugin directory with the trials' assigner alone.
func (t *trial) soleAssigner() string {
	t.Helper()
	dir := t.path("plugins")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.Symlink(t.plugin(), filepath.Join(dir, "tidemark-assigner-bound")))
	return dir
}
