package daemon_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPagesNameWhatIsThere resolves the links of the pages that packages open with. Links into other packages are left to the reader.
func TestPagesNameWhatIsThere(t *testing.T) {
	link := regexp.MustCompile(`\[\*?([A-Z]\w*(?:\.[A-Z]\w*)?)\]`)
	code := regexp.MustCompile(`(?m)^\t.*$`)
	pages := 0
	require.NoError(t, filepath.WalkDir("..", func(dir string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil || !d.IsDir():
			return err
		case name == "testdata" || name == "templates" || strings.HasPrefix(name, ".") && name != "..":
			return fs.SkipDir
		}
		var files []*ast.File
		set := token.NewFileSet()
		sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return err
		}
		for _, path := range sources {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
		if len(files) == 0 {
			return nil
		}
		pkg, err := doc.NewFromFiles(set, files, dir, doc.AllDecls)
		if err != nil {
			return err
		}
		there := symbols(pkg)
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(pkg.Doc, ""), -1) {
			pages++
			require.True(t, there[m[1]], "the page of %s names %s", dir, m[1])
		}
		return nil
	}))
	require.Greater(t, pages, 30)
}

// symbols are the names of a package, methods and fields as Type.Name.
func symbols(pkg *doc.Package) map[string]bool {
	there := map[string]bool{}
	funcs := func(list []*doc.Func, of string) {
		for _, f := range list {
			there[of+f.Name] = true
		}
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, n := range v.Names {
				there[n] = true
			}
		}
	}
	funcs(pkg.Funcs, "")
	values(pkg.Consts)
	values(pkg.Vars)
	for _, typ := range pkg.Types {
		there[typ.Name] = true
		funcs(typ.Funcs, "")
		funcs(typ.Methods, typ.Name+".")
		values(typ.Consts)
		values(typ.Vars)
		ast.Inspect(typ.Decl, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				for _, name := range f.Names {
					there[typ.Name+"."+name.Name] = true
				}
			}
			return true
		})
	}
	return there
}
