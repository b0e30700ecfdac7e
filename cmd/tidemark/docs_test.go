package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/host"
	"github.com/tidemark-stream/tidemark/plugins"
)

const top = "../.."

// pages are the project's Markdown files, by path from the top.
func pages(t *testing.T) map[string]string {
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != top:
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(top, path)
		out[name] = string(text)
		return err
	}))
	require.Contains(t, out, "README.md")
	return out
}

var (
	fence = regexp.MustCompile("(?ms)^ *```(\\w*)[^\n]*\n(.*?)^ *```")
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// TestLinksInDocsResolve follows every link that does not leave the project, to the heading where it names one.
func TestLinksInDocsResolve(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		prose := fence.ReplaceAllString(text, "")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			page := name
			if target != "" {
				page = filepath.Join(filepath.Dir(name), target)
				_, err := os.Stat(filepath.Join(top, page))
				require.NoError(t, err, "%s links to %s", name, m[1])
			}
			if anchor != "" {
				require.Contains(t, anchors(all[page]), anchor, "%s links to %s", name, m[1])
			}
		}
	}
}

// anchors are the names that headings get on GitHub.
func anchors(page string) (out []string) {
	for _, line := range strings.Split(fence.ReplaceAllString(page, ""), "\n") {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			title = strings.ToLower(strings.TrimSpace(title))
			title = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(title, "")
			out = append(out, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return out
}

// TestPipelinesInDocsAreFine checks every block of TOML that is a whole pipeline, as `tidemark check` does.
func TestPipelinesInDocsAreFine(t *testing.T) {
	h, err := host.New(host.Settings{Shipped: plugins.All(), Log: hclog.NewNullLogger()})
	require.NoError(t, err)
	defer h.Close()
	found := 0
	for name, text := range pages(t) {
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			if m[1] != "toml" || !strings.Contains(m[2], "[sources.") || !strings.Contains(m[2], "[sinks.") {
				continue
			}
			found++
			file := filepath.Join(t.TempDir(), "pipeline.toml")
			require.NoError(t, os.WriteFile(file, []byte(m[2]), 0o600))
			_, _, warnings, err := loadPlan(h, file)
			require.NoError(t, err, "%s", name)
			require.Empty(t, warnings, "%s", name)
		}
	}
	require.Positive(t, found, "the README shows a pipeline")
}

// TestRuleBookNamesWhatIsThere looks up the files, tests, stories, vectors and trials that docs/semantics.md names, and the rules that code
// and tests name.
func TestRuleBookNamesWhatIsThere(t *testing.T) {
	text := pages(t)["docs/semantics.md"]
	tests, cited := map[string]bool{}, map[string]string{}
	testName := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	rule := regexp.MustCompile(`\((?:semantics |Flink; semantics )?(\d{1,2}\.\d{1,2})((?:, | to | and )\d{1,2}\.\d{1,2})*[;)]`)
	for _, dir := range []string{"daemon", "plugins", "sdk"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(top, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			code, err := os.ReadFile(path)
			for _, m := range testName.FindAllSubmatch(code, -1) {
				tests[string(m[1])] = true
			}
			if strings.Contains(path, "/window/") || strings.Contains(path, "/watermark/") {
				for _, line := range strings.Split(string(code), "\n") {
					if _, comment, ok := strings.Cut(line, "//"); ok {
						for _, m := range rule.FindAllStringSubmatch(comment, -1) {
							cited[m[1]] = path
						}
					}
				}
			}
			return err
		}))
	}
	require.NotEmpty(t, cited)
	for number, path := range cited {
		require.Contains(t, text, "**"+number+"**", "%s cites it", path)
	}
	exists := func(pattern string) {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, "docs/semantics.md names %s", pattern)
	}
	for _, m := range regexp.MustCompile("`([a-z]+/[a-z_/]+(?:\\.go)?)`").FindAllStringSubmatch(text, -1) {
		switch dir, _, _ := strings.Cut(m[1], "/"); dir {
		case "window", "watermark", "shard", "pipeline", "plan":
			exists("daemon/" + m[1])
		default:
			exists(m[1])
		}
	}
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(text, -1) {
		require.True(t, tests[m[1]], "docs/semantics.md names %s", m[1])
	}
	for what, pattern := range map[string]string{"stor(?:y|ies)": "daemon/*/testdata/stories/%s*", "vectors": "daemon/*/testdata/vectors/%s.json", "trials?": "cmd/tidemark/testdata/trials/%s-*"} {
		for _, m := range regexp.MustCompile(`\b`+what+`((?:,?\s(?:`+"`[a-z_]+`"+`|\d{3}))+)`).FindAllStringSubmatch(text[strings.Index(text, "## 1."):], -1) {
			for _, name := range regexp.MustCompile("`([a-z_]+)`|\\b(\\d{3})\\b").FindAllStringSubmatch(m[1], -1) {
				exists(fmt.Sprintf(pattern, name[1]+name[2]))
			}
		}
	}
}
