package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/scaffold"
	"github.com/tidemark-stream/tidemark/sdk"
)

// newOptions are the flags of `plugins new`.
type newOptions struct {
	dir, style, sdk string
}

func (a *app) pluginsNewCommand() *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:   "new KIND NAME",
		Short: "Write the beginnings of a plugin in Go: a module that builds, with a test and a pipeline",
		Long: `Write the beginnings of a source, assigner, transform, aggregate, window function or sink in Go: a module that builds, whose tests are green, and a pipeline that
runs with it at once.

The module requires the version of this program. In a checkout of tidemark, or with --sdk, it takes the sdk from the checkout instead, through a
replace line in its go.mod.`,
		Example: "  tidemark plugins new assigner late_clicks\n  tidemark plugins new assigner heartbeats --style marker --dir ~/src/heartbeats",
		Args:    cobra.ExactArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.pluginsNew(cmd.Context(), args[0], args[1], o) },
	}
	cmd.Flags().StringVar(&o.dir, "dir", "", "folder to write to (default: tidemark-KIND-NAME)")
	cmd.Flags().StringVar(&o.style, "style", string(sdk.Periodic), "of an assigner: periodic, punctuated or marker")
	cmd.Flags().StringVar(&o.sdk, "sdk", "", "a checkout of tidemark to take the sdk from")
	return cmd
}

func (a *app) pluginsNew(ctx context.Context, kindText, name string, o newOptions) error {
	kind, err := pluginKind(kindText)
	if err != nil {
		return err
	}
	if !scaffold.ValidName(strings.ReplaceAll(name, "-", "_")) {
		return &exitError{code: exitConfig, err: fmt.Errorf("%q: %w", name, scaffold.ErrName)}
	}
	if kind != sdk.KindAssigner && o.style != string(sdk.Periodic) {
		return &exitError{code: exitConfig, err: fmt.Errorf("--style is for assigners, not for a %s", kind)}
	}
	s := scaffold.Settings{Kind: kind, Name: strings.ReplaceAll(name, "-", "_"), Style: sdk.Style(o.style), Dir: o.dir}
	if kind == sdk.KindAssigner && !slices.Contains(scaffold.Styles(), s.Style) {
		return &exitError{code: exitConfig, err: fmt.Errorf("%q is no style of assigner; the styles are periodic, punctuated and marker", o.style)}
	}
	if s.Dir == "" {
		s.Dir = s.Executable()
	}
	if there, _ := os.ReadDir(s.Dir); len(there) > 0 { // before anything that takes longer to mend
		return &exitError{code: exitConfig, err: fmt.Errorf("%s: %w", s.Dir, scaffold.ErrNotEmpty)}
	}
	if s.SDK, err = whichSDK(o.sdk, readBuildInfo().Version); err != nil {
		return &exitError{code: exitConfig, err: err}
	}
	files, err := scaffold.Write(s)
	switch {
	case errors.Is(err, scaffold.ErrName), errors.Is(err, scaffold.ErrNotEmpty):
		return &exitError{code: exitConfig, err: err}
	case err != nil:
		return &exitError{code: exitEnvironment, err: err}
	}
	tidy := tidied(ctx, s)
	if a.json {
		a.print(map[string]any{"dir": s.Dir, "files": files, "sdk": s.SDK.String(), "tidy": tidy})
		return nil
	}
	fmt.Fprintf(a.stdout, "%s: %s\nit uses %s\n\nnext:\n", s.Dir, strings.Join(files, ", "), s.SDK)
	if s.Dir != "." {
		fmt.Fprintf(a.stdout, "    cd %s\n", s.Dir)
	}
	if !tidy && s.SDK.Checkout == "" {
		fmt.Fprintln(a.stdout, "    go mod tidy")
	}
	fmt.Fprintf(a.stdout, "    go test ./...\n    go build -o plugins/%s .\n    tidemark --plugin-dir plugins run pipeline.toml\n", s.Executable())
	return nil
}

// whichSDK decides where the module finds the sdk: the checkout that was named, or the one we are in, or the version of this program.
func whichSDK(named, version string) (scaffold.SDK, error) {
	dir := named
	if dir == "" {
		dir = "."
	}
	checkout, err := scaffold.FindCheckout(dir)
	switch {
	case err == nil:
		return scaffold.SDK{Checkout: checkout}, nil
	case named != "":
		return scaffold.SDK{}, fmt.Errorf("--sdk %w", err)
	case !scaffold.Released(version):
		return scaffold.SDK{}, fmt.Errorf("this program is a development build (%s), which nobody can fetch; name a checkout of tidemark with --sdk DIR", version)
	}
	return scaffold.SDK{Version: version}, nil
}

// tidied lets the go command complete go.mod and go.sum, and shorten them to what is needed. Nothing depends on it where the sdk comes from
// a checkout: then it does without the network, and does nothing if it cannot.
func tidied(ctx context.Context, s scaffold.Settings) bool {
	program, err := exec.LookPath("go")
	if err != nil {
		return false
	}
	cmd := exec.CommandContext(ctx, program, "mod", "tidy")
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if s.SDK.Checkout != "" {
		cmd.Env = append(cmd.Env, "GOPROXY=off", "GOFLAGS=-mod=mod")
	}
	return cmd.Run() == nil
}
