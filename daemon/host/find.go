package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// ErrNotFound says that there is no plugin of that kind and name.
var ErrNotFound = errors.New("no such plugin")

// Found is a plugin with its description.
type Found struct {
	Description sdk.Description
	Origin      string // where it comes from, for people: "shipped", or the path of its executable
	Shipped     bool
}

// Plugins is the Host's view for one pipeline: its policies say where plugins are and how they run.
type Plugins struct {
	host     *Host
	policies []*config.PluginPolicy
	base     string
}

// Plugins makes a view. policies may be nil; paths in them are relative to base, the folder of the file that they stand in. Where they say
// nothing, those of the daemon count.
func (h *Host) Plugins(policies []*config.PluginPolicy, base string) *Plugins {
	return &Plugins{host: h, policies: layered(policies, h.policies), base: base}
}

// Entry is a plugin that was found.
type Entry struct {
	Kind    sdk.Kind
	Name    string
	Shipped bool
	Path    string // the executable; for a shipped one the daemon's
	Why     string // why this one is used, or why not
	Used    bool
	Warning string // a risk, or why it cannot be asked
}

// Origin is where it comes from, for people.
func (e Entry) Origin() string {
	if e.Shipped {
		return "shipped"
	}
	return e.Path
}

const (
	filePrefix  = "tidemark-"
	multiPrefix = "tidemark-plugins-" // an executable that serves several: it is asked what
)

// List finds all plugins, used ones and those that others hide, by kind and name. Executables that serve several are started and asked.
func (v *Plugins) List(ctx context.Context) []Entry {
	var all []Entry
	for _, p := range v.policies {
		if p.Path != "" {
			all = append(all, v.entry(Entry{Kind: sdk.Kind(p.Kind), Name: p.Name, Path: absolute(p.Path, v.base), Why: "the pipeline's configuration names it"}))
		}
	}
	for _, dir := range v.host.dirs {
		all = append(all, v.scan(ctx, dir)...)
	}
	for _, p := range v.host.shipped {
		d := p.Description()
		all = append(all, Entry{Kind: d.Kind, Name: d.Name, Shipped: true, Path: v.host.executable, Why: "it is shipped"})
	}
	kinds := wire.Kinds()
	slices.SortStableFunc(all, func(a, b Entry) int {
		if a.Kind != b.Kind {
			return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind)
		}
		return strings.Compare(a.Name, b.Name)
	})
	for i := range all {
		first := i
		for first > 0 && all[first-1].Kind == all[i].Kind && all[first-1].Name == all[i].Name {
			first--
		}
		switch all[i].Used = first == i; {
		case !all[i].Used:
			all[i].Why = "hidden by " + all[first].Path
		case i+1 < len(all) && all[i+1].Kind == all[i].Kind && all[i+1].Name == all[i].Name && all[i+1].Shipped && !all[i].Shipped:
			all[i].Why += "; it hides the shipped one"
		}
	}
	return all
}

// scan reads one plugin directory.
func (v *Plugins) scan(ctx context.Context, dir string) []Entry {
	files, err := os.ReadDir(dir)
	if err != nil {
		v.host.log.Warn("a plugin directory cannot be read", "dir", dir, "error", err)
		return nil
	}
	var out []Entry
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".exe")
		path := absolute(filepath.Join(dir, f.Name()), "")
		why := "it was found in " + dir
		switch {
		case f.IsDir() || !strings.HasPrefix(name, filePrefix):
		case strings.HasPrefix(name, multiPrefix):
			list, err := v.host.describeFile(ctx, path, nil, nil)
			if err != nil {
				out = append(out, Entry{Name: name, Path: path, Why: why, Warning: err.Error()})
			}
			for _, d := range list {
				out = append(out, v.entry(Entry{Kind: d.Kind, Name: d.Name, Path: path, Why: why}))
			}
		default:
			if kind, rest, ok := kindOfFile(name); ok {
				out = append(out, v.entry(Entry{Kind: kind, Name: rest, Path: path, Why: why}))
			}
		}
	}
	return out
}

// kindOfFile takes "tidemark-<kind>-<name>" apart. A "-" in the name stands for "_".
func kindOfFile(file string) (sdk.Kind, string, bool) {
	kind, name, ok := strings.Cut(strings.TrimPrefix(file, filePrefix), "-")
	if k := sdk.Kind(kind); slices.Contains(wire.Kinds(), k) {
		return k, strings.ReplaceAll(name, "-", "_"), ok && name != ""
	}
	return "", "", false
}

func (v *Plugins) entry(e Entry) Entry {
	if detail, _ := checkFile(e.Path); detail != "" {
		e.Warning = detail
	} else if writableByAll(e.Path) {
		e.Warning = "any user may write to the file"
	}
	return e
}

// find is the plugin of that kind and name that is used.
func (v *Plugins) find(ctx context.Context, kind sdk.Kind, name string) (Entry, error) {
	if p := v.policy(kind, name); p != nil && p.Path != "" {
		return Entry{Kind: kind, Name: name, Path: absolute(p.Path, v.base)}, nil
	}
	for _, dir := range v.host.dirs { // the usual case needs no process to be started
		for _, e := range v.named(dir, kind, name) {
			return e, nil
		}
	}
	for _, e := range v.List(ctx) {
		if e.Used && e.Kind == kind && e.Name == name {
			return e, nil
		}
	}
	return Entry{}, ErrNotFound
}

