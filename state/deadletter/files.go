package deadletter

import (
	"io"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/state"
)

// readFile returns the content of a small file, nothing where it is missing.
func readFile(fs vfs.FS, dir, name string) (string, error) {
	path := fs.PathJoin(dir, name)
	f, err := fs.Open(path)
	if oserror.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", state.Classify(err, path, "read the dead letters")
	}
	content, err := io.ReadAll(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return string(content), state.Classify(err, path, "read the dead letters")
}

// writeFile replaces a small file so that it is there whole or not at all.
func writeFile(fs vfs.FS, dir, name, content string) error {
	return state.Classify(state.WriteFile(fs, dir, name, content), fs.PathJoin(dir, name), "write to the dead letters")
}
