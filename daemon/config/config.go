package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/problem"
)

// Config is one pipeline's file with defaults filled in. Components stand in the order of the file.
type Config struct {
	File        string
	Name        string // [pipeline] name
	Description string

	Shards        int // 0 = one for each CPU
	DecodeWorkers int // 0 = one for each CPU
	BatchRows     int
	BatchBytes    int64
	Linger        time.Duration

	Sources    []*Source
	Transforms []*Transform
	Sinks      []*Sink

	Checkpoint  Checkpoint
	State       State
	DeadLetters DeadLetters
	Restart     Restart
	Plugins     []*PluginPolicy

	// Broken says that lines were refused and left out. What seems to be missing may only be missing because of that.
	Broken bool

	text *text
}

// Checkpoint is [checkpoint].
type Checkpoint struct {
	Interval    time.Duration
	MinInterval time.Duration
	Timeout     time.Duration
}

// State is [state]. Sizes are bytes.
type State struct {
	Memory   int64
	MemoryAt *problem.Place // where the file says it; nil: nowhere
	Cache    int64
	Outbox   int64
}

// DeadLetters is [dead_letters].
type DeadLetters struct {
	MaxSize int64
	MaxAge  time.Duration // 0 = no limit
}

// Restart is [restart].
type Restart struct {
	Backoff     time.Duration
	MaxBackoff  time.Duration
	MaxAttempts int // 0 = for ever
	MaxCrashes  int // 0 = for ever
	ResetAfter  time.Duration
}

// PluginPolicy is [plugins.KIND-NAME]: how processes of one plugin are run.
type PluginPolicy struct {
	Kind, Name   string
	SHA256       []string // lower case hex
	Path         string
	Args         []string
	Env          map[string]string
	MTLS         bool
	StartTimeout time.Duration
	CallTimeout  time.Duration
	User         string
	Memory       int64
	Files        int
	Processes    int

	At    problem.Place            // its header
	Spots map[string]problem.Place // of the keys that are given: "sha256"
}

// Component is what sources, transforms and sinks have in common.
type Component struct {
	Name string
	At   problem.Place // its name in the header

	table *Table
}

// Value gives the value of a key at a path ("window", "size"), or nil when it is not in the file.
func (c *Component) Value(path ...string) *Value {
	t := c.table
	for i, key := range path {
		v := t.Get(key)
		if v == nil || i == len(path)-1 {
			return v
		}
		if v.Kind != KindTable {
			return nil
		}
		t = v.Table
	}
	return nil
}

// Place is where the value at a path stands; a path that is not there gives the nearest table above it.
func (c *Component) Place(path ...string) problem.Place {
	for n := len(path); n > 0; n-- {
		if v := c.Value(path[:n]...); v != nil {
			return v.At
		}
	}
	return c.At
}

// KeyPlace is where the key at a path stands.
func (c *Component) KeyPlace(path ...string) problem.Place {
	if v := c.Value(path...); v != nil {
		return v.KeyAt
	}
	return c.Place(path...)
}

// Ref is the name of an input: a component, or one of its ports.
type Ref struct {
	Component string
	Port      string // "" = the main one
	At        problem.Place
}

func (r Ref) String() string {
	if r.Port == "" {
		return r.Component
	}
	return r.Component + "." + r.Port
}

// Named is a name or a text of the file and its place.
type Named struct {
	Name  string
	Text  string
	Value *Value
}

// Problem makes a problem at a place of the file, with the line it stands in.
func (c *Config) Problem(code string, at problem.Place, hint, format string, args ...any) problem.Problem {
	return c.text.problem(code, at, fmt.Sprintf(format, args...), hint)
}

// Load reads a pipeline's file. Config is nil when nothing sensible could be read; otherwise it holds what was right, with defaults where
// something was wrong, so that later checks can go on and tell their problems too.
func Load(path string) (*Config, problem.List) {
	var l problem.List
	data, ok := readFile(path, &l)
	if !ok {
		return nil, l
	}
	return Parse(path, data, os.LookupEnv)
}

// Parse is Load for a content that was read elsewhere. file is used in messages, and for the pipeline's name.
func Parse(file string, data []byte, env Env) (*Config, problem.List) {
	var l problem.List
	r, ok := open(file, data, env, Keys(), SectionRoot, &l)
	if !ok {
		return nil, l
	}
	c := &Config{File: file, Broken: r.broken, text: r.text}
	c.readPipeline(r)
	c.readComponents(r)
	c.readOperation(r)
	c.Plugins = readPlugins(r)
	r.done()
	c.checkNames(r)
	return c, l
}

func readFile(path string, l *problem.List) ([]byte, bool) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			switch {
			case info.IsDir():
				err = fmt.Errorf("it is a directory")
			case info.Size() > maxFile:
				l.Add(problem.Problem{Code: "TM1009", Place: problem.Place{File: path}, Summary: fmt.Sprintf("the file has %s; more than %s is no configuration", FormatSize(info.Size()), FormatSize(maxFile))})
				return nil, false
			}
		}
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		why := err.Error()
		if pe, ok := err.(*os.PathError); ok {
			why = pe.Err.Error()
		}
		hint := ""
		if os.IsNotExist(err) {
			hint = nearFile(path)
		}
		l.Add(problem.Problem{Code: "TM1008", Place: problem.Place{File: path}, Summary: "the file cannot be read: " + why, Hint: hint})
		return nil, false
	}
	return data, true
}

