package stdin

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/source/sourcetest"
	"github.com/tidemark-stream/tidemark/sdk"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) (*sourcetest.Run, *os.File) {
	in, out, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = in.Close(); _ = out.Close() })
	p := sdk.NewSource("stdin", "", func(Config) (sdk.Source[[]byte], error) { return &source{in}, nil })
	return sourcetest.Start(t, p, nil), out
}

func TestEverythingToTheEnd(t *testing.T) {
	r, out := start(t)
	want := strings.Split(strings.Repeat("some words\n", 100_000)+"last", "\n")
	_, err := out.WriteString(strings.Join(want, "\n"))
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.NoError(t, r.Wait())
	require.Equal(t, want, r.Rows())
	require.True(t, r.Ended())
	require.True(t, r.Of("stdin").Ended)
}

func TestALineComesWithoutWaitingForTheNext(t *testing.T) {
	r, out := start(t)
	_, err := out.WriteString("a\nhal")
	require.NoError(t, err)
	r.UntilRows(1)
	_, err = out.WriteString("f\n")
	require.NoError(t, err)
	r.UntilRows(2)
	require.Equal(t, []string{"a", "half"}, r.Rows())
}

func TestStopDoesNotWaitForInput(t *testing.T) {
	r, out := start(t)
	_, err := out.WriteString("a\n")
	require.NoError(t, err)
	r.UntilRows(1)
	r.Stop()
}
