package pipeline_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/sdk"
)

// Whoever reads a port gets the record's own bytes, also where they are no text, and why it is there.
func TestRefusedRecordsKeepTheirBytesAndLateOnesTheirReason(t *testing.T) {
	r := newRig(t)
	bad := "caf\xe9 1"
	text := strings.Replace(fmt.Sprintf(clicks, r.file("in", "a 1", bad, "no-time", "a 20", "a 2"), "5s"), `delimiter = " ",`, `delimiter = " ", invalid_utf8 = "reject",`, 1)
	r.run(text + `
[sinks.errors]
plugin = "capture"
as = "errors"
inputs = ["clicks.errors"]
[sinks.late]
plugin = "capture"
as = "late"
inputs = ["per_user.late"]
`)
	rows := r.got("errors")
	require.Len(t, rows, 2)
	var first struct {
		Reason string `json:"reason"`
		Raw    string `json:"raw"`
		Base64 string `json:"raw_base64"`
	}
	require.NoError(t, json.Unmarshal([]byte(rows[0]), &first))
	require.Equal(t, "invalid_utf8", first.Reason)
	require.Equal(t, "caf\ufffd 1", first.Raw)
	raw, err := base64.StdEncoding.DecodeString(first.Base64)
	require.NoError(t, err)
	require.Equal(t, bad, string(raw))
	require.Contains(t, string(rows[0]), `"event_time":null`, "nothing was taken from it, though its neighbours have a time")
	require.Contains(t, rows[1], `"raw":"no-time"`)
	require.NotContains(t, rows[1], "raw_base64", "text needs none")

	late := r.got("late")
	require.Len(t, late, 1)
	require.Contains(t, late[0], `"user":"a","ts":2`)
	require.Contains(t, late[0], `"_reason":"late"`)
}

// Rows that unnest makes are known by the place of their record in the file, wherever they end: as late rows, and as refused ones.
func TestRowsBehindUnnestNameTheirRecord(t *testing.T) {
	r := newRig(t)
	rows := []string{`{"k":"a","ts":1,"items":[1,2,3]}`, `{"k":"a","ts":60,"items":[1,"x"]}`, `{"k":"a","ts":2,"items":[7,8]}`, `{"k":"a","ts":61,"items":["y"]}`}
	at := func(n int) string { return fmt.Sprint(len(strings.Join(rows[:n], "\n")) + min(n, 1)) }
	r.run(fmt.Sprintf(`
[sources.in]
plugin = "file"
path = %q
[sources.in.time]
timestamp = "ts"
unit = "s"
[transforms.u]
type = "unnest"
inputs = ["in"]
field = "items"
as = "it"
[transforms.m]
type = "map"
inputs = ["u"]
set = { x = "it * 2" }
[transforms.w]
type = "window"
inputs = ["m"]
window = { type = "tumbling", size = "10s" }
aggregate = { n = "count()" }
[sinks.out]
plugin = "capture"
as = "out"
inputs = ["w"]
[sinks.errors]
plugin = "capture"
as = "errors"
inputs = ["m.errors"]
[sinks.late]
plugin = "capture"
as = "late"
inputs = ["w.late"]
`, r.file("in", rows...)))
	late, errors := r.got("late"), r.got("errors")
	require.Len(t, late, 2)
	require.Contains(t, late[0], `"_position":`+at(2)+`,`)
	require.Contains(t, late[1], `"_position":`+at(2)+`,`)
	require.Len(t, errors, 2)
	require.Contains(t, errors[0], `"position":`+at(1)+`,`)
	require.Contains(t, errors[1], `"position":`+at(3)+`,`)
}

// lineSource says lines.
type lineSource []string

func (s lineSource) Run(_ context.Context, out *sdk.SourceContext[string]) error {
	for _, line := range s {
		if err := out.Collect(line); err != nil {
			return err
		}
	}
	return nil
}

// Records that are refused for different reasons, found one after the other for a whole batch, come in the order in which they came in, however
// batches are cut (I2).
func TestRefusedRecordsComeInTheirOrderWhateverTheBatches(t *testing.T) {
	lines := lineSource{"a x", "b 1", "c 9999999999999", "d", "e 2", "f 9999999999999", "g y", "h 3 4", "i z"}
	var want []string
	for _, rows := range []int{1, 2, 3, 100} {
		r := newRig(t, sdk.NewSource("said", "says lines", func(struct{}) (sdk.Source[string], error) { return lines, nil }))
		r.run(fmt.Sprintf(`
[pipeline]
batch_rows = %d
[sources.s]
plugin = "said"
decode = { format = "delimited", delimiter = " ", fields = ["k", "ts:string"], extra = "reject" }
time = { timestamp = "ts", unit = "s", max_ahead = "1h" }
[transforms.w]
type = "window"
inputs = ["s"]
window = { type = "tumbling", size = "10s" }
aggregate = { n = "count()" }
[sinks.out]
plugin = "capture"
inputs = ["w"]
[sinks.errors]
plugin = "capture"
as = "errors"
inputs = ["s.errors"]
columns = ["reason", "position", "raw"]
`, rows))
		got := r.got("errors")
		require.Len(t, got, 7)
		if want == nil {
			want = got
			require.Contains(t, got[0], `"raw":"a x"`)
			require.Contains(t, got[1], `"reason":"too_far_ahead"`)
		}
		require.Equal(t, want, got, "batches of %d", rows)
	}
}
