package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
)

const plainPipeline = `
[pipeline]
name = "plain"

[sources.in]
plugin = "file"
path   = "input.jsonl"
follow = true
poll   = "20ms"

[sources.in.time]
timestamp = "ts"
unit      = "ms"

[transforms.windows]
type      = "window"
inputs    = ["in"]
key_by    = ["key"]
window    = { type = "tumbling", size = "5s" }
aggregate = { n = "count()" }

[sinks.out]
plugin = "file"
path   = "out.jsonl"
inputs = ["windows"]

[checkpoint]
interval = "20ms"
`

// plainTrial is a folder with a pipeline that follows a file.
func plainTrial(t *testing.T) *trial {
	r := &trial{t, t.TempDir()}
	r.write("pipeline.toml", plainPipeline)
	r.write("input.jsonl", "")
	return r
}

// windowsFrom appends records of n windows.
func (t *trial) windowsFrom(from, n int) {
	t.Helper()
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, "{\"key\":\"a\",\"ts\":%d}\n", i*5000)
	}
	t.append("input.jsonl", b.String())
}

func (t *trial) runIn(dir string) *program {
	return t.tidemark([]string{"run", "--quiet", "--state", dir, "pipeline.toml"})
}

func TestTwoProgramsOnOneState(t *testing.T) {
	t.Parallel()
	r := plainTrial(t)
	first := r.runIn("state")
	r.windowsFrom(0, 3)
	r.until("the first works", func() bool { return r.linesIn("out.jsonl") == 2 })
	second := r.runIn("state")
	require.Equal(t, exitEnvironment, second.wait(), "%s", second.err.String())
	second.says("TM6001", filepath.Join("state", "plain"), fmt.Sprintf("in use by process %d", first.cmd.Process.Pid), "stop that process first")
	require.Len(t, second.err.lines(), 2, "what is wrong, and what to do:\n%s", second.err.String())
	r.windowsFrom(3, 2)
	r.until("the first goes on", func() bool { return r.linesIn("out.jsonl") == 4 })
	first.stop()
}

func TestAStateThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	t.Run("a file in the way", func(t *testing.T) {
		r := plainTrial(t)
		r.write("state", "notes")
		p := r.runIn("state")
		require.Equal(t, exitEnvironment, p.wait(), "%s", p.err.String())
		p.says("--state state is a file; name a directory")
		require.Equal(t, "notes", r.read("state"))
	})
	t.Run("somebody else's directory", func(t *testing.T) {
		r := plainTrial(t)
		r.write("state/plain/state/photo.jpg", "a photo")
		p := r.runIn("state")
		require.Equal(t, exitEnvironment, p.wait(), "%s", p.err.String())
		p.says("TM6007", "photo.jpg")
		require.Equal(t, "a photo", r.read("state/plain/state/photo.jpg"))
	})
	t.Run("a read-only file system", func(t *testing.T) {
		r := plainTrial(t)
		r.mount("state", "size=1m", readOnly)
		p := r.runIn("state")
		require.Equal(t, exitEnvironment, p.wait(), "%s", p.err.String())
		p.says("TM6002", "read-only", "must be writable for user")
	})
}

