package sdk

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

type keepingSink struct{ got string }

func (s *keepingSink) Write(_ context.Context, rows Rows) error {
	b := rows.Batch
	s.got = string(b.Data[b.Offsets[0]:b.Offsets[b.N]])
	return nil
}

func (s *keepingSink) Close() error { return nil }

// A delivery may be a part of a batch: a text sink sees the rows of that part and no others.
func TestATextSinkSeesOnlySelectedRows(t *testing.T) {
	s := &keepingSink{}
	p := NewSink("keeping", "", SinkTraits{Text: true}, func(context.Context, struct{}) (Sink, error) { return s, nil })
	open, err := p.OpenSink(wire.SinkOpen{}, wire.Runtime{})
	require.NoError(t, err)
	b := &batch.Batch{N: 4, Data: []byte("a\nbb\nc\nd\n"), Offsets: []uint32{0, 2, 5, 7, 9}, Trailer: 1, Sel: []uint32{1, 3}}
	require.NoError(t, open.Write(context.Background(), 1, b))
	require.Equal(t, "bb\nd\n", s.got)
	require.NoError(t, open.Close())
}
