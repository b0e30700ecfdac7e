package checkpoint

import "encoding/binary"

// The state of a plugin is kept with the plugin's name before it: another plugin in the same place cannot read it, or, worse, reads
// something else out of it.

// Owned is what a commit keeps of a plugin's state; nothing of nothing.
func Owned(plugin string, state []byte) []byte {
	if len(state) == 0 {
		return nil
	}
	b := make([]byte, 0, len(plugin)+len(state)+2)
	b = append(binary.AppendUvarint(b, uint64(len(plugin))), plugin...)
	return append(b, state...)
}

// StateOf gives a plugin its state back. It is empty when there is none, or when it is another plugin's, whose name is then not empty.
func StateOf(plugin string, stored []byte) (state []byte, another string) {
	if len(stored) == 0 {
		return nil, ""
	}
	n, w := binary.Uvarint(stored)
	if w <= 0 || n > uint64(len(stored)-w) {
		return nil, "?"
	}
	owner, state := string(stored[w:w+int(n)]), stored[w+int(n):]
	if owner != plugin {
		return nil, owner
	}
	return state, ""
}
