package deadletter

import (
	"errors"
	"slices"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/journal"
)

// Filter picks letters; its zero value picks all. A letter must match every field that is set.
type Filter struct {
	Numbers    []Range
	Codes      []string
	Components []string
	Ports      []string
	Sources    []string
	From, To   int64 // processing time in ms, half open; 0 = no bound
}

// Match is true for a letter that the filter picks.
func (f *Filter) Match(l *Letter) bool {
	in := func(set []string, s string) bool { return len(set) == 0 || slices.Contains(set, s) }
	return in(f.Codes, l.Code) && in(f.Components, l.Component) && in(f.Ports, l.Port) && in(f.Sources, l.Source) &&
		(f.From == 0 || l.ProcessingTime >= f.From) && (f.To == 0 || l.ProcessingTime < f.To) &&
		(len(f.Numbers) == 0 || slices.ContainsFunc(f.Numbers, func(r Range) bool { return r.First <= l.Number && l.Number <= r.Last }))
}

// ErrStop ends a Read early and without an error.
var ErrStop = errors.New("stop")

// Read visits the letters in dir that filter picks, oldest first, whether or not a daemon has the store open; letters that are written
// meanwhile may or may not be among them. Letters belong to the visitor. A damaged segment costs only the letters behind the damage in
// it: the others are visited, and the error comes at the end.
//
// To replay letters, read them, bring their Raw bytes in again, and [Purge] those that went through.
func Read(fs vfs.FS, dir string, filter Filter, visit func(Letter) error) error {
	purged, err := readPurged(fs, dir)
	if err != nil {
		return err
	}
	segments, err := journal.List(fs, dir)
	if err != nil {
		return err
	}
	var damaged error
	for _, s := range segments {
		err := read(fs, dir, s, func(l Letter) error {
			if purged.has(l.Number) || !filter.Match(&l) {
				return nil
			}
			return visit(l)
		})
		switch {
		case err == nil, oserror.IsNotExist(err): // given up since the directory was listed
		case errors.Is(err, ErrStop):
			return damaged
		case errors.Is(err, state.BadJournal):
			damaged = errors.Join(damaged, err)
		default:
			return err
		}
	}
	return damaged
}

// read visits the letters of one segment.
func read(fs vfs.FS, dir string, s journal.Segment, visit func(Letter) error) error {
	return journal.ReadSegment(fs, dir, s, func(r journal.Record) error {
		if r.Batch != nil {
			r.Batch.Release()
			return errLetter
		}
		l := Letter{Number: r.Number}
		if err := l.Decode(r.Event); err != nil {
			return err
		}
		return visit(l)
	})
}

// Inspect counts what is in dir, whether or not a daemon has the store open. It reads all of it.
func Inspect(fs vfs.FS, dir string) (Stats, error) {
	var st Stats
	segments, err := journal.List(fs, dir)
	if err != nil {
		return st, err
	}
	c, err := readCounts(fs, dir)
	if err != nil {
		return st, err
	}
	st.Dropped, st.Next = c.dropped, max(c.below, 1)
	for _, s := range segments {
		st.Bytes += s.Size
		if st.First == 0 {
			st.First = s.First
		}
		st.Next = max(st.Next, s.First)
	}
	err = Read(fs, dir, Filter{}, func(l Letter) error {
		st.Letters++
		st.Next = max(st.Next, l.Number+1)
		return nil
	})
	return st, err
}
