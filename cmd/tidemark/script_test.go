package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// binary is the program as a user builds it.
var binary string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "tidemark-bin-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "tidemark")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return 1, fmt.Errorf("build the program: %w", err)
	}
	unmountLeftovers()
	code := m.Run()
	if code == 0 {
		err = leftBehind()
	}
	if err != nil {
		code = 1
	}
	return code, err
}

// leftBehind says what the tests have left running: processes of the program, and goroutines of tests that call its parts themselves.
func leftBehind() error {
	var left []string
	if !eventually(func() bool {
		left = processes(binary, "")
		return len(left) == 0
	}) {
		return fmt.Errorf("processes are left: %s", strings.Join(left, "; "))
	}
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil {
		return fmt.Errorf("goroutines are left: %w", err)
	}
	return nil
}

// TestScripts runs the files of testdata/script: what a user types, and what comes of it. Beside the commands of testscript they have
//
//	plugins-left PATTERN N    waits until N processes with PATTERN in their command line are left
//	wait-file FILE TEXT       waits until FILE holds TEXT
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("TMPDIR", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"plugins-left": pluginsLeft,
			"wait-file":    waitFile,
		},
	})
}

// pluginsLeft looks for processes by their environment's TMPDIR, which each script has for itself: so scripts that run side by side do
// not see each other's plugins.
func pluginsLeft(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: plugins-left PATTERN N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	var found []string
	ok := eventually(func() bool {
		found = processes(args[0], "TMPDIR="+ts.Getenv("TMPDIR"))
		return len(found) == want
	})
	if !ok {
		ts.Fatalf("%d processes match %q, not %d: %v", len(found), args[0], want, found)
	}
}

func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wait-file FILE TEXT")
	}
	path := ts.MkAbs(args[0])
	ok := eventually(func() bool {
		data, _ := os.ReadFile(path)
		return strings.Contains(string(data), args[1])
	})
	if !ok {
		data, _ := os.ReadFile(path)
		ts.Fatalf("%s does not hold %q but:\n%s", args[0], args[1], data)
	}
}
