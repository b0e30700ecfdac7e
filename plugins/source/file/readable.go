package file

import "fmt"

// ReadablePosition says for people where in a file a stored position of this source is. ok is false for bytes that are none.
func ReadablePosition(position []byte) (text string, ok bool) {
	p, err := decodePosition(position)
	if err != nil {
		return "", false
	}
	if p.Packed {
		return fmt.Sprintf("byte %d of what was packed", p.Offset), true
	}
	return fmt.Sprintf("byte %d", p.Offset), true
}
