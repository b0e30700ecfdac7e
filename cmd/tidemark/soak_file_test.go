package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/procstat"
)

const soakPipeline = `
[sources.in]
plugin = "file"
path = "in.jsonl"
decode = { format = "json" }
[sources.in.time]
timestamp = "ts"
unit = "ms"
[transforms.w]
type = "window"
inputs = ["in"]
key_by = ["k"]
window = { type = "tumbling", size = "10s" }
aggregate = { n = "count()" }
[sinks.out]
plugin = "file"
path = "out.jsonl"
inputs = ["w"]
[sinks.errors]
plugin = "file"
path = "errors.jsonl"
inputs = ["in.errors"]
`

// One record in so many is cut in its middle.
const soakBad = 10_000

// TestSoakFile reads a large file with some bad records in it once: each record is in a window or among the errors, each bad one is there with
// its bytes and its place, and memory does not depend on the size of the file. SOAK_FILE_MB says how large the file is; `make soak-file` takes
// 2,000.
func TestSoakFile(t *testing.T) {
	size := number(t, "SOAK_FILE_MB", 16) << 20
	r := &trial{t, t.TempDir()}
	r.write("pipeline.toml", soakPipeline)
	records, bad := soakFile(t, r.path("in.jsonl"), size)
	require.NotEmpty(t, bad)

	begun := time.Now()
	p := r.start("pipeline.toml")
	watch := procstat.Watching(p.cmd.Process.Pid)
	<-p.done
	took := time.Since(begun)
	peaks := watch.Stop()
	require.Equal(t, exitOK, p.code, "%s", p.err.String())
	s := p.summary()
	require.NoError(t, s.Check())
	require.EqualValues(t, records, s.In)
	require.EqualValues(t, len(bad), s.Rejected)
	require.Zero(t, s.Late)

	var windowed int64
	eachLine(t, r.path("out.jsonl"), func(line []byte) {
		var row struct{ N int64 }
		require.NoError(t, json.Unmarshal(line, &row))
		windowed += row.N
	})
	require.Equal(t, records-int64(len(bad)), windowed)
	places := map[int64]string{}
	eachLine(t, r.path("errors.jsonl"), func(line []byte) {
		var row struct {
			Position int64
			Raw      string
		}
		require.NoError(t, json.Unmarshal(line, &row))
		places[row.Position] = row.Raw
	})
	require.Equal(t, bad, places)

	t.Logf("%d MB, %d records (%d bad): %.1f s, %.0f MB/s; at most %d MB of memory for the program, %d MB for its plugins, %d MB together",
		size>>20, records, len(bad), took.Seconds(), float64(size)/(1<<20)/took.Seconds(), peaks.Process>>20, peaks.Others>>20, peaks.Together>>20)
	if runtime.GOOS == "linux" { // elsewhere nobody says what a process uses
		require.Positive(t, peaks.Process)
	}
	require.Less(t, peaks.Process, int64(256<<20), "memory must not grow with the file")
	require.Less(t, peaks.Others, int64(384<<20), "memory must not grow with the file")
}

// soakFile writes records until the file has about that size. It returns how many there are, and the bad ones by their place in the file.
func soakFile(t *testing.T, path string, size int64) (records int64, bad map[int64]string) {
	f, err := os.Create(path)
	require.NoError(t, err)
	w := bufio.NewWriterSize(f, 1<<20)
	bad = map[int64]string{}
	for at := int64(0); at < size; records++ {
		line := fmt.Sprintf(`{"n":%d,"ts":%d,"k":"k%d","text":"some words of no meaning to fill the line"}`, records, 1_700_000_000_000+records/10, records%16)
		if records%soakBad == soakBad/2 {
			line = line[:len(line)/2]
			bad[at] = line
		}
		n, err := w.WriteString(line + "\n")
		require.NoError(t, err)
		at += int64(n)
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
	return records, bad
}

// eachLine reads a file line by line.
func eachLine(t *testing.T, path string, f func(line []byte)) {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	in := bufio.NewScanner(file)
	for in.Scan() {
		if strings.TrimSpace(in.Text()) != "" {
			f(in.Bytes())
		}
	}
	require.NoError(t, in.Err())
}
