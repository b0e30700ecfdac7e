package file

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/tidemark-stream/tidemark/sdk"
)

// Config is what stands in the component's table.
type Config struct {
	sdk.Env
	Path        []string      `name:"path" required:"true" help:"files to read: a path, a pattern such as \"logs/**/*.json\" or a list of them"`
	Exclude     []string      `name:"exclude" help:"patterns of paths to leave out"`
	Follow      bool          `name:"follow" default:"false" help:"true = go on for ever: read what is appended, new files and rotated ones; false = read once and end"`
	From        string        `name:"from" default:"beginning" enum:"beginning,end" help:"with follow: where to begin with files that are there at the first start"`
	Read        string        `name:"read" default:"together" enum:"together,in_order" help:"without follow: all files side by side, or one after the other"`
	Order       string        `name:"order" default:"name" enum:"name,modified" help:"the order of the files: by name with numbers by value, or by time of the last change"`
	Compression string        `name:"compression" default:"auto" enum:"auto,none,gzip,zstd" help:"auto looks at each file's first bytes"`
	Poll        time.Duration `name:"poll" default:"1s" help:"with follow: how often to look for changes that the system does not tell of"`
	RotateWait  time.Duration `name:"rotate_wait" default:"5s" help:"with follow: how long a file that was renamed or deleted may be silent before it counts as finished"`
}

// Validate is called when the pipeline file is read.
func (c *Config) Validate() error {
	if len(c.Path) == 0 {
		return sdk.BadOption("no file is named", "path")
	}
	seen := map[string]bool{}
	for _, p := range c.Path {
		if name := filepath.Clean(p); seen[name] {
			return sdk.BadOption(fmt.Sprintf("%q is named twice; a file is read once, whatever names it", p), "path")
		} else {
			seen[name] = true
		}
		if p == "" || !doublestar.ValidatePathPattern(p) {
			return sdk.BadOption(fmt.Sprintf("%q is not a pattern", p), "path")
		}
	}
	for _, p := range c.Exclude {
		if !doublestar.ValidatePathPattern(p) {
			return sdk.BadOption(fmt.Sprintf("%q is not a pattern", p), "exclude")
		}
	}
	if c.Poll <= 0 {
		return sdk.BadOption("must be above 0", "poll")
	}
	if c.RotateWait < 0 {
		return sdk.BadOption("negative", "rotate_wait")
	}
	return nil
}

// Plugin is the source.
func Plugin() sdk.Plugin {
	return sdk.NewSource("file", "reads files, once or for ever", func(c Config) (sdk.Source[[]byte], error) { return &source{Config: c}, nil },
		sdk.HoldsPartitions())
}

type source struct {
	Config
	framing sdk.Framing
}

// Run reads the files.
func (s *source) Run(ctx context.Context, out *sdk.SourceContext[[]byte]) error {
	s.framing = out.Framing()
	cat := newCatalog(out.Restored())
	if s.Follow {
		return s.follow(ctx, out, cat)
	}
	return s.once(ctx, out, cat)
}
