package state

import (
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// NextTime is the lowest time, at or above from, at which an operator has entries within hashes. It reads none of them.
func (s *Store) NextTime(operator uint32, from int64, hashes keys.Hashes) (time int64, found bool, err error) {
	start, _ := keys.PaneBounds(operator, from, hashes)
	_, end := keys.OperatorBounds(operator)
	err = s.iterate(start, end, func(it *pebble.Iterator) error {
		for ok := it.First(); ok; {
			e, err := keys.DecodeState(it.Key())
			switch {
			case err != nil:
				return err
			case hashes.Contains(e.Hash):
				time, found = e.Time, true
				return nil
			case e.Hash < hashes.First:
				within, _ := keys.PaneBounds(operator, e.Time, hashes)
				ok = it.SeekGE(within)
			case e.Time == math.MaxInt64:
				return nil
			default:
				within, _ := keys.PaneBounds(operator, e.Time+1, hashes)
				ok = it.SeekGE(within)
			}
		}
		return nil
	})
	return time, found, err
}
