package transform

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

func TestUnnestNamesWhatIsNoList(t *testing.T) {
	b := records(t, `{"items": {"x": [1]}}`, `{"items": 5}`, `{"items": "[1]"}`)
	_, c := NewUnnest(compiled(t, "items"), "item", "").Apply(b, func(*batch.Batch, int) {})
	require.Equal(t, Counts{In: 3, Rejected: 3}, c)
	require.Equal(t, `items is the object {"x": [1]}, not a list`, b.Bad[0].Message)
	require.Equal(t, `items is 5, not a list`, b.Bad[1].Message)
	require.Equal(t, `items is the string "[1]", not a list`, b.Bad[2].Message)
}
