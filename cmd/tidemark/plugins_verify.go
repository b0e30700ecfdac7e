package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/conform"
	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/daemon/problem"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

// verifyOptions are the flags of `plugins verify`.
type verifyOptions struct {
	options []string
	only    string
	args    []string
	records int
	pin     bool
}

func (a *app) pluginsVerifyCommand() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify PATH",
		Short: "Try an executable, whatever its language, as the daemon would use it",
		Long: `Try an executable, whatever its language, as the daemon would use it: its handshake and its end, wrong options, other batches, disorder,
missing and odd values, a snapshot and a restart at every place, and how fast it is. Then print its digest and the lines that pin it.

A plugin does here what it does in life: a source reads, a sink writes. Give them options of a place for tests.
The exit code is 1 when something is wrong.`,
		Example: "  tidemark plugins verify ./plugins/tidemark-assigner-highest\n" +
			"  tidemark plugins verify ./plugins/tidemark-sink-shop --option path=/tmp/shop.out --option retries=3",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.pluginsVerify(cmd.Context(), args[0], o) },
	}
	cmd.Flags().StringArrayVar(&o.options, "option", nil, "option to open the plugin with, as NAME=VALUE; the value as in a pipeline file, quotes may be left out (may be given several times)")
	cmd.Flags().StringVar(&o.only, "plugin", "", `"KIND NAME" of one of several plugins in the executable (default: all)`)
	cmd.Flags().StringArrayVar(&o.args, "arg", nil, "argument for the executable (may be given several times)")
	cmd.Flags().IntVar(&o.records, "records", 0, "how many records plugins that look at records are tried with (default 200)")
	cmd.Flags().BoolVar(&o.pin, "pin", false, "try nothing, only print the digest and the lines that pin it")
	return cmd
}

func (a *app) pluginsVerify(ctx context.Context, path string, o verifyOptions) error {
	h, err := a.host(logger(a.stderr, "error", false))
	if err != nil {
		return err
	}
	defer h.Close()
	path, err = filepath.Abs(path)
	if err != nil {
		return &exitError{code: exitEnvironment, err: err}
	}
	if o.pin {
		return a.pin(ctx, h, path)
	}
	options, err := parseOptions(o.options)
	if err != nil {
		return &exitError{code: exitConfig, err: err}
	}
	reports, err := conform.Run(ctx, h, path, conform.Settings{Args: o.args, Only: o.only, Options: options, Records: o.records})
	var incomplete *conform.Incomplete
	var failed *host.Failure
	switch {
	case errors.As(err, &incomplete):
		return &exitError{code: exitConfig, err: err}
	case errors.As(err, &failed):
		err = &problem.Errors{Problems: []problem.Problem{failed.Problem()}}
		return &exitError{code: exitFailed, err: err}
	case err != nil:
		return err
	}
	findings := 0
	for _, r := range reports {
		findings += len(r.Findings)
	}
	pins, err := pinsOf(path, reports)
	if err != nil {
		return err
	}
	if a.json {
		a.print(struct {
			Path    string           `json:"path"`
			SHA256  string           `json:"sha256"`
			Pin     string           `json:"pin"`
			Plugins []conform.Report `json:"reports"`
		}{path, pins.sha256, pins.lines(), reports})
	} else {
		for _, r := range reports {
			a.report(r)
		}
		pins.write(a.stdout)
	}
	if findings > 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("%s: %d findings", path, findings), silent: a.json}
	}
	return nil
}

