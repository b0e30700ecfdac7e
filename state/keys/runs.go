package keys

import "bytes"

// A run is values that are written once, each under a higher number than the one before, read about once and removed from the front: what a
// sink is still to get. Their names begin with an empty text, and nothing else's name may. So they come before everything else in the
// store, and tables that hold a run never lie between others.

// runStart is what every name of a run begins with.
var runStart = Name(nil).Text("")

// runNumber is the length of the number that ends a run's names.
const runNumber = 8

// Run begins the names of a run; whose it is follows, and a number ends the name.
func Run(kind string) Name { return Name(nil).Text("").Text(kind) }

// RunOf is what the store keys of a run have in common: the key without its number. It is nil for keys of no run. It points into encoded.
func RunOf(encoded []byte) []byte {
	if len(encoded) < 1+len(runStart)+runNumber || encoded[0] != spaceMeta || !bytes.HasPrefix(encoded[1:], runStart) {
		return nil
	}
	return encoded[:len(encoded)-runNumber]
}

// RunBounds is the half-open range of store keys that belongs to the runs.
func RunBounds() (start, end []byte) { return MetaBounds(runStart) }
