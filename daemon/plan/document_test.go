package plan

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const documentPage = "../../docs/reference/explain.md"

// TestReferenceOfTheDocument keeps the page of the keys in step with the types. A key that goes, or gets another name, breaks programs of others:
// whoever changes one says so.
func TestReferenceOfTheDocument(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# The plan as JSON

` + "`tidemark explain FILE --json`" + ` gives an object with ` + "`plan`" + `, what runs; ` + "`text`" + `, the same for people; and ` + "`windows`" + `, when windows give results, for people.
With ` + "`--input`" + ` it gives ` + "`answers`" + `, each with a ` + "`headline`" + ` and sentences in ` + "`because`" + ` (none where ` + "`--late`" + ` found nothing), and ` + "`status`" + `, as ` + "`tidemark status --json`" + ` has it.

These are the keys of ` + "`plan`" + `. They are kept: new ones may come, and none goes or changes its meaning. What is 0, false, empty or nothing is left out.
Durations are text as in a pipeline file; lengths of windows are milliseconds. ` + "`[]`" + ` stands for each element of a list. What has no meaning here is
what the key of that name says in the [pipeline file](pipeline.md). This page is made of the program.

| key | value | meaning |
| --- | --- | --- |
`)
	comments := map[string]map[string]string{}
	listKeys(t, &page, "", reflect.TypeFor[Plan](), comments, map[reflect.Type]string{})
	if *rewrite {
		require.NoError(t, os.WriteFile(documentPage, []byte(page.String()), 0o644))
	}
	want, err := os.ReadFile(documentPage)
	require.NoError(t, err)
	require.Equal(t, string(want), page.String(), "run go test ./daemon/plan -run Document -rewrite")
}

func listKeys(t *testing.T, page *strings.Builder, path string, typ reflect.Type, comments map[string]map[string]string, seen map[reflect.Type]string) {
	if _, again := seen[typ]; !again {
		seen[typ] = strings.TrimSuffix(path, ".")
	}
	for _, f := range reflect.VisibleFields(typ) {
		if len(f.Index) != 1 {
			continue
		}
		if f.Anonymous && f.IsExported() {
			listKeys(t, page, path, inner(f.Type), comments, seen)
			continue
		}
		name := documentName(f)
		if name == "" || f.Type.Kind() == reflect.Func {
			continue
		}
		at, what, elem := path+name, kindOf(f.Type), f.Type
		for elem.Kind() == reflect.Slice && elem != rawType || elem.Kind() == reflect.Pointer && elem != zoneType {
			if elem.Kind() == reflect.Slice {
				at += "[]"
			}
			elem = elem.Elem()
		}
		object := elem.Kind() == reflect.Struct && !elem.Implements(textType) && !elem.Implements(jsonType)
		meaning := commentOf(t, typ, f.Name, comments)
		if first, again := seen[elem]; object && again {
			meaning = strings.TrimPrefix(meaning+"; keys as in `"+first+"`", "; ")
			object = false
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", at, what, meaning)
		if object {
			listKeys(t, page, at+".", elem, comments, seen)
		}
	}
}

func kindOf(t reflect.Type) string {
	switch {
	case t == durations:
		return "duration"
	case t == zoneType, t.Implements(textType), t.Kind() != reflect.Struct && t.Implements(reflect.TypeFor[fmt.Stringer]()):
		return "text"
	case t == rawType:
		return "any"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Slice:
		return "list"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true"
	case reflect.Float64:
		return "number"
	case reflect.Interface:
		return "any"
	}
	return "integer"
}

// commentOf is what the program's text says about a field. What is a key of the pipeline file by the same name is told by its reference.
func commentOf(t *testing.T, typ reflect.Type, field string, comments map[string]map[string]string) string {
	const module = "github.com/tidemark-stream/tidemark/"
	switch strings.TrimPrefix(typ.PkgPath(), module+"daemon/") {
	case "plan", "window", "aggregate":
	default:
		return ""
	}
	key := typ.PkgPath() + "." + typ.Name()
	if comments[key] == nil {
		comments[key] = map[string]string{}
		files, err := filepath.Glob(filepath.Join("../..", strings.TrimPrefix(typ.PkgPath(), module), "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == typ.Name() {
					if fields, ok := spec.Type.(*ast.StructType); ok {
						for _, f := range fields.Fields.List {
							text := f.Doc.Text()
							if text == "" {
								text = f.Comment.Text()
							}
							for _, name := range f.Names {
								comments[key][name.Name] = strings.Join(strings.Fields(text), " ")
							}
						}
					}
				}
				return true
			})
		}
	}
	text := comments[key][field]
	return strings.ReplaceAll(links.ReplaceAllString(text, "$1"), "|", "\\|")
}

var links = regexp.MustCompile(`\[([A-Z][A-Za-z.]*)\]`)

// Keys are in lower case with underscores, all the way down, and options of plugins as the file has them.
func TestTheDocumentHasStableNames(t *testing.T) {
	file, err := os.ReadFile("testdata/assigners.toml")
	require.NoError(t, err)
	p, _ := build(t, "assigners.toml", string(file))
	text, err := json.Marshal(p)
	require.NoError(t, err)
	var m any
	require.NoError(t, json.Unmarshal(text, &m))
	lower := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				require.Regexp(t, lower, k, path)
				walk(path+"."+k, e)
			}
		case []any:
			for _, e := range v {
				walk(path+"[]", e)
			}
		}
	}
	walk("plan", m)
	plan := m.(map[string]any)
	source := plan["sources"].([]any)[1].(map[string]any)
	require.Equal(t, "10m", source["max_drift"])
	require.Equal(t, "all", source["drift_group"])
	require.Equal(t, "punctuated", source["assigner"].(map[string]any)["name"])
	window := plan["steps"].([]any)[0].(map[string]any)["window"].(map[string]any)
	require.Equal(t, map[string]any{"type": "session", "gap": 30000.0}, window["spec"])
	require.NotContains(t, string(text), "IsZero")
}