func TestAFullDisk(t *testing.T) {
	t.Parallel()
	r := plainTrial(t)
	r.mount("state", "size=40m", 0)
	p := r.runIn("state")
	r.windowsFrom(0, 11)
	r.until("it works", func() bool { return r.linesIn("out.jsonl") == 10 })

	// Somebody fills the disk up to the last byte.
	block := strings.Repeat("x", 1<<20)
	for i := 0; ; i++ {
		f, err := os.Create(r.path(fmt.Sprint("state/filler", i)))
		if err == nil {
			_, err = f.WriteString(block)
			f.Close()
		}
		if err != nil {
			break
		}
	}
	r.windowsFrom(11, 1000)
	r.until("it says so", func() bool {
		return strings.Contains(p.err.String(), "the disk is full: no input is taken until there is room")
	})
	r.windowsFrom(1011, 1000)
	require.False(t, p.ended(), "%s", p.err.String())

	fillers, _ := filepath.Glob(r.path("state/filler*"))
	for _, f := range fillers {
		require.NoError(t, os.Remove(f))
	}
	r.until("it goes on by itself", func() bool { return r.linesIn("out.jsonl") == 2010 })
	p.stop()
	for i, line := range wholeLines(r.read("out.jsonl")) {
		at := time.UnixMilli(int64(i) * 5000).UTC().Format("2006-01-02T15:04:05.000Z")
		require.Contains(t, line, `"window_start":"`+at+`"`, "window %d, once and in its turn", i)
	}
}

// TestADamagedState changes or takes away one file of the state after the other: the program refuses to go on, and never begins anew as if nothing
// had been there.
func TestADamagedState(t *testing.T) {
	t.Parallel()
	r := plainTrial(t)
	p := r.runIn("state")
	for i := range 5 {
		r.windowsFrom(i*100, 100)
		r.until("it works", func() bool { return r.linesIn("out.jsonl") == (i+1)*100-1 })
	}
	p.kill()
	p.gone()
	require.NoError(t, os.RemoveAll(r.path("state/"+api.SocketName))) // CopyFS cannot copy a socket
	require.NoError(t, os.CopyFS(r.path("good"), os.DirFS(r.path("state"))))
	out := r.read("out.jsonl")

	var files []string
	require.NoError(t, filepath.WalkDir(r.path("good/plain/state"), func(path string, d fs.DirEntry, err error) error {
		if info, e := d.Info(); e == nil && !d.IsDir() && info.Size() > 0 {
			rel, _ := filepath.Rel(r.path("good"), path)
			files = append(files, rel)
		}
		return err
	}))
	require.NotEmpty(t, files)
	refused := map[string]int{}
	for _, name := range files {
		if strings.Contains(name, "OPTIONS") || strings.HasSuffix(name, "LOCK") || strings.HasSuffix(name, "OWNER") {
			continue // notes that nothing depends on
		}
		for how, change := range map[string]func(text []byte) []byte{
			"changed in the middle": func(text []byte) []byte {
				text[len(text)/2] ^= 0x55
				return text
			},
			"gone": func([]byte) []byte { return nil },
		} {
			require.NoError(t, os.RemoveAll(r.path("state")))
			require.NoError(t, os.CopyFS(r.path("state"), os.DirFS(r.path("good"))))
			text, err := os.ReadFile(r.path("state/" + name))
			require.NoError(t, err)
			if text = change(text); text == nil {
				require.NoError(t, os.Remove(r.path("state/"+name)))
			} else {
				require.NoError(t, os.WriteFile(r.path("state/"+name), text, 0o600))
			}
			p := r.runIn("state")
			// It ends, or, where the damage is to something that is not needed, it works: then it must not have begun anew.
			r.until(name+" "+how, func() bool { return p.ended() || len(p.children()) > 0 && r.quietly(p) })
			if !p.ended() {
				p.stop()
				require.Equal(t, out, r.read("out.jsonl"), "%s %s: %s", name, how, p.err.String())
				continue
			}
			require.Equal(t, exitEnvironment, p.code, "%s %s: %s", name, how, p.err.String())
			require.Regexp(t, `TM60\d\d`, p.err.String())
			require.Contains(t, p.err.String(), "restore a savepoint", "%s %s: what to do", name, how)
			refused[how]++
		}
	}
	require.Positive(t, refused["gone"])
	require.Positive(t, refused["changed in the middle"])
}

// quietly reports whether the program has come to read its input, all of which it has read before.
func (t *trial) quietly(p *program) bool {
	for range 10 {
		t.pause()
		if p.ended() {
			return false
		}
	}
	return true
}
