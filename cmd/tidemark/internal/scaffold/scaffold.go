package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

//go:embed templates
var templates embed.FS

// Settings say what to write.
type Settings struct {
	Kind  wire.Kind
	Name  string     // of the plugin: lower case, words joined by "_"
	Style wire.Style // of an assigner
	Dir   string     // the module's folder; it must not exist or be empty
	SDK   SDK
}

// SDK says where the module finds Tidemark's packages. One of the two is set.
type SDK struct {
	Checkout string // the absolute path of a checkout
	Version  string // a released version
}

var (
	// ErrName says that a name cannot be a plugin's.
	ErrName = errors.New("a plugin's name is lower-case letters and digits, words joined by \"_\"")
	// ErrNotEmpty says that there are files in the folder already.
	ErrNotEmpty = errors.New("the folder is not empty")
)

var nameRule = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// ValidName says whether a plugin may be called so.
func ValidName(name string) bool { return nameRule.MatchString(name) }

// Styles lists the styles of assigners.
func Styles() []wire.Style { return []wire.Style{wire.Periodic, wire.Punctuated, wire.Marker} }

// Executable is what the built plugin is called: its name tells the daemon what it is.
func (s Settings) Executable() string { return fmt.Sprintf("tidemark-%s-%s", s.Kind, s.Name) }

// Write writes the module and returns the names of its files, in order. A folder with files in it is not touched. After another error
// the folder may hold a part of them.
func Write(s Settings) ([]string, error) {
	if !ValidName(s.Name) {
		return nil, fmt.Errorf("%q: %w", s.Name, ErrName)
	}
	files, err := s.render()
	if err != nil {
		return nil, err
	}
	if err := s.SDK.module(s.Executable(), files); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	if there, err := os.ReadDir(s.Dir); err != nil {
		return nil, err
	} else if len(there) > 0 {
		return nil, fmt.Errorf("%s: %w", s.Dir, ErrNotEmpty)
	}
	var names []string
	for name, text := range files {
		names = append(names, name)
		if err := os.WriteFile(filepath.Join(s.Dir, name), text, 0o644); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return names, nil
}

// render fills in the templates.
func (s Settings) render() (map[string][]byte, error) {
	special := string(s.Kind)
	if s.Kind == wire.KindAssigner {
		special += "-" + string(s.Style)
	}
	values := struct {
		Kind, Name, File, SDK, VerifyOptions string
	}{Kind: string(s.Kind), Name: s.Name, File: s.Executable(), SDK: s.SDK.String()}
	if s.Kind == wire.KindSink {
		values.VerifyOptions = " --option path=/tmp/" + s.Name + ".out"
	}
	out := map[string][]byte{}
	for _, folder := range []string{special, "common"} {
		dir := path.Join("templates", folder)
		list, err := fs.ReadDir(templates, dir)
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			name := strings.TrimSuffix(f.Name(), ".tmpl")
			if name == "gitignore" {
				name = ".gitignore"
			}
			if out[name] != nil || name == "input.jsonl" && s.Kind == wire.KindSource {
				continue
			}
			t, err := template.New(f.Name()).Delims("[[", "]]").Option("missingkey=error").ParseFS(templates, path.Join(dir, f.Name()))
			if err != nil {
				return nil, err
			}
			var b bytes.Buffer
			if err := t.Execute(&b, values); err != nil {
				return nil, err
			}
			out[name] = b.Bytes()
		}
	}
	return out, nil
}