// nearFile finds the file that was probably meant.
func nearFile(path string) string {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Sprintf("the directory %s is not there either", dir)
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".toml" {
			names = append(names, e.Name())
		}
	}
	if s := Suggest(filepath.Base(path), names); s != "" {
		return "did you mean " + quote(filepath.Join(dir, s)) + "?"
	}
	return ""
}

// open takes a text apart up to the top reader.
func open(file string, data []byte, env Env, keys []Key, section Section, l *problem.List) (*reader, bool) {
	if len(data) > maxFile {
		l.Add(problem.Problem{Code: "TM1009", Place: problem.Place{File: file}, Summary: fmt.Sprintf("the file has %s; more than %s is no configuration", FormatSize(int64(len(data))), FormatSize(maxFile))})
		return nil, false
	}
	t := newText(file, string(data))
	root, broken := parseText(t, l)
	if root == nil {
		return nil, false
	}
	if env != nil {
		substitute(t, root, env, l)
	}
	base := &reader{text: t, list: l, all: keys, broken: broken}
	return base.of(root, section), true
}

func (c *Config) readPipeline(root *reader) {
	r := root.sub("pipeline", SectionPipeline)
	if r == nil {
		r = root.of(nil, SectionPipeline)
	}
	c.Name = r.str("name")
	if c.Name != "" {
		r.checkName("pipeline", c.Name, r.table.Get("name").At)
	} else {
		c.Name = nameOf(c.File)
	}
	c.Description = r.str("description")
	c.Shards = clampInt(r.integer("shards"))
	c.DecodeWorkers = clampInt(r.integer("decode_workers"))
	c.BatchRows = clampInt(r.integer("batch_rows"))
	c.BatchBytes = r.size("batch_bytes")
	c.Linger = r.duration("linger")
	r.done()
}

// nameOf makes a pipeline's name of its file's: what cannot stand in a name becomes _.
func nameOf(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), ".toml")
	if base == "pipeline" {
		// examples/clicks/pipeline.toml is about clicks.
		if dir := filepath.Base(filepath.Dir(file)); dir != "." && dir != string(filepath.Separator) && dir != ".." {
			base = dir
		}
	}
	out := []byte(base)
	for i, b := range out {
		if !(b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_' || i > 0 && (b >= '0' && b <= '9' || b == '-')) {
			out[i] = '_'
		}
	}
	if len(out) == 0 {
		return "pipeline"
	}
	return string(out[:min(len(out), 63)])
}

// readComponents reads [sources], [transforms] and [sinks].
func (c *Config) readComponents(root *reader) {
	root.each("sources", func(name string, v *Value, r *reader) {
		c.Sources = append(c.Sources, readSource(Component{Name: name, At: v.KeyAt, table: v.Table}, r))
	})
	root.each("transforms", func(name string, v *Value, r *reader) {
		c.Transforms = append(c.Transforms, readTransform(Component{Name: name, At: v.KeyAt, table: v.Table}, r))
	})
	root.each("sinks", func(name string, v *Value, r *reader) {
		c.Sinks = append(c.Sinks, readSink(Component{Name: name, At: v.KeyAt, table: v.Table}, r))
	})
}

// each calls f for every table inside the table of that name.
func (r *reader) each(name string, f func(name string, v *Value, r *reader)) {
	v, k := r.get(name)
	if v == nil {
		return
	}
	if v.Kind != KindTable {
		hint := "it takes tables: [" + name + ".NAME]"
		if v.Kind == KindList {
			hint = fmt.Sprintf("write [%s.NAME] with single brackets and a name", name)
		}
		r.report("TM1005", v.KeyAt, hint, "%s is %s, which it cannot be", k.Name, v.Kind)
		return
	}
	for _, key := range v.Table.Keys {
		e := v.Table.Get(key)
		if e.Kind != KindTable {
			hint := fmt.Sprintf("each of the %s is a table of its own: [%s.NAME]", name, name)
			if e.Kind == KindList && len(e.List) > 0 && e.List[0].Kind == KindTable {
				hint = fmt.Sprintf("write [%s.%s] with single brackets", name, key)
			}
			r.report("TM1005", e.KeyAt, hint, "%s in [%s] is %s instead of a table", quote(key), name, e.Kind)
			continue
		}
		inner := r.of(e.Table, SectionRoot)
		inner.owner = key
		f(key, e, inner)
	}
}

// checkNames checks that components can be told apart.
func (c *Config) checkNames(r *reader) {
	first := map[string]problem.Place{}
	check := func(what string, comp Component) {
		r.checkName(what, comp.Name, comp.At)
		if at, twice := first[comp.Name]; twice {
			r.report("TM1011", comp.At, fmt.Sprintf("%s names another component at line %d; inputs could mean either", quote(comp.Name), at.Line), "the name %s is taken", quote(comp.Name))
			return
		}
		first[comp.Name] = comp.At
	}
	for _, s := range c.Sources {
		check("source", s.Component)
	}
	for _, t := range c.Transforms {
		check("transform", t.Component)
	}
	for _, s := range c.Sinks {
		check("sink", s.Component)
	}
	if len(c.Sources)+len(c.Transforms)+len(c.Sinks) == 0 && !c.Broken && r.list.Len() == 0 {
		what := "no component is defined"
		if r.table.Len() == 0 {
			what = "the file is empty"
		}
		r.list.Add(problem.Problem{Code: "TM1007", Place: problem.Place{File: c.File}, Summary: what,
			Hint: "a pipeline needs at least [sources.NAME] and [sinks.NAME]; `tidemark plugins ls` lists what there is"})
	}
}
