package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTrials tries the built program on troubles that people have had with streams: a folder of testdata/trials for each, with a README.md
// that says what can go wrong and what must hold, the pipelines, their input, and the rows that must come out. One of them is run by
//
//	go test ./cmd/tidemark -run TestTrials/033
//
// Plugins are processes of their own, as they are for users.
func TestTrials(t *testing.T) {
	all := slices.Concat(timeTrials, windowTrials, formatTrials, socketTrials, pluginTrials, stateTrials, serviceTrials, daemonTrials)
	var names []string
	for _, c := range all {
		names = append(names, c.name)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.try(newTrial(t, c.name))
		})
	}
	folders, err := os.ReadDir(filepath.Join("testdata", "trials"))
	require.NoError(t, err)
	for _, f := range folders {
		require.Contains(t, names, f.Name(), "a folder without a test")
		require.FileExists(t, filepath.Join("testdata", "trials", f.Name(), "README.md"))
	}
}

// trialCase is one trial: the name of its folder, and what is done with it.
type trialCase struct {
	name string
	try  func(t *trial)
}

// trial is one run of a trial in a copy of its folder, which is also where the programs run.
type trial struct {
	*testing.T
	dir string
}

func newTrial(t *testing.T, name string) *trial {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "trials", name))))
	return &trial{t, dir}
}

// path is the path of a file of the trial.
func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

// read is what a file of the trial holds.
func (t *trial) read(name string) string {
	t.Helper()
	text, err := os.ReadFile(t.path(name))
	require.NoError(t, err)
	return string(text)
}

// write makes or replaces a file of the trial.
func (t *trial) write(name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(t.path(name)), 0o755))
	require.NoError(t, os.WriteFile(t.path(name), []byte(text), 0o644))
}

// pause waits a little between two looks at something that changes by itself.
func (t *trial) pause() { time.Sleep(50 * time.Millisecond) }

// append adds to a file of the trial.
func (t *trial) append(name, text string) {
	t.Helper()
	f, err := os.OpenFile(t.path(name), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString(text)
	require.NoError(t, err)
}

// linesIn is how many whole lines a file has; none when it is not there.
func (t *trial) linesIn(name string) int {
	text, _ := os.ReadFile(t.path(name))
	return bytes.Count(text, []byte("\n"))
}

// until waits for a condition, for half a minute.
func (t *trial) until(what string, ask func() bool) {
	t.Helper()
	require.True(t, eventually(ask), "waited in vain: %s", what)
}
