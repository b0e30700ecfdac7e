package window

import (
	"encoding/binary"
	"fmt"

	"github.com/tidemark-stream/tidemark/daemon/rowkey"
)

// What an interval join stores. One entry for each buffered row:
//
//	time   the row's event time
//	hash   of its key
//	key    one byte side, one byte tag, the key's payload, and the row's arrival number (8 bytes big endian)
//	value  one byte version, the cells that results carry
//
// Arrival numbers order rows of one key and time. After a restart they go on above the highest that was restored, which is enough for
// that, whichever shard a key has come from.

const joinVersion = 1

type joinRemovals struct {
	one  []removal
	keys []byte
}

func (j *IntervalJoin) storeKey(dst []byte, side Side, r *joinRow) []byte {
	t := &j.sides[side].table
	dst = append(dst, byte(side), t.records[r.key].tag)
	dst = append(dst, t.key(r.key)...)
	return binary.BigEndian.AppendUint64(dst, r.arrival)
}

func (j *IntervalJoin) unstore(side Side, r *joinRow) {
	j.removed.keys = j.storeKey(j.removed.keys, side, r)
	j.removed.one = append(j.removed.one, removal{r.ts, j.sides[side].table.records[r.key].hash, len(j.removed.keys)})
}

// Snapshot hands to w what has changed since the last Snapshot or Restore.
func (j *IntervalJoin) Snapshot(w StateWriter) {
	from := 0
	for _, one := range j.removed.one {
		w.Delete(one.time, one.hash, j.removed.keys[from:one.end])
		from = one.end
	}
	j.removed.one, j.removed.keys = j.removed.one[:0], j.removed.keys[:0]
	for s := range j.sides {
		side := &j.sides[s]
		for _, i := range side.changes {
			r := &side.rows[i]
			if r.flags&dirty == 0 {
				continue
			}
			r.flags = r.flags&^dirty | isStored
			p := j.storeKey(j.cells[:0], Side(s), r)
			n := len(p)
			p = append(p, joinVersion)
			p = append(p, side.blobs.get(r.cells)...)
			j.cells = p
			w.Set(r.ts, side.table.records[r.key].hash, p[:n:n], p[n:])
		}
		side.changes = side.changes[:0]
	}
}

// Restore takes one entry of an earlier Snapshot; all come before the first other call, in any order.
func (j *IntervalJoin) Restore(time int64, hash uint64, key, value []byte) error {
	if len(key) < 10 || key[0] > byte(RightSide) || len(value) < 1 {
		return fmt.Errorf("window: damaged state of a join at %d", time)
	}
	if value[0] != joinVersion {
		return fmt.Errorf("window: stored state of a join has version %d, this program knows %d", value[0], joinVersion)
	}
	side, tag, payload := Side(key[0]), key[1], key[2:len(key)-8]
	arrival := binary.BigEndian.Uint64(key[len(key)-8:])
	if rowkey.Hash(tag, payload) != hash {
		return fmt.Errorf("window: damaged state of a join at %d: the hash does not fit the key", time)
	}
	s := &j.sides[side]
	if err := checkCells(value[1:], len(s.columns)); err != nil {
		return fmt.Errorf("window: damaged state of a join at %d: %w", time, err)
	}
	i := s.add(time, arrival, hash, tag, payload, value[1:])
	s.rows[i].flags = inUse | isStored
	s.changes = s.changes[:0]
	j.arrivals = max(j.arrivals, arrival+1)
	return nil
}

// RestoreWatermark sets the watermark that the checkpoint was taken at; it drops nothing.
func (j *IntervalJoin) RestoreWatermark(watermark int64) { j.watermark = watermark }

// checkCells says whether p is n cells, so that damage shows when it is read and not when a pair is emitted.
func checkCells(p []byte, n int) error {
	for range n {
		if len(p) < 2 {
			return fmt.Errorf("the row ends early")
		}
		size, w := binary.Uvarint(p[1:])
		if w <= 0 || uint64(len(p)-1-w) < size {
			return fmt.Errorf("a cell of %d bytes in a row of %d", size, len(p))
		}
		p = p[1+w+int(size):]
	}
	if len(p) != 0 {
		return fmt.Errorf("%d bytes too many", len(p))
	}
	return nil
}
