// Command tidemark runs event-time pipelines: it reads records from sources, says what time it is in the data, groups them in
// keyed windows and carries the results out.
//
// Every verb is a file of this folder. Exit codes: 0 fine, 1 failed while running, 2 the configuration is wrong, 3 the environment
// is (a port, a directory, a permission).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones work where the system has no database of them

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitConfig      = 2
	exitEnvironment = 3
)

// exitError is an error with its exit code. A silent one has been told already.
type exitError struct {
	code   int
	err    error
	silent bool
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if served := servePlugin(); served {
		return exitOK
	}
	app := &app{stdout: stdout, stderr: stderr}
	root := app.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	// A reader of standard output that has gone is an error of the write that finds out, not the end of the process: what was made for
	// the run in the file system goes before that. Plugins are started as they would be otherwise.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once, plugins with it
	err := root.ExecuteContext(ctx)
	return app.tell(ownWords(err))
}

// app is what the verbs share.
type app struct {
	stdout, stderr io.Writer
	json           bool
	pluginDirs     []string
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "tidemark",
		Short:         "Event-time pipelines: sources, watermarks, keyed windows, sinks",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       readBuildInfo().Version,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &exitError{code: exitConfig, err: fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
	})
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON for programs")
	root.PersistentFlags().StringArrayVar(&a.pluginDirs, "plugin-dir", nil, "directory with plugin executables named tidemark-KIND-NAME (may be given several times)")
	root.AddCommand(a.versionCommand(), a.runCommand(), a.checkCommand(), a.pluginsCommand(), a.daemonCommand(), a.testCommand(), a.explainCommand(), a.deadlettersCommand(), a.stateCommand(), a.savepointCommand())
	root.AddCommand(a.statusCommand(), a.topCommand(), a.tapCommand(), a.pipelinesCommand(), a.doctorCommand())
	root.AddCommand(a.genCommand(), a.benchCommand())
	root.AddCommand(a.benchParts()...)
	explainUsage(root)
	return root
}

// tell prints an error the way the user asked for, and returns the exit code.
func (a *app) tell(err error) int {
	if err == nil {
		return exitOK
	}
	code := exitFailed
	var withCode *exitError
	if errors.As(err, &withCode) {
		code = withCode.code
		if withCode.silent {
			return code
		}
	}
	var problems *problem.Errors
	switch {
	case errors.As(err, &problems):
		if withCode == nil {
			code = exitConfig
		}
		a.problems(problems.Problems)
	case a.json:
		a.print(map[string]any{"error": err.Error(), "exit": code})
	default:
		fmt.Fprintln(a.stderr, "tidemark:", err)
	}
	return code
}

// problems prints problems: for people on stderr, as JSON on stdout.
func (a *app) problems(all []problem.Problem) {
	if a.json {
		a.print(map[string]any{"problems": all})
		return
	}
	for _, p := range all {
		fmt.Fprintln(a.stderr, p.Error())
	}
}

// print writes a value as JSON.
func (a *app) print(v any) { a.encode(a.stdout, v) }

// errPrint writes a value as JSON to stderr, where stdout belongs to results.
func (a *app) errPrint(v any) { a.encode(a.stderr, v) }

func (a *app) encode(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		fmt.Fprintln(a.stderr, "tidemark:", err)
	}
}
