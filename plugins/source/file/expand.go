package file

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// found is a path that the patterns name, with what the system says about it.
type found struct {
	path string
	info fs.FileInfo
}

// expand returns the regular files that the patterns name, in order, each path once. Missing ones are left out; what was
// named outright and is missing, or cannot be read, is in the error, together with everything that was found.
func (c *Config) expand() ([]found, error) {
	var out []found
	var errs []error
	seen := map[string]bool{}
	for _, pattern := range c.Path {
		paths, err := doublestar.FilepathGlob(pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if outright := !hasMeta(pattern); outright && len(paths) == 0 {
			errs = append(errs, fmt.Errorf("there is no file %s", pattern))
		}
		for _, path := range paths {
			path = filepath.Clean(path)
			if seen[path] || c.excluded(path) {
				continue
			}
			seen[path] = true
			info, err := os.Stat(path)
			switch {
			case errors.Is(err, fs.ErrNotExist): // it has just gone
			case err != nil:
				errs = append(errs, err)
			case info.IsDir():
				if !hasMeta(pattern) {
					errs = append(errs, fmt.Errorf("%s is a folder; write %s to read what is in it", path, filepath.Join(path, "*")))
				}
			case !info.Mode().IsRegular():
				if !hasMeta(pattern) {
					errs = append(errs, fmt.Errorf("%s is a pipe or a device, not a file; for a pipe use the source stdin", path))
				}
			default:
				out = append(out, found{path, info})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b found) int {
		if c.Order == "modified" {
			if d := a.info.ModTime().Compare(b.info.ModTime()); d != 0 {
				return d
			}
		}
		return compareNatural(a.path, b.path)
	})
	return out, errors.Join(errs...)
}

func (c *Config) excluded(path string) bool {
	return slices.ContainsFunc(c.Exclude, func(pattern string) bool {
		if !strings.ContainsRune(pattern, filepath.Separator) {
			ok, _ := doublestar.PathMatch(pattern, filepath.Base(path))
			return ok
		}
		ok, _ := doublestar.PathMatch(pattern, path)
		return ok
	})
}

func hasMeta(pattern string) bool { return strings.ContainsAny(pattern, `*?[{\`) }

// folders are those that have to be watched for new files.
func (c *Config) folders() []string {
	var out []string
	for _, pattern := range c.Path {
		base, _ := doublestar.SplitPattern(filepath.ToSlash(pattern))
		dir := filepath.FromSlash(base)
		if !hasMeta(pattern) {
			dir = filepath.Dir(pattern)
		}
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// compareNatural compares names with runs of digits by value: log.2 comes before log.10.
func compareNatural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		nx, ny := digits(x), digits(y)
		if nx > 0 && ny > 0 {
			vx, vy := strings.TrimLeft(x[:nx], "0"), strings.TrimLeft(y[:ny], "0")
			if d := cmp.Or(cmp.Compare(len(vx), len(vy)), cmp.Compare(vx, vy)); d != 0 {
				return d
			}
			x, y = x[nx:], y[ny:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits is the length of the run of digits that s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
