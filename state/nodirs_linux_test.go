package state

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where the file system takes no directories, no savepoint helps: another place has to be chosen.
func TestOpenWhereNoDirectoryCanBe(t *testing.T) {
	_, err := Open("/proc/tidemark-state", Options{})
	require.ErrorIs(t, err, Unwritable)
	require.ErrorContains(t, err, "choose a directory on a file system that takes files")
	require.NotContains(t, err.Error(), "savepoint")
}
