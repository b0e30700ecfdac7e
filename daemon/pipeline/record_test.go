package pipeline_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/pipeline"
	"github.com/tidemark-stream/tidemark/sdk"
)

// anyTime takes the time from a field that the configuration of the pipeline does not name.
type anyTime struct{ high int64 }

func (a *anyTime) ExtractTimestamp(r sdk.Record, _ int64) int64 {
	ts, ok := r.Int("meta.at")
	if !ok {
		return sdk.NoTimestamp
	}
	a.high = max(a.high, ts)
	return ts
}

func (a *anyTime) CurrentWatermark() sdk.Watermark { return sdk.Watermark(a.high - 1) }

// tell says what a transform sees of a record.
type tell struct{}

type heard struct {
	What string `tidemark:"what"`
}

func (tell) Process(r sdk.Record, emit func(heard)) error {
	emit(heard{fmt.Sprint(r.Names(), " kind ", r.Value("kind"), ", secret ", r.Value("secret"), ", double ", r.Value("double"))})
	return nil
}

// Plugins that ask for no field by name see all of them, whether anybody else reads them or not.
func TestPluginsOfRecordsSeeAllFields(t *testing.T) {
	assigner := sdk.NewPeriodicAssigner("any_time", "", func(struct{}) (sdk.PeriodicAssigner[sdk.Record], error) { return &anyTime{}, nil })
	transform := sdk.NewTransform("tell", "", func(struct{}) (sdk.Transform[sdk.Record, heard], error) { return tell{}, nil })
	for _, c := range []struct{ name, decode, row, refused, names, left string }{
		{"JSON", `{ format = "json" }`, `{"n":1,"kind":"a","secret":"s","meta":{"at":1000}}`, `{"kind":"no time"}`, "[n kind secret meta]", "[n kind meta double]"},
		{"JSON with types", `{ format = "json", fields = ["n:int", "kind:string"] }`, `{"n":"1","kind":"a","secret":"s","meta":{"at":1000}}`, `{"kind":"no time"}`,
			"[n kind secret meta]", "[n kind meta double]"},
		{"logfmt", `{ format = "logfmt", infer = true }`, `n=1 kind=a secret=s meta.at=1000`, `kind="no time"`, "[n kind secret meta.at]", "[n kind meta.at double]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, assigner, transform)
			p := r.pipeline(fmt.Sprintf(`
[sources.s]
plugin = "file"
path = %q
decode = %s
time = { assigner = "any_time", isolation = "none" }
[transforms.whole]
type = "plugin"
plugin = "tell"
isolation = "none"
inputs = ["s"]
[transforms.map]
type = "map"
inputs = ["s"]
drop = ["secret"]
set = { double = "n * 2" }
[transforms.left]
type = "plugin"
plugin = "tell"
isolation = "none"
inputs = ["map"]
[sinks.of_whole]
plugin = "capture"
as = "of_whole"
inputs = ["whole"]
[sinks.of_left]
plugin = "capture"
as = "of_left"
inputs = ["left"]
[sinks.records]
plugin = "capture"
as = "records"
inputs = ["map"]
[sinks.refused]
plugin = "capture"
as = "refused"
inputs = ["s.errors"]
columns = ["reason", "raw"]
`, r.file("in", c.row, c.refused), c.decode))
			require.NoError(t, p.Run(context.Background()))
			require.Equal(t, pipeline.Finished, p.State())
			require.Equal(t, []string{fmt.Sprintf(`{"what":"%s kind a, secret s, double <nil>"}`, c.names)}, r.got("of_whole"))
			require.Equal(t, []string{fmt.Sprintf(`{"what":"%s kind a, secret <nil>, double 2"}`, c.left)}, r.got("of_left"), "what was dropped is gone")
			require.Len(t, r.got("refused"), 1)
		})
	}
}
