package pipeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tidemark-stream/tidemark/daemon/failpoint"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state/journal"
)

// journaled is a source that cannot be asked for its records again, behind a journal: what it says is written down before anybody hears
// it, and after a restart the journal says again what the last commit does not hold. So above this it is a source like others,
// whose position is the number of a journal record.
//
// Partitions of an earlier run are known by name. Those that were open are announced again, and end when the journal has been replayed,
// because their connections are gone; a partition that the source opens anew under the same name begins after that.
type journaled struct {
	inner   wire.Source
	journal *journal.Journal
	always  bool          // every record is synced before Recv returns it
	maxSize int64         // bytes of journal beyond which the source is held back
	room    chan struct{} // told when the journal has become shorter

	replayed chan wire.SourceEvent // events of the replay; closed at its end
	failed   error                 // of the replay; read after replayed is closed
	stop     chan struct{}         // ends the replay
	stopOnce sync.Once
	done     sync.WaitGroup

	stopping  chan struct{} // closed: the source is to end where it is
	stopInput sync.Once

	// Of the goroutine that calls Recv.
	open   []journaledPartition // to be ended when the replay is over
	ids    map[uint32]uint32    // partition numbers of the inner source to ours
	next   uint32
	number uint64 // of the record that Recv returned last
	queue  []wire.SourceEvent

	mu    sync.Mutex
	outer map[uint32]uint32 // our numbers of the inner source's open partitions to its own
	unack []journaledAck    // what the source has not been told is safe, by rising number
}

// journaledAck is a position of the inner source, and the record that holds what came up to it.
type journaledAck struct {
	number    uint64
	partition uint32
	position  []byte
}

type journaledPartition struct {
	id   uint32
	name string
}

// journalPosition is the position of a partition of a journaled source: the record it has come to, and its number in that run.
func journalPosition(number uint64, id uint32) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, number), uint64(id))
}

func parseJournalPosition(p []byte) (number uint64, id uint32, err error) {
	number, n := binary.Uvarint(p)
	if n <= 0 {
		return 0, 0, errors.New("the stored position of a journal is damaged")
	}
	v, m := binary.Uvarint(p[n:])
	if m <= 0 || n+m != len(p) {
		return 0, 0, errors.New("the stored position of a journal is damaged")
	}
	return number, uint32(v), nil
}

// newJournaled starts the replay behind the last record that the commit holds.
func newJournaled(inner wire.Source, j *journal.Journal, maxSize int64, committed uint64, restored map[string]partitionState) (*journaled, error) {
	s := &journaled{inner: inner, journal: j, maxSize: maxSize, room: make(chan struct{}, 1), replayed: make(chan wire.SourceEvent, 4), stop: make(chan struct{}), stopping: make(chan struct{}), ids: map[uint32]uint32{}, outer: map[uint32]uint32{}, number: committed}
	for name, p := range restored {
		if p.ended || name == journalPartition {
			continue
		}
		_, id, err := parseJournalPosition(p.position)
		if err != nil {
			return nil, err
		}
		s.queue = append(s.queue, wire.SourceEvent{Kind: wire.PartitionAdded, Partition: id, Name: name})
		s.opened(id, name)
	}
	s.done.Go(func() {
		defer close(s.replayed)
		s.failed = s.replay(committed + 1)
	})
	return s, nil
}

func (s *journaled) opened(id uint32, name string) {
	s.open = append(s.open, journaledPartition{id, name})
	s.next = max(s.next, id+1)
}

func (s *journaled) closed(id uint32) {
	kept := s.open[:0]
	for _, p := range s.open {
		if p.id != id {
			kept = append(kept, p)
		}
	}
	s.open = kept
}

var errStopReplay = errors.New("stop")

