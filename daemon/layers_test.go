package daemon_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/tidemark-stream/tidemark/"

// layer gives each folder its place; imports of ours go downwards only (daemon/doc.go draws the picture). A new folder gets its
// line here and there. Two packages of one layer may import each other only where allowed says so.
var layer = map[string]int{
	"daemon/problem": 0, "daemon/clock": 0, "daemon/failpoint": 0, "daemon/jsontext": 0, "daemon/notify": 1, "state/keys": 0, "sdk/batch": 0, "sdk/proto": 0,
	"state": 1, "state/journal": 1, "state/deadletter": 1, "sdk/wire": 1, "daemon/rowkey": 1,
	"daemon/decode": 2, "daemon/transform": 2, "daemon/watermark": 2, "daemon/aggregate": 2, "daemon/window": 2, "daemon/format": 2, "sdk": 2,
	"daemon/config": 3, "daemon/plan": 3, "sdk/sdktest": 3,
	"daemon/host": 4, "daemon/shard": 4, "daemon/checkpoint": 4, "daemon/deliver": 4,
	"daemon/pipeline": 5,
	"daemon/scenario": 6, "daemon/admin": 6, "daemon/admin/api": 6,
	"daemon":       7,
	"plugins":      8,
	"cmd/tidemark": 9,
}

var sameLayer = map[string]bool{
	"daemon/window -> daemon/aggregate": true, // windows hold accumulators
	"daemon/plan -> daemon/config":      true, // a plan is made from a config
	"daemon/admin -> daemon/admin/api":  true, // what is said to clients, in one place
	"state/journal -> state":            true, // one kind of errors for everything on disk
	"state/deadletter -> state":         true,
	"state/deadletter -> state/journal": true, // letters lie in segments of a journal
}

// pure packages take rows, ticks and watermarks and return effects; they know no goroutine, file, socket, lock or clock.
var pure = []string{"daemon/jsontext", "daemon/decode", "daemon/transform", "daemon/watermark", "daemon/aggregate", "daemon/window", "daemon/format", "daemon/rowkey"}

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else {
			require.NoError(t, err)
		}
		all = append(all, p)
	}
}

// place finds the layer of a package: its own line, or that of the nearest folder above it.
func place(path string) (string, int, bool) {
	for name := strings.TrimPrefix(path, module); ; {
		if l, ok := layer[name]; ok {
			return name, l, true
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return name, 0, false
		}
		name = name[:i]
	}
}

func TestImportsGoDownwards(t *testing.T) {
	for _, p := range packages(t) {
		if strings.HasPrefix(p.ImportPath, module+"examples") {
			for _, imp := range p.Imports {
				if strings.HasPrefix(imp, module) && !strings.HasPrefix(imp, module+"sdk") {
					t.Errorf("%s imports %s: examples show what a plugin author can do, with sdk alone", p.ImportPath, imp)
				}
			}
			continue
		}
		from, l, ok := place(p.ImportPath)
		if !ok {
			t.Errorf("%s has no layer: give it a line in this test and in daemon/doc.go", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) {
				continue
			}
			to, m, ok := place(imp)
			if !ok || to == from {
				continue
			}
			if m > l || m == l && !sameLayer[from+" -> "+to] {
				t.Errorf("%s (layer %d) imports %s (layer %d)", p.ImportPath, l, imp, m)
			}
			if strings.HasPrefix(from, "sdk") && !strings.HasPrefix(to, "sdk") {
				t.Errorf("%s imports %s: the sdk imports nothing else of ours", p.ImportPath, imp)
			}
			if strings.HasPrefix(from, "plugins") && !strings.HasPrefix(to, "sdk") {
				t.Errorf("%s imports %s: plugins import the sdk only", p.ImportPath, imp)
			}
		}
	}
}

func TestPurePackagesTouchNothingOutside(t *testing.T) {
	forbidden := map[string]bool{"os": true, "net": true, "sync": true, "os/exec": true, "net/http": true, "io/ioutil": true, module + "daemon/clock": true}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, dir := range pure {
			if name != dir {
				continue
			}
			for _, imp := range p.Imports {
				if forbidden[imp] {
					t.Errorf("%s is pure and imports %s", p.ImportPath, imp)
				}
			}
		}
	}
}
