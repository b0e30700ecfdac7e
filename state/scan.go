package state

import (
	"errors"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// Visit takes one entry of a scan. key and value are valid during the call only. An error ends the scan and is returned by it; [ErrStop] ends
// it without one.
type Visit func(time int64, hash uint64, key, value []byte) error

// ErrStop ends a scan early.
var ErrStop = errors.New("stop")

// Scan visits the entries of one pane of an operator in the order of hash and key: those within hashes, as they were when the scan began.
// It may run beside a commit.
func (s *Store) Scan(operator uint32, time int64, hashes keys.Hashes, visit Visit) error {
	start, end := keys.PaneBounds(operator, time, hashes)
	return s.scan(start, end, hashes, visit)
}

// ScanOperator visits all entries of an operator within hashes in the order of time, hash and key.
func (s *Store) ScanOperator(operator uint32, hashes keys.Hashes, visit Visit) error {
	start, end := keys.OperatorBounds(operator)
	return s.scan(start, end, hashes, visit)
}

func (s *Store) scan(start, end []byte, hashes keys.Hashes, visit Visit) error {
	return s.iterate(start, end, func(it *pebble.Iterator) error {
		var folded []byte
		missed := 0
		for ok := it.First(); ok; ok = it.Next() {
			e, err := keys.DecodeState(it.Key())
			if err != nil {
				return err
			}
			if !hashes.Contains(e.Hash) {
				if missed++; missed > skipAfter {
					if !skip(it, e, hashes) {
						break
					}
					missed = 0
				}
				continue
			}
			stored, err := it.ValueAndErr()
			if err != nil {
				return err
			}
			value, err := s.folds.plain(it.Key(), stored, &folded)
			if err != nil {
				return err
			}
			if err := visit(e.Time, e.Hash, e.Key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// skipAfter is the number of entries outside the range of hashes after which a seek is cheaper than going on one by one.
const skipAfter = 32

// skip moves it to just before the next entry that may lie within hashes; false means that there is none.
func skip(it *pebble.Iterator, at keys.Entry, hashes keys.Hashes) bool {
	to := keys.PaneEnd(at.Operator, at.Time)
	if at.Hash < hashes.First {
		to, _ = keys.PaneBounds(at.Operator, at.Time, hashes)
	}
	if !it.SeekGE(to) {
		return false
	}
	it.Prev() // the loop goes one forward; there is an entry before, the one we come from at the latest
	return true
}

// Times visits the times at which an operator has entries within hashes, ascending, without reading the entries.
func (s *Store) Times(operator uint32, hashes keys.Hashes, visit func(time int64) error) error {
	start, end := keys.OperatorBounds(operator)
	return s.iterate(start, end, func(it *pebble.Iterator) error {
		ok := it.First()
		for ok {
			e, err := keys.DecodeState(it.Key())
			if err != nil {
				return err
			}
			if e.Hash < hashes.First {
				paneStart, _ := keys.PaneBounds(operator, e.Time, hashes)
				ok = it.SeekGE(paneStart)
				continue
			}
			if hashes.Contains(e.Hash) {
				if err := visit(e.Time); err != nil {
					return err
				}
			}
			if e.Time == math.MaxInt64 {
				break
			}
			ok = it.SeekGE(keys.PaneEnd(operator, e.Time))
		}
		return nil
	})
}

// Get reads one entry; found says whether there is one. The value belongs to the caller.
func (s *Store) Get(operator uint32, time int64, hash uint64, key []byte) (value []byte, found bool, err error) {
	stored, err := s.get(keys.AppendState(nil, operator, time, hash, key))
	if err != nil || stored == nil {
		return nil, false, err
	}
	var folded []byte
	value, err = s.folds.plain(keys.AppendState(nil, operator, time, hash, key), stored, &folded)
	return value, err == nil, err
}

// Meta reads a meta value, nil where there is none. It belongs to the caller.
func (s *Store) Meta(name []byte) ([]byte, error) { return s.get(keys.AppendMeta(nil, name)) }

// ReadMeta shows a meta value to read, which may not keep it, and is not called where there is none. It saves the copy that Meta makes.
func (s *Store) ReadMeta(name []byte, read func(value []byte) error) error {
	return s.read(keys.AppendMeta(nil, name), read)
}

// ScanMeta visits the meta values whose names begin with prefix, in the order of the names. Both slices are valid during the call only.
func (s *Store) ScanMeta(prefix []byte, visit func(name, value []byte) error) error {
	start, end := keys.MetaBounds(prefix)
	return s.scanMeta(start, end, visit)
}

// ScanMetaRange does the same for names from (included) to (not included).
func (s *Store) ScanMetaRange(from, to []byte, visit func(name, value []byte) error) error {
	return s.scanMeta(keys.AppendMeta(nil, from), keys.AppendMeta(nil, to), visit)
}

func (s *Store) scanMeta(start, end []byte, visit func(name, value []byte) error) error {
	return s.iterate(start, end, func(it *pebble.Iterator) error {
		for ok := it.First(); ok; ok = it.Next() {
			name, err := keys.MetaName(it.Key())
			if err != nil {
				return err
			}
			value, err := it.ValueAndErr()
			if err != nil {
				return err
			}
			if err := visit(name, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// get copies a stored value; nil means that there is none (a stored empty value is empty, not nil).
func (s *Store) get(key []byte) (out []byte, err error) {
	err = s.read(key, func(stored []byte) error {
		out = append([]byte{}, stored...)
		return nil
	})
	return out, err
}

// read shows a stored value to visit, if there is one. Errors of visit are returned as they are.
func (s *Store) read(key []byte, visit func(stored []byte) error) error {
	if err := s.Err(); err != nil {
		return err
	}
	stored, closer, err := s.reader().Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return Classify(err, s.dir, "read the state")
	}
	visited := visit(stored)
	if err := closer.Close(); err != nil {
		return Classify(err, s.dir, "read the state")
	}
	return visited
}

func (s *Store) iterate(start, end []byte, body func(*pebble.Iterator) error) error {
	if err := s.Err(); err != nil {
		return err
	}
	it, err := s.reader().NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return Classify(err, s.dir, "read the state")
	}
	err = body(it)
	if readErr := finish(it); readErr != nil {
		return Classify(readErr, s.dir, "read the state")
	}
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

// finish closes an iterator and returns its error, which both calls would tell.
func finish(it *pebble.Iterator) error {
	err := it.Error()
	if closeErr := it.Close(); err == nil {
		err = closeErr
	}
	return err
}
