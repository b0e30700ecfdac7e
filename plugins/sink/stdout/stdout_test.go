package stdout

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestRowsArePrintedAsTheyAre(t *testing.T) {
	var out bytes.Buffer
	s := &sink{&out}
	b := &batch.Batch{N: 2, Data: []byte("a\nb\n"), Offsets: []uint32{0, 2, 4}, Trailer: 1}
	require.NoError(t, s.Write(context.Background(), sdk.Rows{First: 1, Batch: b}))
	require.NoError(t, s.Write(context.Background(), sdk.Rows{First: 3, Batch: &batch.Batch{}}))
	require.NoError(t, s.Close())
	require.Equal(t, "a\nb\n", out.String())
	s.out = failing{}
	require.ErrorContains(t, s.Write(context.Background(), sdk.Rows{First: 3, Batch: b}), "standard output: broken pipe")

	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	defer w.Close()
	s.out = w
	require.ErrorContains(t, s.Write(context.Background(), sdk.Rows{First: 3, Batch: b}), "standard output is closed: whoever read it")
}
