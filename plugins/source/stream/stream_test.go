package stream

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/plugins/framing"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// rows is a partition that keeps what is sent to it.
type rows struct{ got []string }

func (r *rows) Send(b *batch.Batch) error {
	rejects := b.Rejects
	for i := range b.N + 1 {
		for len(rejects) > 0 && int(rejects[0].After) == i {
			r.got, rejects = append(r.got, rejects[0].Code), rejects[1:]
		}
		if i < b.N {
			r.got = append(r.got, string(b.Row(i)))
		}
	}
	b.Release()
	return nil
}

// pieces is a connection that says its pieces one by one, and nothing for a moment where a piece is empty.
type pieces []string

func (p *pieces) Read(to []byte) (int, error) {
	if len(*p) == 0 {
		return 0, errors.New("over")
	}
	if (*p)[0] == "" {
		*p = (*p)[1:]
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(to, (*p)[0])
	if (*p)[0] = (*p)[0][n:]; (*p)[0] == "" {
		*p = (*p)[1:]
	}
	return n, nil
}

// read is what a source does with a connection.
func read(t require.TestingT, from pieces, spare bool) []string {
	var part rows
	st, err := New(&part, sdk.Framing{MaxRecord: 20_000}, framing.Place{}, nil)
	require.NoError(t, err)
	defer st.Drop()
	if spare {
		st.Spare()
	}
	for {
		_, err := st.Fill(&from)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			require.NoError(t, st.Park())
			require.False(t, st.Holding())
		default:
			require.EqualError(t, err, "over")
			require.NoError(t, st.End(framing.RejectLast))
			return part.got
		}
	}
}

// Pauses and the memory that is given back in them never show in the records.
func TestASparingStreamReadsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 7, 4000, 8191, 8192, 8193, 19_999, 20_001, 70_000}), 1, 30).Draw(t, "lines")
		var text strings.Builder
		for i, n := range lines {
			text.WriteString(strings.Repeat(string(rune('a'+i%26)), n) + "\n")
		}
		text.WriteString(rapid.SampledFrom([]string{"", "half"}).Draw(t, "end"))
		want := read(t, pieces{text.String()}, false)

		var cut pieces
		for rest := text.String(); rest != ""; {
			n := rapid.IntRange(1, min(len(rest), rapid.SampledFrom([]int{3, 5000, 100_000}).Draw(t, "largest"))).Draw(t, "piece")
			cut = append(cut, rest[:n])
			if rest = rest[n:]; rapid.Bool().Draw(t, "pause") {
				cut = append(cut, "")
			}
		}
		require.Equal(t, want, read(t, slices.Clone(cut), true))
	})
}

// While nothing comes a sparing stream has no batch, also in the middle of a record.
func TestASparingStreamGivesItsBatchBack(t *testing.T) {
	st, err := New(&rows{}, sdk.Framing{}, framing.Place{}, nil)
	require.NoError(t, err)
	st.Spare()
	for _, piece := range []string{"a\nb", "c", "\nd\n"} {
		_, err = st.Fill(&pieces{piece})
		require.NoError(t, err)
		require.NotNil(t, st.b)
		require.NoError(t, st.Park())
		require.Nil(t, st.b)
	}
	// A long unfinished record keeps it, since going on would copy the record with every few bytes that come.
	from := pieces{strings.Repeat("x", 10_000)}
	for len(from) > 0 {
		_, err = st.Fill(&from)
		require.NoError(t, err)
	}
	require.False(t, st.Holding())
	require.NoError(t, st.Park())
	require.NotNil(t, st.b)
	st.Drop()
}

// sizes is a partition with limits that keeps how many rows each batch has.
type sizes struct {
	rows, bytes int
	got         []int
}

func (s *sizes) BatchLimits() (rows, bytes int) { return s.rows, s.bytes }
func (s *sizes) Send(b *batch.Batch) error {
	s.got = append(s.got, b.N)
	b.Release()
	return nil
}

// A batch is full when the pipeline says so: by batch_rows, or by batch_bytes, which a read may pass once.
func TestABatchIsAsLargeAsThePipelineSays(t *testing.T) {
	text := strings.Repeat("seven!!\n", 10_000)
	for _, c := range []struct {
		part sizes
		want []int
	}{
		{sizes{rows: 4000, bytes: 1 << 20}, []int{4000, 4000, 2000}},
		{sizes{rows: 65536, bytes: 32 << 10}, []int{4096, 4096, 1808}},
		{sizes{rows: 65536, bytes: 1 << 10}, []int{2048, 2048, 2048, 2048, 1808}},
	} {
		st, err := New(&c.part, sdk.Framing{}, framing.Place{}, nil)
		require.NoError(t, err)
		from := strings.NewReader(text)
		for err == nil {
			_, err = st.Fill(from)
		}
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, st.End(framing.KeepLast))
		require.Equal(t, c.want, c.part.got)
	}
}
