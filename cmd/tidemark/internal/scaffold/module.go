package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// tidemark is the path of the module with the sdk.
const tidemark = "github.com/tidemark-stream/tidemark"

// ErrNoCheckout says that a folder does not lie in a checkout of Tidemark.
var ErrNoCheckout = errors.New("no checkout of " + tidemark)

// String says in words where the sdk comes from.
func (s SDK) String() string {
	if s.Checkout != "" {
		return "the checkout " + s.Checkout
	}
	return tidemark + " " + s.Version
}

// FindCheckout looks for a checkout of Tidemark: dir or a folder above it.
func FindCheckout(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && modfile.ModulePath(text) == tidemark {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s: %w", dir, ErrNoCheckout)
		}
	}
}

// Released tells whether a version is one that others can fetch: a tag, or a commit that was clean when it was built.
func Released(version string) bool {
	return semver.IsValid(version) && semver.Build(version) == "" && !strings.HasPrefix(version, "v0.0.0-00010101")
}

// module adds go.mod, and go.sum where it is known.
func (s SDK) module(name string, files map[string][]byte) error {
	var out modfile.File
	if err := out.AddModuleStmt(name); err != nil {
		return err
	}
	if s.Checkout == "" {
		if err := errors.Join(out.AddGoStmt(goVersion()), out.AddRequire(tidemark, s.Version)); err != nil {
			return err
		}
	} else if err := s.fromCheckout(&out, files); err != nil {
		return err
	}
	out.Cleanup()
	text, err := out.Format()
	files["go.mod"] = text
	return err
}

// fromCheckout takes over what the checkout requires, with its checksums: the build then needs nothing that the checkout's own does not.
func (s SDK) fromCheckout(out *modfile.File, files map[string][]byte) error {
	path := filepath.Join(s.Checkout, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	theirs, err := modfile.Parse(path, text, nil)
	if err != nil {
		return err
	}
	requires := []*modfile.Require{{Mod: module.Version{Path: tidemark, Version: "v0.0.0-00010101000000-000000000000"}}}
	for _, r := range theirs.Require {
		requires = append(requires, &modfile.Require{Mod: r.Mod, Indirect: true})
	}
	out.SetRequireSeparateIndirect(requires)
	version := goVersion()
	if theirs.Go != nil {
		version = theirs.Go.Version
	}
	if err := errors.Join(out.AddGoStmt(version), out.AddReplace(tidemark, "", s.Checkout, "")); err != nil {
		return err
	}
	for _, r := range theirs.Replace {
		if err := out.AddReplace(r.Old.Path, r.Old.Version, r.New.Path, r.New.Version); err != nil {
			return err
		}
	}
	files["go.sum"], err = os.ReadFile(filepath.Join(s.Checkout, "go.sum"))
	return err
}

// goVersion is the language version of the Go that has built this program.
func goVersion() string {
	v := strings.TrimPrefix(runtime.Version(), "go")
	if i := strings.IndexAny(v, " -"); i >= 0 {
		v = v[:i]
	}
	return v
}
