package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnswersOverHTTP sends records that are wrong in every way that a source finds out: the answer names each with its place and reason,
// the same reasons are in the dead letters, and the counts close.
func TestAnswersOverHTTP(t *testing.T) {
	for _, isolation := range []string{"process", "none"} {
		t.Run(isolation, func(t *testing.T) {
			x := &trial{t, t.TempDir()}
			address := "127.0.0.1:" + x.freePorts(1)[0]
			x.write("pipeline.toml", `
[sources.in]
plugin = "http"
isolation = "`+isolation+`"
listen = "`+address+`"
decode = { format = "json", fields = ["k:string", "n:int", "ts:int"], max_record = "100B" }
[sources.in.time]
timestamp = "ts"
unit = "ms"
max_ahead = "24h"
[sinks.out]
plugin = "file"
path = "out.jsonl"
inputs = ["in"]
[checkpoint]
interval = "100ms"
`)
			p := x.start("pipeline.toml")
			post := func(kind, body string) (status int, got httpAnswer) {
				t.Helper()
				var text []byte
				x.until("an answer", func() bool {
					res, err := http.Post("http://"+address+"/", kind, bytes.NewReader([]byte(body)))
					if err != nil {
						return false // it does not listen yet
					}
					defer res.Body.Close()
					status = res.StatusCode
					text, err = io.ReadAll(res.Body)
					return err == nil
				})
				require.NoError(t, json.Unmarshal(text, &got), "%s", text)
				return status, got
			}
			long := `{"k":"` + string(bytes.Repeat([]byte("x"), 100)) + `"}`

			status, got := post("application/x-ndjson", `{"k":"a","n":1,"ts":1700000000000}
{"k":"b","n":"one","ts":1700000000001}
`+long+`
{"k":"c","n":3}
{"k":"d","n":4,
{"k":"e","n":5,"ts":9000000000000}

{"k":"f","n":6,"ts":1700000000006}
`)
			require.Equal(t, 200, status)
			require.Equal(t, 2, got.Accepted)
			require.Equal(t, []string{"1 type", "2 too_long", "3 no_timestamp", "4 malformed", "5 too_far_ahead", "6 empty"}, got.reasons())
			require.Contains(t, got.Rejected[0].Message, `field "n"`)

			status, got = post("application/json", `[{"k":"g","n":7,"ts":1700000000007},{"k":"h","n":8,"ts":"soon"}]`)
			require.Equal(t, 200, status)
			require.Equal(t, 1, got.Accepted)
			require.Equal(t, []string{"1 type"}, got.reasons())

			status, got = post("application/json", `[{"k":"i","n":9},{"k":"j","n":null,"ts":null}]`)
			require.Equal(t, 400, status)
			require.Zero(t, got.Accepted)
			require.Equal(t, []string{"0 no_timestamp", "1 no_timestamp"}, got.reasons())

			p.stop()
			require.Equal(t, 3, x.linesIn("out.jsonl"))
			p.counted(0, 9)
			letters := x.tidemark([]string{"deadletters", "ls", "--state", "state"})
			require.Equal(t, exitOK, letters.wait())
			require.Len(t, letters.out.lines(), 9)
		})
	}
}

type httpAnswer struct {
	Accepted int `json:"accepted"`
	Rejected []struct {
		Index   int    `json:"index"`
		Reason  string `json:"reason"`
		Message string `json:"message"`
	} `json:"rejected"`
}

func (a httpAnswer) reasons() (out []string) {
	for _, r := range a.Rejected {
		text, _ := json.Marshal(r.Index)
		out = append(out, string(text)+" "+r.Reason)
	}
	return out
}
