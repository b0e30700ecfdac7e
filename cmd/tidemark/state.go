package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/admin/api"
	"github.com/tidemark-stream/tidemark/daemon/checkpoint"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/state"
)

func (a *app) stateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Look into the state of a pipeline",
		Long: `Look into the state of a pipeline as its last commit left it. A running daemon, or run, whose state directory it is answers through the socket in it, and its
pipelines do not notice; otherwise the directory is opened.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var dir string
	add := func(part, short string) {
		c := &cobra.Command{Use: part + " [PIPELINE]", Short: short, Args: cobra.MaximumNArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return a.stateOf(cmd.Context(), dir, strings.Join(args, ""), part)
		}}
		c.Flags().StringVar(&dir, "state", "", "state directory, as given to run, or the daemon's")
		_ = c.MarkFlagRequired("state")
		cmd.AddCommand(c)
	}
	add("windows", "List the windows that are open, and how many keys each holds")
	add("watermarks", "Show how far event time has come")
	add("positions", "Show where the sources go on")
	return cmd
}

// stateReport is what `state …` shows: as of a commit, from a directory or from the daemon that has it open.
type stateReport struct {
	windows    []checkpoint.OpenWindow
	watermarks []checkpoint.ComponentWatermark
	positions  []checkpoint.SourcePosition
}

// withState opens the state of a stopped pipeline for reading.
func withState(dir, name string, use func(s *state.Store, st *checkpoint.State) error) error {
	path, err := pipelineDir(dir, name)
	if err != nil {
		return err
	}
	s, err := state.Open(filepath.Join(path, pipeline.StateFolder), state.Options{ReadOnly: true})
	if err != nil {
		return classify(err)
	}
	defer s.Close()
	st, err := checkpoint.Read(s)
	if err != nil {
		return classify(err)
	}
	return classify(use(s, st))
}

// readState reads a part of the state of a stopped pipeline.
func readState(dir, name, part string) (r stateReport, err error) {
	err = withState(dir, name, func(s *state.Store, st *checkpoint.State) (err error) {
		switch part {
		case "windows":
			r.windows, err = checkpoint.OpenWindows(s, st, func() error { return nil })
		case "watermarks":
			r.watermarks = st.Watermarks()
		case "positions":
			r.positions = st.Positions()
		}
		return err
	})
	return r, err
}

// stateOf answers `state PART`.
func (a *app) stateOf(ctx context.Context, dir, name, part string) error {
	path, err := pipelineDir(dir, name)
	if err != nil {
		return err
	}
	var r stateReport
	held, err := askHolder(ctx, dir, func(ctx context.Context, c *api.Client) error {
		st, err := c.State(ctx, filepath.Base(path), part)
		r = stateReport{st.Windows, st.Watermarks, st.Positions}
		return err
	})
	if err == nil && !held {
		r, err = readState(dir, name, part)
	}
	if err != nil {
		return err
	}
	switch part {
	case "windows":
		return a.table(r.windows, "STEP\tWINDOW OR SLICE BEGINS\tKEYS", func(w io.Writer) {
			for _, r := range r.windows {
				fmt.Fprintf(w, "%s\t%s\t%d\n", r.Step, r.Start, r.Keys)
			}
		})
	case "watermarks":
		return a.table(r.watermarks, "COMPONENT\tPARTITION\tWATERMARK\tSTATE", func(w io.Writer) {
			for _, r := range r.watermarks {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Component, r.Partition, r.Watermark, r.State)
			}
		})
	}
	return a.positions(r.positions)
}

// table prints rows: as JSON, or under a heading.
func (a *app) table(rows any, heading string, write func(w io.Writer)) error {
	if a.json {
		a.print(rows)
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, heading)
	write(w)
	return w.Flush()
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (a *app) savepointCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "savepoint",
		Short: "Keep copies of a pipeline's state, and go back to them",
		Long: `A savepoint is a copy of a pipeline's state, its journals and its dead letters, with a manifest of what belongs to it. Tables are hard links, so it is
made at once and costs little room. A pipeline that a daemon runs goes on meanwhile: the daemon makes the savepoint right behind a commit.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var dir, to, note string
	create := &cobra.Command{Use: "create --state DIR --to SAVEPOINT [PIPELINE]", Short: "Make a savepoint of a pipeline", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.savepointCreate(cmd.Context(), dir, strings.Join(args, ""), to, note)
		}}
	create.Flags().StringVar(&dir, "state", "", "state directory, as given to run, or the daemon's")
	create.Flags().StringVar(&to, "to", "", "directory to make; it must not exist, and lie on the same file system for hard links")
	create.Flags().StringVar(&note, "note", "", "a remark to keep with it")
	_, _ = create.MarkFlagRequired("state"), create.MarkFlagRequired("to")
	ls := &cobra.Command{Use: "ls DIR", Short: "List the savepoints in a directory", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.savepointList(args[0]) }}
	var into, sinks string
	restore := &cobra.Command{Use: "restore SAVEPOINT --state DIR [PIPELINE]", Short: "Make a pipeline's state of a savepoint", Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.savepointRestore(args[0], into, strings.Join(args[1:], ""), checkpoint.Sinks(sinks))
		}}
	restore.Flags().StringVar(&into, "state", "", "state directory to restore into")
	restore.Flags().StringVar(&sinks, "sinks", string(checkpoint.Exact), "rows that sinks have taken: exact (none comes again, and a sink that is ahead of the savepoint is refused), skip (what it is ahead is left out when it comes again) or again (they come again as new rows)")
	_ = restore.MarkFlagRequired("state")
	cmd.AddCommand(create, ls, restore)
	return cmd
}

