package generate

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// ReadablePosition says for people what a stored position of this source stands for. ok is false for bytes that are none.
func ReadablePosition(position []byte) (text string, ok bool) {
	next, n := binary.Uvarint(position)
	if n <= 0 {
		return "", false
	}
	if _, m := binary.Varint(position[n:]); m <= 0 || !bytes.HasPrefix(position[n+m:], []byte("pcg:")) {
		return "", false
	}
	return fmt.Sprintf("behind event %d", next), true
}