// report prints what was tried about one plugin.
func (a *app) report(r conform.Report) {
	name := "the executable"
	if r.Kind != "" {
		name = fmt.Sprintf("%s %s", r.Kind, r.Name)
	}
	fmt.Fprintln(a.stdout, name)
	for _, p := range r.Passed {
		fmt.Fprintln(a.stdout, "  ok    ", p)
	}
	for _, f := range r.Findings {
		fmt.Fprintln(a.stdout, "  FAILED", f.Check+":", f.Detail)
		if f.Hint != "" {
			fmt.Fprintln(a.stdout, "        ", f.Hint)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintln(a.stdout, "  note  ", n)
	}
	if r.NsPerRow > 0 {
		fmt.Fprintf(a.stdout, "  speed  %.0f ns a record, %.2f million records/s, over the process boundary\n", r.NsPerRow, 1000/r.NsPerRow)
	}
	fmt.Fprintln(a.stdout)
}

// pin prints the digest of a file that is trusted already.
func (a *app) pin(ctx context.Context, h *host.Host, path string) error {
	list, err := h.DescribeFile(ctx, path)
	if err != nil {
		return pluginError(h, "", path, err)
	}
	var reports []conform.Report
	for _, d := range list {
		reports = append(reports, conform.Report{Kind: d.Kind, Name: d.Name})
	}
	pins, err := pinsOf(path, reports)
	if err != nil {
		return err
	}
	if a.json {
		a.print(map[string]string{"path": path, "sha256": pins.sha256, "pin": pins.lines()})
		return nil
	}
	pins.write(a.stdout)
	return nil
}

// pins are the lines that bind plugins to one file.
type pins struct {
	sha256  string
	plugins []string // "kind-name"
	script  bool
}

func pinsOf(path string, reports []conform.Report) (pins, error) {
	f, err := os.Open(path)
	if err != nil {
		return pins{}, &exitError{code: exitEnvironment, err: err}
	}
	defer f.Close()
	var head [2]byte
	n, _ := io.ReadFull(f, head[:])
	digest := sha256.New()
	digest.Write(head[:n])
	if _, err := io.Copy(digest, f); err != nil {
		return pins{}, &exitError{code: exitEnvironment, err: err}
	}
	p := pins{sha256: hex.EncodeToString(digest.Sum(nil)), script: string(head[:]) == "#!"}
	for _, r := range reports {
		if r.Kind != "" {
			p.plugins = append(p.plugins, fmt.Sprintf("%s-%s", r.Kind, r.Name))
		}
	}
	return p, nil
}

func (p pins) lines() string {
	var b strings.Builder
	for i, name := range p.plugins {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[plugins.%s]\nsha256 = [%q]\n", name, p.sha256)
	}
	return b.String()
}

func (p pins) write(w io.Writer) {
	fmt.Fprintf(w, "sha256 %s\n\nto run this file and no other, write into the pipeline's or the daemon's file:\n\n%s", p.sha256, p.lines())
	if p.script {
		fmt.Fprint(w, "\nThe file is a script: the digest covers it alone, and not its interpreter nor what it imports.\n")
	}
}

// parseOptions reads NAME=VALUE, with values as in a pipeline file; what is no TOML value is a string. A dotted name leads into a table.
func parseOptions(list []string) (sdktest.Options, error) {
	out := sdktest.Options{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, fmt.Errorf("--option %q: write it as NAME=VALUE", text)
		}
		parsed := map[string]any{}
		if _, err := toml.Decode(name+" = "+value, &parsed); err != nil || dated(parsed) {
			parsed = map[string]any{}
			if _, err := toml.Decode(name+" = "+tomlString(value), &parsed); err != nil {
				return nil, fmt.Errorf("--option %q: the name is not a key of TOML", text)
			}
		}
		merge(out, parsed)
	}
	return out, nil
}

// dated tells whether a value was taken for a date or a time, which no option is.
func dated(m map[string]any) bool {
	for _, v := range m {
		switch x := v.(type) {
		case time.Time:
			return true
		case map[string]any:
			if dated(x) {
				return true
			}
		}
	}
	return false
}

// tomlString quotes a text for TOML, whose escapes are those of JSON and not those of Go.
func tomlString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func merge(into, from map[string]any) {
	for name, v := range from {
		table, isTable := v.(map[string]any)
		old, wasTable := into[name].(map[string]any)
		if isTable && wasTable {
			merge(old, table)
		} else {
			into[name] = v
		}
	}
}
