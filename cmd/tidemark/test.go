package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/daemon/scenario"
)

// testOptions are the flags of `test`.
type testOptions struct {
	only    string
	verbose bool
}

func (a *app) testCommand() *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:   "test [FILE|DIR]...",
		Short: "Run test cases of pipelines on virtual time",
		Long: `Run test cases of pipelines on virtual time. Cases of x.toml stand in x.test.toml beside it; a directory means all such files in and
below it, and no argument means the current one. The pipeline runs as it is, with its own decoding, assigner plugins, windows and
checkpoints; only its sources and sinks are replaced by what the cases say and look at.`,
		Example: "  tidemark test examples/quickstart\n  tidemark test pipelines/clicks.test.toml --run late -v",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.test(cmd.Context(), args, o) },
	}
	cmd.Flags().StringVar(&o.only, "run", "", "only cases whose names match this regular expression")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "name the cases that passed, too")
	return cmd
}

func (a *app) test(ctx context.Context, args []string, o testOptions) error {
	set := scenario.Settings{}
	if o.only != "" {
		var err error
		if set.Only, err = regexp.Compile(o.only); err != nil {
			return &exitError{code: exitConfig, err: fmt.Errorf("--run: %w", err)}
		}
	}
	files, err := testFiles(args)
	if err != nil {
		return &exitError{code: exitConfig, err: err}
	}
	h, err := a.host(logger(a.stderr, "error", false))
	if err != nil {
		return err
	}
	defer h.Close()
	set.Open = opener(h)

	begun := time.Now()
	var results []*scenario.Result
	var wrong []problem.Problem
	cases, failed := 0, 0
	for _, file := range files {
		r, list := scenario.Run(ctx, file, set)
		if list.Err() != nil {
			wrong = append(wrong, list.All()...)
			continue
		}
		a.warnings(list.All())
		results = append(results, r)
		cases += len(r.Cases)
		failed += r.Failed()
		if !a.json {
			r.Print(a.stdout, o.verbose)
		}
	}
	if ctx.Err() != nil {
		return &exitError{code: exitFailed, err: errors.New("interrupted")}
	}
	switch {
	case len(wrong) > 0:
		return &problem.Errors{Problems: wrong}
	case a.json:
		a.print(map[string]any{"files": results, "cases": cases, "failed": failed})
	default:
		fmt.Fprintf(a.stdout, "%d of %s passed (%s)\n", cases-failed, counted(cases, "case", "cases"), time.Since(begun).Round(time.Millisecond))
	}
	switch {
	case failed > 0:
		return &exitError{code: exitFailed, err: fmt.Errorf("%d of %s failed", failed, counted(cases, "case", "cases")), silent: true}
	case cases == 0:
		return &exitError{code: exitConfig, err: fmt.Errorf("no case has a name that matches %q", o.only)}
	}
	return nil
}

// opener gives the scenarios the plugins of the host.
func opener(h *host.Host) scenario.Open {
	return func(policies []*config.PluginPolicy, dir string) (plan.Catalog, pipeline.Plugins) {
		view := h.Plugins(policies, dir)
		return catalog{view}, view
	}
}

// testFiles finds the files of cases that arguments mean.
func testFiles(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", arg, errors.Unwrap(err))
		case !info.IsDir() && strings.HasSuffix(arg, scenario.Suffix):
			files = append(files, arg)
			continue
		case !info.IsDir():
			cases := strings.TrimSuffix(arg, ".toml") + scenario.Suffix
			if _, err := os.Stat(cases); err != nil {
				return nil, fmt.Errorf("%s has no cases: there is no %s", arg, cases)
			}
			files = append(files, cases)
			continue
		}
		found := 0
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != arg {
				return filepath.SkipDir
			}
			if !d.IsDir() && strings.HasSuffix(path, scenario.Suffix) {
				files = append(files, path)
				found++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if found == 0 {
			return nil, fmt.Errorf("there are no cases in %s: files of cases are named *%s", arg, scenario.Suffix)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
