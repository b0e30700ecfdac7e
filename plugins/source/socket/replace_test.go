package socket

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that stands where a Unix socket is to be is no socket that was left behind.
func TestAFileInTheWayIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(path, []byte("data"), 0o600))
	_, err := (&source{Config: Config{Listen: path, Network: "unix"}}).open(t.Context())
	require.EqualError(t, err, "listen on "+path+": there is a file of that name, which is no socket")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "data", string(kept))
}
