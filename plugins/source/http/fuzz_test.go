package http

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk"
)

// Whatever a client sends, each record of it is either taken or told of, and what is taken stands in the body.
func FuzzBody(f *testing.F) {
	for _, body := range []string{`[{"a":1},2]`, "{}\n{", `[[1],`, "a\n\nb", `{"a":[1}`, "\xef\xbb\xbf1", `1 2 [3`} {
		f.Add(body, true, "none")
		f.Add(body, false, "json")
	}
	f.Fuzz(func(t *testing.T, body string, asJSON bool, check string) {
		r, err := http.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		require.NoError(t, err)
		if asJSON {
			r.Header.Set("Content-Type", "application/json")
		}
		c := Config{MaxBody: 1 << 20, Check: check}
		read, err := c.readBody(r)
		require.NoError(t, err)
		batches, accepted, refused, err := c.cutBody(r, read, sdk.Framing{Format: "lines", MaxRecord: 20})
		require.NoError(t, err)
		rows, rejects := 0, 0
		for _, b := range batches {
			for i := range b.N {
				require.Contains(t, body, string(b.Row(i)))
			}
			rows += b.N
			rejects += len(b.Rejects)
		}
		require.Equal(t, accepted, rows)
		require.Len(t, refused, rejects)
		last := -1
		for _, x := range refused {
			require.Greater(t, x.Index, last)
			require.Less(t, x.Index, rows+rejects)
			last = x.Index
		}
		release(batches)
	})
}
