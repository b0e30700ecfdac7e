package pipeline

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"

	"github.com/tidemark-stream/tidemark/daemon/watermark"
)

// What a commit keeps of a stage's inputs: a version, their number, the name of each, and the valve's snapshot. The names tell inputs
// again after a restart with other ones: one that has been there goes on where it was, a new one begins, one that has gone is left out.
const inputsVersion = 1

var errInputs = errors.New("damaged state of the inputs")

// inputNames are the inputs of a stage or transform plugin by number: the source or stage behind each, and which of its paths it is.
func (g *graph) inputNames(step string) []string {
	paths := map[string]int{}
	var names []string
	for _, origin := range g.feeds[step] {
		paths[origin]++
		name := origin
		if n := paths[origin]; n > 1 {
			name += "#" + strconv.Itoa(n)
		}
		names = append(names, name)
	}
	return names
}

// storeInputs is empty where there is no valve.
func (g *graph) storeInputs(step string, valve []byte) []byte {
	if len(valve) == 0 {
		return nil
	}
	names := g.inputNames(step)
	b := binary.AppendUvarint([]byte{inputsVersion}, uint64(len(names)))
	for _, n := range names {
		b = append(binary.AppendUvarint(b, uint64(len(n))), n...)
	}
	return append(b, valve...)
}

// restoreInputs gives a valve its state back. Nothing is stored where the step had one input only: the valve begins anew then, behind
// the step's own watermark, which never falls.
func (g *graph) restoreInputs(step string, valve *watermark.Valve, stored []byte) error {
	if valve == nil || len(stored) == 0 {
		return nil
	}
	if stored[0] != inputsVersion {
		return errInputs
	}
	text := func(rest []byte) (head string, tail []byte, ok bool) {
		n, w := binary.Uvarint(rest)
		if w <= 0 || n > uint64(len(rest)-w) {
			return "", nil, false
		}
		return string(rest[w : w+int(n)]), rest[w+int(n):], true
	}
	n, w := binary.Uvarint(stored[1:])
	if w <= 0 {
		return errInputs
	}
	rest, before := stored[1+w:], []string(nil)
	for ; n > 0; n-- {
		name, tail, ok := text(rest)
		if !ok {
			return errInputs
		}
		before, rest = append(before, name), tail
	}
	var was []int
	for _, name := range g.inputNames(step) {
		was = append(was, slices.Index(before, name))
	}
	return valve.RestoreInputs(rest, was)
}