// saved are the folders that a savepoint may hold beside the state.
var saved = []string{pipeline.LettersFolder, pipeline.JournalFolder}

func (a *app) savepointCreate(ctx context.Context, dir, name, to, note string) error {
	path, err := pipelineDir(dir, name)
	if err != nil {
		return err
	}
	absolute, err := filepath.Abs(to)
	if err != nil {
		return &exitError{code: exitEnvironment, err: err}
	}
	var m *state.Manifest
	held, err := askHolder(ctx, dir, func(ctx context.Context, c *api.Client) (err error) {
		m, err = c.Savepoint(ctx, filepath.Base(path), api.Savepoint{To: absolute, Note: note})
		return err
	})
	if err == nil && !held {
		m, err = saveStopped(path, to, note)
	}
	if err != nil {
		return err
	}
	if a.json {
		a.print(m)
		return nil
	}
	fmt.Fprintf(a.stdout, "%s: checkpoint %v of %s, %s, %s\n", to, m.About["checkpoint"], m.Pipeline, counted(len(m.Files), "file", "files"), counted(m.Size(), "byte", "bytes"))
	return nil
}

// saveStopped makes a savepoint of a pipeline that does not run.
func saveStopped(path, to, note string) (*state.Manifest, error) {
	s, err := state.Open(filepath.Join(path, pipeline.StateFolder), state.Options{MustExist: true})
	if err != nil {
		return nil, classify(err)
	}
	defer s.Close()
	st, err := checkpoint.Read(s)
	if err != nil {
		return nil, classify(err)
	}
	with, err := pipeline.SavedFolders(path)
	if err != nil {
		return nil, classify(err)
	}
	m, err := s.Save(to, state.Manifest{Created: time.Now().UnixMilli(), Pipeline: filepath.Base(path), Note: note, About: map[string]any{"checkpoint": st.Number}}, with)
	return m, classify(err)
}

func (a *app) savepointList(dir string) error {
	if _, err := os.ReadDir(dir); err != nil { // what is listed is told apart from what is not there
		return &exitError{code: exitEnvironment, err: fmt.Errorf("directory of savepoints: %w", err)}
	}
	all, err := state.ListSavepoints(vfs.Default, dir)
	if err != nil {
		return classify(err)
	}
	if a.json {
		if all == nil {
			all = map[string]*state.Manifest{}
		}
		a.print(all)
		return nil
	}
	if len(all) == 0 {
		fmt.Fprintf(a.stdout, "there is no savepoint in %s\n", dir)
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPIPELINE\tCREATED\tBYTES\tNOTE")
	for _, name := range sortedKeys(all) {
		m := all[name]
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", name, m.Pipeline, checkpoint.TimeText(m.Created), m.Size(), m.Note)
	}
	return w.Flush()
}

func (a *app) savepointRestore(savepoint, dir, name string, sinks checkpoint.Sinks) error {
	if !slices.Contains(checkpoint.AllSinks(), sinks) {
		return &exitError{code: exitConfig, err: fmt.Errorf("--sinks is exact, skip or again, and not %q", sinks)}
	}
	m, err := state.ReadManifest(vfs.Default, savepoint)
	if err != nil {
		return classify(err)
	}
	if name == "" {
		name = m.Pipeline
	}
	if name == "" || strings.ContainsAny(name, `/\`) || slices.Contains([]string{".", ".."}, name) {
		return &exitError{code: exitConfig, err: errors.New("the savepoint names no pipeline; give one")}
	}
	path := filepath.Join(dir, name)
	with := map[string]string{}
	for _, folder := range saved {
		with[folder] = filepath.Join(path, folder)
	}
	if _, err := state.Restore(vfs.Default, savepoint, filepath.Join(path, pipeline.StateFolder), with); err != nil {
		return classify(err)
	}
	s, err := state.Open(filepath.Join(path, pipeline.StateFolder), state.Options{MustExist: true})
	if err != nil {
		return classify(err)
	}
	err = checkpoint.Renew(context.Background(), s, sinks)
	if err = errors.Join(err, s.Close()); err != nil {
		return classify(err)
	}
	fmt.Fprintf(a.stdout, "%s: the state of %s as of %s; `tidemark run --state %s FILE` goes on from it\n", path, m.Pipeline, checkpoint.TimeText(m.Created), dir)
	return nil
}
