//go:build unix

package file

import (
	"io/fs"
	"syscall"
)

func idOf(info fs.FileInfo) id {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return id{uint64(st.Dev), st.Ino} //nolint:unconvert // Dev has another type on other systems
	}
	return id{}
}
