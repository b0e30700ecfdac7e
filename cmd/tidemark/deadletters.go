package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/state/deadletter"
)

// letterFlags pick a store and letters in it.
type letterFlags struct {
	state   string
	codes   []string
	parts   []string
	sources []string
	numbers string
}

func (f *letterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.state, "state", "", "state directory, as given to run, or the daemon's")
	cmd.Flags().StringArrayVar(&f.codes, "reason", nil, "only letters with this reason, such as late or malformed (may be given several times)")
	cmd.Flags().StringArrayVar(&f.parts, "component", nil, "only letters of this component")
	cmd.Flags().StringArrayVar(&f.sources, "source", nil, "only records of this source")
	cmd.Flags().StringVar(&f.numbers, "numbers", "", `only these, such as "7" or "7-12,20"`)
	_ = cmd.MarkFlagRequired("state")
}

func (f *letterFlags) filter() (deadletter.Filter, error) {
	out := deadletter.Filter{Codes: f.codes, Components: f.parts, Sources: f.sources}
	if f.numbers == "" {
		return out, nil
	}
	for _, part := range strings.Split(f.numbers, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err1 := strconv.ParseUint(strings.TrimSpace(from), 10, 64)
		b, err2 := strconv.ParseUint(strings.TrimSpace(to), 10, 64)
		if err1 != nil || err2 != nil || a > b {
			return out, &exitError{code: exitConfig, err: fmt.Errorf("--numbers: %q is no number and no range of numbers", part)}
		}
		out.Numbers = append(out.Numbers, deadletter.Range{First: a, Last: b})
	}
	return out, nil
}

// pipelineDir finds a pipeline's directory in a state directory: the one that is named, or the only one.
func pipelineDir(state, name string) (string, error) {
	if err := notAFile(state); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(state)
	if err != nil {
		return "", &exitError{code: exitEnvironment, err: fmt.Errorf("state directory: %w", err)}
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	switch {
	case slices.Contains(names, name):
		return filepath.Join(state, name), nil
	case len(names) == 0:
		return "", &exitError{code: exitEnvironment, err: fmt.Errorf("%s holds the state of no pipeline; name the directory that was given to run, or the daemon's", state)}
	case name != "":
		return "", &exitError{code: exitEnvironment, err: fmt.Errorf("no pipeline %q in %s; there is %s", name, state, strings.Join(names, ", "))}
	case len(names) > 1:
		return "", &exitError{code: exitConfig, err: fmt.Errorf("%s holds %d pipelines (%s); name one of them", state, len(names), strings.Join(names, ", "))}
	}
	return filepath.Join(state, names[0]), nil
}

// notAFile refuses a file where a state directory is to be named. One that is not there is for others to make, or to miss.
func notAFile(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return &exitError{code: exitEnvironment, err: fmt.Errorf("--state %s is a file; name a directory", dir)}
	}
	return nil
}

