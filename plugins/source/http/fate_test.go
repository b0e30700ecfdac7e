package http

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/source/sourcetest"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// What the pipeline refuses is in the answer beside what the source has refused, each record under its place in the request.
func TestWhatThePipelineRefusesIsInTheAnswer(t *testing.T) {
	r, url := serving(t, nil)
	long := strings.Repeat("x", 101)
	first := post(t, url, "a0\n"+long+"\na2\na3\n"+long+"\na5\n")
	r.UntilRows(4)
	second := post(t, url, "b0\nb1\n")
	r.UntilRows(6)
	at := r.Of(partitionName).At
	r.Refuse(partitionName, sdk.Refusal{Record: at[1], Code: "type", Message: "a2 is none"}, sdk.Refusal{Record: at[3], Code: "no_timestamp", Message: "a5 has none"})
	r.Refuse(partitionName, sdk.Refusal{Record: at[4], Code: "type", Message: "b0"}, sdk.Refusal{Record: at[5], Code: "type", Message: "b1"})
	r.Ack()
	p := <-first
	tooLong := "the record has 101 bytes, max_record allows 100"
	require.Equal(t, 200, p.status)
	require.Equal(t, answer{Accepted: 2, Rejected: []refusal{{1, "too_long", tooLong}, {2, "type", "a2 is none"}, {4, "too_long", tooLong}, {5, "no_timestamp", "a5 has none"}}}, p.answer)
	p = <-second
	require.Equal(t, 400, p.status, "nothing of it was taken")
	require.Equal(t, answer{Rejected: []refusal{{0, "type", "b0"}, {1, "type", "b1"}}}, p.answer)
}

// Who does not wait for the commit is not told what is found out later.
func TestAnAnswerAtOnceKnowsNothingOfThePipeline(t *testing.T) {
	r, url := serving(t, sourcetest.Options{"answer": "received"})
	require.Equal(t, answer{Accepted: 1, Rejected: []refusal{}}, (<-post(t, url, "a\n")).answer)
	r.UntilRows(1)
	r.Refuse(partitionName, sdk.Refusal{Record: 0, Code: "type"})
	r.Ack()
	require.Equal(t, answer{Accepted: 1, Rejected: []refusal{}}, (<-post(t, url, "b\n")).answer)
}

// For any batches of a request the index of each row is what counting the records in order gives.
func TestTheIndexOfARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number, index := rapid.Int64Range(0, 1000).Draw(t, "number"), 0
		var spans []span
		want := map[int64]int{}
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			records := rapid.SliceOfN(rapid.Bool(), 0, 8).Draw(t, "is a row")
			b := &batch.Batch{}
			for k, row := range records {
				if row {
					want[number+int64(b.N)] = index + k
					b.N++
				} else {
					b.Rejects = append(b.Rejects, batch.Reject{After: uint32(b.N)})
				}
			}
			spans = append(spans, spanOf(b, number, index))
			number += int64(len(records))
			index += len(records)
		}
		got := map[int64]int{}
		for n := range number + 3 {
			for _, s := range spans {
				if i, ok := s.indexOf(n); ok {
					got[n] = i
				}
			}
		}
		require.Equal(t, want, got, fmt.Sprint(spans))
	})
}
