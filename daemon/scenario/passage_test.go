package scenario_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/scenario"
)

// What is answered about a record is what the steps have made of it: one that a filter left out was not "not late", and does not make a session
// longer. Rows behind unnest are still known as the record they come from.
func TestAnswersFollowRecordsThroughTheSteps(t *testing.T) {
	r, list, err := scenario.NewReplay("testdata/replay/steps.toml", settings(t))
	require.NoError(t, list.Err())
	require.NoError(t, err)
	defer r.Close()
	var questions []*scenario.WindowQuestion
	for _, text := range []string{"x@0", "x@5000", "x@21000", "x@3500"} {
		q, err := scenario.ParseWindow(text)
		require.NoError(t, err)
		require.NoError(t, r.Watch(q))
		questions = append(questions, q)
	}
	require.NoError(t, r.Feed(context.Background(), scenario.Input{Source: "a", Path: "testdata/replay/steps.jsonl"}))
	var out strings.Builder
	for _, q := range questions {
		a, err := r.Window(q)
		if err != nil {
			out.WriteString(err.Error() + "\n\n")
			continue
		}
		out.WriteString(a.String() + "\n")
	}
	for n := 1; n <= 9; n++ {
		a, err := r.Record("", n)
		require.NoError(t, err)
		out.WriteString(a.String() + "\n")
	}
	for _, a := range append(r.Late(), r.Standing()...) {
		out.WriteString(a.String() + "\n")
	}
	golden(t, "testdata/replay/steps.want", out.String())
}