// named looks into a directory for a file that is named after the plugin.
func (v *Plugins) named(dir string, kind sdk.Kind, name string) []Entry {
	files, _ := filepath.Glob(filepath.Join(dir, filePrefix+string(kind)+"-*"))
	for _, path := range files {
		if k, n, ok := kindOfFile(strings.TrimSuffix(filepath.Base(path), ".exe")); ok && k == kind && n == name {
			return []Entry{{Kind: kind, Name: name, Path: absolute(path, "")}}
		}
	}
	return nil
}

func (v *Plugins) policy(kind sdk.Kind, name string) *config.PluginPolicy {
	for _, p := range v.policies {
		if p.Kind == string(kind) && p.Name == name {
			return p
		}
	}
	return nil
}

// Describe says what a plugin is, or ErrNotFound. An executable is started to be asked, once for each version of the file.
func (v *Plugins) Describe(kind sdk.Kind, name string) (Found, error) {
	e, d, err := v.describe(context.Background(), kind, name)
	if err != nil {
		return Found{}, err
	}
	return Found{Description: d, Origin: e.Origin(), Shipped: e.Shipped}, nil
}

func (v *Plugins) describe(ctx context.Context, kind sdk.Kind, name string) (Entry, sdk.Description, error) {
	e, err := v.find(ctx, kind, name)
	if err != nil {
		return e, sdk.Description{}, err
	}
	if e.Shipped {
		p, _ := v.host.shippedPlugin(kind, name)
		return e, p.Description(), nil
	}
	list, err := v.host.describeFile(ctx, e.Path, v.policy(kind, name), &e)
	if err != nil {
		return e, sdk.Description{}, err
	}
	var others []string
	for _, d := range list {
		if d.Kind == kind && d.Name == name {
			return e, d, nil
		}
		others = append(others, fmt.Sprintf("%s %s", d.Kind, d.Name))
	}
	return e, sdk.Description{}, &Failure{Kind: kind, Name: name, Path: e.Path, Reason: NotAPlugin,
		Detail: fmt.Sprintf("it serves %s, and no %s of that name", strings.Join(others, ", "), kind), Hint: "name the file after the plugin, or the plugin after the file"}
}

// Names lists the plugins of a kind.
func (v *Plugins) Names(kind sdk.Kind) []string {
	var out []string
	for _, e := range v.List(context.Background()) {
		if e.Used && e.Kind == kind {
			out = append(out, e.Name)
		}
	}
	return out
}

// CheckOptions has a plugin look at options, a JSON object: sdk.OptionErrors, or an error of the call. Nothing is opened.
func (v *Plugins) CheckOptions(kind sdk.Kind, name string, options []byte) error {
	ctx := context.Background()
	e, d, err := v.describe(ctx, kind, name)
	if err != nil {
		return err
	}
	if e.Shipped {
		p, _ := v.host.shippedPlugin(kind, name)
		return p.CheckOptions(options)
	}
	p, err := v.host.start(ctx, launch{kind: kind, name: name, path: e.Path, args: v.args(kind, name), policy: v.policy(kind, name), stdin: d.Stdin})
	if err != nil {
		return err
	}
	defer p.stop()
	ctx, cancel := context.WithTimeout(ctx, v.host.startTimeout)
	defer cancel()
	return p.wire.Check(ctx, kind, name, options)
}

func (v *Plugins) args(kind sdk.Kind, name string) []string {
	if p := v.policy(kind, name); p != nil {
		return p.Args
	}
	return nil
}

func (h *Host) shippedPlugin(kind sdk.Kind, name string) (sdk.Plugin, bool) {
	for _, p := range h.shipped {
		if d := p.Description(); d.Kind == kind && d.Name == name {
			return p, true
		}
	}
	return sdk.Plugin{}, false
}

// describedFile is what an executable has said about itself, as long as the file is the same.
type describedFile struct {
	size     int64
	modified time.Time
	plugins  []sdk.Description
}

// DescribeFile starts any executable and asks what plugins it has.
func (h *Host) DescribeFile(ctx context.Context, path string) ([]sdk.Description, error) {
	return h.describeFile(ctx, absolute(path, ""), nil, nil)
}

func (h *Host) describeFile(ctx context.Context, path string, policy *config.PluginPolicy, as *Entry) ([]sdk.Description, error) {
	info, err := os.Stat(path)
	if err == nil {
		h.mu.Lock()
		known, ok := h.described[path]
		h.mu.Unlock()
		if ok && known.size == info.Size() && known.modified.Equal(info.ModTime()) {
			return known.plugins, nil
		}
	}
	l := launch{path: path, policy: policy, name: filepath.Base(path), kind: "plugin"}
	if as != nil {
		l.kind, l.name = as.Kind, as.Name
	}
	if policy != nil {
		l.args = policy.Args
	}
	if writableByAll(path) { // here, because this happens once for each version of the file
		h.log.Warn("anybody may write to this plugin's file, and so run code as the daemon's user", "plugin", l.name, "file", path, "remedy", "chmod o-w "+path)
	}
	p, err := h.start(ctx, l)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	ctx, cancel := context.WithTimeout(ctx, h.startTimeout)
	defer cancel()
	list, err := p.wire.List(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, p.failure(NotAPlugin, "it serves no plugin", "", errors.New("empty list"))
	}
	if info != nil {
		h.mu.Lock()
		h.described[path] = describedFile{info.Size(), info.ModTime(), list}
		h.mu.Unlock()
	}
	return list, nil
}