func (s *journaled) replay(from uint64) error {
	err := s.journal.Replay(from, func(r journal.Record) error {
		ev := wire.SourceEvent{Kind: wire.SourceBatch, Batch: r.Batch}
		if r.Batch == nil {
			var err error
			if ev, err = decodeEvent(r.Event); err != nil {
				return fmt.Errorf("record %d: %w", r.Number, err)
			}
		} else {
			ev.Partition = r.Batch.Partition
		}
		ev.Position = journalPosition(r.Number, ev.Partition)
		select {
		case s.replayed <- ev:
			return nil
		case <-s.stop:
			if r.Batch != nil {
				r.Batch.Release()
			}
			return errStopReplay
		}
	})
	if errors.Is(err, errStopReplay) {
		return nil
	}
	return err
}

// Recv returns replayed events first, then new ones, each after it is in the journal.
func (s *journaled) Recv() (wire.SourceEvent, error) {
	if len(s.queue) > 0 {
		ev := s.queue[0]
		s.queue = s.queue[1:]
		return ev, nil
	}
	if ev, ok := <-s.replayed; ok {
		switch ev.Kind {
		case wire.PartitionAdded:
			s.opened(ev.Partition, ev.Name)
		case wire.PartitionEnded:
			s.closed(ev.Partition)
		}
		return s.hand(ev)
	}
	if s.failed != nil {
		return wire.SourceEvent{}, fmt.Errorf("replay the journal: %w", s.failed)
	}
	if len(s.open) > 0 {
		p := s.open[0]
		s.open = s.open[1:]
		return s.write(wire.SourceEvent{Kind: wire.PartitionEnded, Partition: p.id})
	}
	for s.maxSize > 0 && s.journal.Size() > s.maxSize {
		select {
		case <-s.room:
			continue
		case <-s.stopping: // little comes any more
		case <-s.stop:
			return wire.SourceEvent{}, io.EOF
		}
		break
	}
	ev, err := s.inner.Recv()
	if err != nil {
		return ev, err
	}
	return s.live(ev)
}

// live gives an event of the inner source our number of its partition, and writes it down.
func (s *journaled) live(ev wire.SourceEvent) (wire.SourceEvent, error) {
	if ev.Kind == wire.PartitionAdded {
		s.ids[ev.Partition] = s.next
		s.mu.Lock()
		s.outer[s.next] = ev.Partition
		s.mu.Unlock()
		s.next++
	}
	inner, position := ev.Partition, []byte(nil)
	if ev.Batch != nil {
		position = append(position, ev.Batch.Position...)
	}
	if ev.Kind != wire.SourceEnded && ev.Kind != wire.SourceStopped {
		ev.Partition = s.ids[ev.Partition]
	}
	if ev.Kind == wire.PartitionEnded {
		delete(s.ids, inner)
		s.mu.Lock()
		delete(s.outer, ev.Partition)
		s.mu.Unlock()
	}
	if ev.Batch != nil {
		ev.Batch.Partition = ev.Partition
	}
	ev, err := s.write(ev)
	if err == nil && len(position) > 0 {
		err = s.remember(journaledAck{s.number, inner, position})
	}
	return ev, err
}

// remember keeps what the inner source is to be told: at once where the journal is synced with every record, else after the commit.
func (s *journaled) remember(a journaledAck) error {
	if s.always {
		return s.inner.Ack(a.partition, a.position)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.unack); n > 0 && s.unack[n-1].partition == a.partition && len(s.unack) > maxUnack {
		s.unack[n-1] = a // one that is told later covers those before it
		return nil
	}
	s.unack = append(s.unack, a)
	return nil
}

// maxUnack is the number of positions that are told one by one; more of them between two commits are told together.
const maxUnack = 10_000