func (a *app) deadlettersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deadletters",
		Short: "Look at records that could not be used, and bring them in again",
		Long: `Every record that could not be used and whose port nobody reads is kept with its reason: what came too late, could not be decoded, had no
usable time, or was refused by a sink. The store is bounded; the oldest go first, and are counted.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var ls, show, export, purge, replay letterFlags
	sub := func(use, short string, f *letterFlags, args cobra.PositionalArgs, run func(ctx context.Context, args []string) error) *cobra.Command {
		c := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) }}
		f.add(c)
		cmd.AddCommand(c)
		return c
	}
	sub("ls [PIPELINE]", "List letters, one a line", &ls, cobra.MaximumNArgs(1), func(_ context.Context, args []string) error { return a.letters(ls, args, a.listLetter) })
	sub("show [PIPELINE]", "Show letters in full", &show, cobra.MaximumNArgs(1), func(_ context.Context, args []string) error { return a.letters(show, args, a.showLetter) })
	sub("export [PIPELINE]", "Print letters as JSON, one a line", &export, cobra.MaximumNArgs(1), func(_ context.Context, args []string) error { return a.letters(export, args, a.exportLetter) })
	sub("purge [PIPELINE]", "Take letters out for good", &purge, cobra.MaximumNArgs(1), func(_ context.Context, args []string) error { return a.purgeLetters(purge, args) })
	sub("replay FILE", "Bring the records of letters in again, through the pipeline as it is now", &replay, cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error { return a.replayLetters(ctx, replay, args[0]) })
	return cmd
}

// letters visits the letters that the flags pick.
func (a *app) letters(f letterFlags, args []string, visit func(w *tabwriter.Writer, l deadletter.Letter) error) error {
	all, damage := readLetters(f, strings.Join(args, ""))
	w := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
	for _, l := range all { // those that a damaged file has left, too
		if err := visit(w, l); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), damage)
}

func readLetters(f letterFlags, name string) ([]deadletter.Letter, error) {
	filter, err := f.filter()
	if err != nil {
		return nil, err
	}
	dir, err := pipelineDir(f.state, name)
	if err != nil {
		return nil, err
	}
	var all []deadletter.Letter
	store := filepath.Join(dir, pipeline.LettersFolder)
	err = deadletter.Read(vfs.Default, store, filter, func(l deadletter.Letter) error {
		all = append(all, l)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = f.unknown(store)
	}
	return all, err
}

// unknown looks, where nothing was found, for a name that stands in no letter: it is a slip more often than not. A reason that there might
// have been is none.
func (f *letterFlags) unknown(store string) error {
	if len(f.codes)+len(f.parts)+len(f.sources) == 0 {
		return nil
	}
	codes, parts, sources := map[string]int{}, map[string]int{}, map[string]int{}
	err := deadletter.Read(vfs.Default, store, deadletter.Filter{}, func(l deadletter.Letter) error {
		codes[l.Code]++
		parts[l.Component]++
		sources[l.Source]++
		return nil
	})
	if err != nil || len(codes) == 0 {
		return err
	}
	for _, by := range []struct {
		flag  string
		given []string
		there map[string]int
	}{{"--reason", f.codes, codes}, {"--component", f.parts, parts}, {"--source", f.sources, sources}} {
		for _, name := range by.given {
			if by.there[name] > 0 || by.flag == "--reason" && knownReason(name) {
				continue
			}
			var known []string
			for _, other := range sortedKeys(by.there) {
				known = append(known, fmt.Sprintf("%s (%s)", other, counted(by.there[other], "letter", "letters")))
			}
			return &exitError{code: exitConfig, err: fmt.Errorf("%s %s: no letter has that; there is %s", by.flag, name, strings.Join(known, ", "))}
		}
	}
	return nil
}

func (a *app) listLetter(w *tabwriter.Writer, l deadletter.Letter) error {
	if a.json {
		return a.exportLetter(w, l)
	}
	text := strings.ToValidUTF8(string(l.Raw), "\uFFFD")
	if r := []rune(text); len(r) > 60 {
		text = string(r[:60]) + "…"
	}
	_, err := fmt.Fprintf(w, "%d\t%s\t%s.%s\t%s\t%s\n", l.Number, l.Code, l.Component, l.Port, l.Source, strconv.Quote(text))
	return err
}

func (a *app) showLetter(w *tabwriter.Writer, l deadletter.Letter) error {
	if a.json {
		return a.exportLetter(w, l)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.stdout, "  %-16s %s\n", name, value)
		}
	}
	fmt.Fprintf(a.stdout, "letter %d: %s\n", l.Number, l.Message)
	line("reason", l.Code)
	line("refused by", l.Component+"."+l.Port)
	line("source", l.Source)
	line("partition", l.Partition)
	if l.Position >= 0 {
		line("position", fmt.Sprint(l.Position))
	}
	line("event time", millis(l.EventTime))
	line("watermark", millis(l.Watermark))
	line("refused at", millis(l.ProcessingTime))
	if l.RawLength > int64(len(l.Raw)) {
		line("kept", fmt.Sprintf("%d of %d bytes", len(l.Raw), l.RawLength))
	}
	line("record", strconv.Quote(string(l.Raw)))
	return nil
}

// millis writes a time, or nothing where there is none.
func millis(ms int64) string {
	if ms == -1<<63 || ms == 1<<63-1 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func (a *app) exportLetter(_ *tabwriter.Writer, l deadletter.Letter) error {
	out, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", out)
	return err
}

func (a *app) purgeLetters(f letterFlags, args []string) error {
	name := strings.Join(args, "")
	all, err := readLetters(f, name)
	if err != nil {
		return err
	}
	dir, err := pipelineDir(f.state, name)
	if err != nil {
		return err
	}
	if err := purge(dir, all); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "%s purged\n", counted(len(all), "letter", "letters"))
	return nil
}

func purge(dir string, all []deadletter.Letter) error {
	var ranges []deadletter.Range
	for _, l := range all {
		if n := len(ranges); n > 0 && ranges[n-1].Last+1 == l.Number {
			ranges[n-1].Last = l.Number
			continue
		}
		ranges = append(ranges, deadletter.Range{First: l.Number, Last: l.Number})
	}
	return deadletter.Purge(vfs.Default, filepath.Join(dir, pipeline.LettersFolder), ranges...)
}

// replayLetters runs the pipeline over the records of letters, and purges those that went in. What is refused again makes a new letter.
func (a *app) replayLetters(ctx context.Context, f letterFlags, file string) error {
	log := logger(a.stderr, "warn", false)
	h, err := a.host(log)
	if err != nil {
		return err
	}
	defer h.Close()
	p, view, err := a.load(h, file)
	if err != nil {
		return err
	}
	dir, err := pipelineDir(f.state, p.Name)
	if err != nil {
		return err
	}
	all, err := readLetters(f, p.Name)
	if err != nil {
		return err
	}
	replay := map[string][]deadletter.Letter{}
	var taken []deadletter.Letter
	for _, l := range all {
		if why := pipeline.CannotReplay(p, l); why != "" {
			fmt.Fprintf(a.stderr, "letter %d stays: %s\n", l.Number, why)
			continue
		}
		replay[l.Source] = append(replay[l.Source], l)
		taken = append(taken, l)
	}
	if len(taken) == 0 {
		fmt.Fprintln(a.stderr, "no letters to replay")
		return nil
	}
	run := pipeline.New(p, pipeline.Settings{Clock: clock.System(), Plugins: view, StateDir: dir, Log: log.With("pipeline", p.Name), Replay: replay})
	if err := run.Run(ctx); err != nil {
		return classify(err)
	}
	if run.State() != pipeline.Finished {
		return errors.New("interrupted; the letters stay")
	}
	if err := purge(dir, taken); err != nil {
		return err
	}
	s := run.Summary()
	fmt.Fprintf(a.stderr, "%s replayed: %d late, %d rejected again\n", counted(len(taken), "letter", "letters"), s.Late, s.Rejected)
	return nil
}
