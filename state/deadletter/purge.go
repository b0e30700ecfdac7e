package deadletter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/state"
)

// Range is letters by their numbers, both ends included.
type Range struct{ First, Last uint64 }

// ranges is a set of numbers: ascending ranges that do not touch.
type ranges []Range

func (r ranges) has(n uint64) bool {
	i, found := slices.BinarySearchFunc(r, n, func(e Range, n uint64) int { return cmp.Compare(e.First, n) })
	return found || i > 0 && n <= r[i-1].Last
}

// union sorts and joins.
func union(all []Range) ranges {
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	var out ranges
	for _, r := range all {
		if r.First > r.Last {
			continue
		}
		if n := len(out); n > 0 && (r.First <= out[n-1].Last || r.First == out[n-1].Last+1) {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

const purgedName = "PURGED"

func readPurged(fs vfs.FS, dir string) (ranges, error) {
	text, err := readFile(fs, dir, purgedName)
	if err != nil {
		return nil, err
	}
	var all []Range
	for line := range strings.Lines(text) {
		var r Range
		if _, err := fmt.Sscanf(line, "%d-%d", &r.First, &r.Last); err != nil {
			return nil, &state.Error{
				Kind: state.Damaged, Path: fs.PathJoin(dir, purgedName), Summary: fmt.Sprintf("%q is not a range of letters", strings.TrimSpace(line)),
				Hint: "correct or remove that line; purged letters may show up again then",
			}
		}
		all = append(all, r)
	}
	return union(all), nil
}

// Purge takes letters out of the store in dir for good, whether or not a daemon has it open. Their bytes go when their segment does.
func Purge(fs vfs.FS, dir string, letters ...Range) error {
	lock, err := fs.Lock(fs.PathJoin(dir, purgedName+".lock"))
	if err != nil {
		return &state.Error{
			Kind: state.InUse, Path: dir, Summary: "somebody else is purging dead letters at this moment", Hint: "try again", Err: err,
		}
	}
	err = purge(fs, dir, letters)
	if closeErr := lock.Close(); err == nil {
		err = state.Classify(closeErr, dir, "unlock the dead letters")
	}
	return err
}

func purge(fs vfs.FS, dir string, letters []Range) error {
	before, err := readPurged(fs, dir)
	if err != nil {
		return err
	}
	counts, err := readCounts(fs, dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, r := range union(append(before, letters...)) {
		if r.Last >= counts.below { // what is given up need not be remembered
			fmt.Fprintf(&text, "%d-%d\n", r.First, r.Last)
		}
	}
	return writeFile(fs, dir, purgedName, text.String())
}