// write puts an event into the journal.
func (s *journaled) write(ev wire.SourceEvent) (wire.SourceEvent, error) {
	var number uint64
	var err error
	switch ev.Kind {
	case wire.SourceBatch:
		number, err = s.journal.Append(ev.Batch)
	case wire.SourceEnded, wire.SourceStopped:
		return ev, nil
	default:
		number, err = s.journal.AppendEvent(encodeEvent(ev))
	}
	if err != nil {
		return ev, fmt.Errorf("write to the journal: %w", err)
	}
	failpoint.Hit(failpoint.JournalAppended)
	ev.Position = journalPosition(number, ev.Partition)
	return s.hand(ev)
}

// hand gives an event its number as its position.
func (s *journaled) hand(ev wire.SourceEvent) (wire.SourceEvent, error) {
	if ev.Batch != nil {
		ev.Batch.Position = append(ev.Batch.Position[:0], ev.Position...)
	}
	number, _, err := parseJournalPosition(ev.Position)
	s.number = number
	return ev, err
}

// encodeEvent writes an event of a partition: kind, partition, name.
func encodeEvent(ev wire.SourceEvent) []byte {
	out := []byte{byte(ev.Kind)}
	out = binary.AppendUvarint(out, uint64(ev.Partition))
	return append(out, ev.Name...)
}

func decodeEvent(b []byte) (wire.SourceEvent, error) {
	if len(b) < 2 {
		return wire.SourceEvent{}, errors.New("a damaged event")
	}
	id, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return wire.SourceEvent{}, errors.New("a damaged event")
	}
	return wire.SourceEvent{Kind: wire.SourceEventKind(b[0]), Partition: uint32(id), Name: string(b[1+n:])}, nil
}

// drain writes down what the source has said and nobody has heard, after Stop: it would not say it again. It is called instead of Recv, by
// the same goroutine, when the lane is being ended.
func (s *journaled) drain() {
	s.endReplay()
	for {
		ev, err := s.inner.Recv()
		if err != nil || ev.Kind == wire.SourceStopped || ev.Kind == wire.SourceEnded {
			return
		}
		ev, err = s.live(ev)
		if ev.Batch != nil {
			ev.Batch.Release()
		}
		if err != nil {
			return
		}
	}
}

func (s *journaled) endReplay() {
	s.stopOnce.Do(func() { close(s.stop) })
	for ev := range s.replayed { // these are in the journal already
		if ev.Batch != nil {
			ev.Batch.Release()
		}
	}
}

// committed gives up the records that a commit holds.
func (s *journaled) committed(number uint64) error {
	if err := s.journal.Truncate(number + 1); err != nil {
		return err
	}
	failpoint.Hit(failpoint.JournalTruncated)
	s.mu.Lock()
	n := 0
	for n < len(s.unack) && s.unack[n].number <= number {
		n++
	}
	safe := append([]journaledAck(nil), s.unack[:n]...)
	s.unack = append(s.unack[:0], s.unack[n:]...)
	s.mu.Unlock()
	for _, a := range safe {
		if err := s.inner.Ack(a.partition, a.position); err != nil {
			return err
		}
	}
	select {
	case s.room <- struct{}{}:
	default:
	}
	return nil
}

// Ack is about our positions; the inner source is told of its own, see committed.
func (s *journaled) Ack(uint32, []byte) error { return nil }

// Hold implements wire.Holder. What the journal says again is not held: it has been read already.
func (s *journaled) Hold(partition uint32, held bool) error {
	s.mu.Lock()
	inner, open := s.outer[partition]
	s.mu.Unlock()
	if h, ok := s.inner.(wire.Holder); ok && open {
		return h.Hold(inner, held)
	}
	return nil
}

func (s *journaled) Stop() error {
	s.stopInput.Do(func() { close(s.stopping) })
	return s.inner.Stop()
}

func (s *journaled) Close() error {
	s.stopOnce.Do(func() { close(s.stop) })
	err := s.inner.Close()
	s.done.Wait()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// journalPartition is the name under which a commit holds how far a source's journal has been processed: no partition is called so.
const journalPartition = "$journal"

var _ wire.Source = (*journaled)(nil)
