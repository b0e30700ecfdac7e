// Package stream reads bytes into the batches of one partition of a source: what files, connections and standard input have in
// common. [framing.Splitter] cuts, the partition sends, and this package holds the batch that is being filled.
package stream

import (
	"io"

	"github.com/tidemark-stream/tidemark/plugins/framing"
	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

const (
	// defaultBytes is how much of the stream a batch holds if the partition does not say.
	defaultBytes = 128 << 10
	// leastRoom is what a read can use at least, also behind a long unfinished record.
	leastRoom = 16 << 10
	// firstRoom is what the first read behind a pause can use in a sparing stream. Its room doubles with each read that fills it.
	firstRoom = 4 << 10
	// parkedBytes is how long an unfinished record may be for its batch to be given back in a pause: it is copied each time.
	parkedBytes = 8 << 10
)

// Partition is where batches go; [sdk.Partition] is one.
type Partition interface {
	// Send takes the batch over, also when it returns an error.
	Send(b *batch.Batch) error
}

// limited is a Partition that says when a batch is full, as [sdk.Partition] does.
type limited interface {
	BatchLimits() (rows, bytes int)
}

// Stream is one stream of bytes. It is used by one goroutine at a time.
type Stream struct {
	part     Partition
	split    *framing.Splitter
	position func(framing.Place) []byte // nil: the stream cannot be taken up again
	bytes    int                        // a batch with so many is full
	b        *batch.Batch               // being filled, or nil
	full     bool                       // b takes no more
	first    []byte                     // of a sparing stream: what is read into while there is no batch
	room     int                        // of a sparing stream: for the next read
}

// Options turns what the host says about framing into the splitter's options.
func Options(f sdk.Framing) framing.Options {
	o := framing.Options{Kind: framing.Kind(f.Format), MaxRecord: int(min(f.MaxRecord, framing.LargestMaxRecord))}
	if f.Delimiter != "" {
		o.Delimiter = f.Delimiter[0]
	}
	if f.Quote != "" {
		o.Quote = f.Quote[0]
	}
	return o
}

// New returns a stream that goes on at a place. position turns the place behind a batch into the position that a checkpoint holds.
func New(part Partition, f sdk.Framing, at framing.Place, position func(framing.Place) []byte) (*Stream, error) {
	o, bytes := Options(f), defaultBytes
	if l, ok := part.(limited); ok {
		o.MaxRows, bytes = l.BatchLimits()
	}
	split, err := framing.New(o, at)
	if err != nil {
		return nil, err
	}
	return &Stream{part: part, split: split, position: position, bytes: bytes}, nil
}

// Fill reads from r once and cuts what it got; when a batch has become full, it is sent. A call sends at most one batch; one that was
// full already is sent instead of reading. n and the error are those of r.Read; an error of the partition takes precedence and is
// a [*SendError].
func (s *Stream) Fill(r io.Reader) (n int, err error) {
	if s.b == nil && s.first != nil {
		return s.fillFirst(r)
	}
	if s.b == nil {
		s.begin()
	}
	if s.full {
		return 0, s.next()
	}
	room := max(s.bytes-len(s.b.Data), leastRoom)
	if s.first != nil {
		room = min(room, s.room)
	}
	n, err = r.Read(s.split.Room(s.b, room))
	if n == room {
		s.room = min(2*room, s.bytes)
	}
	return n, s.cut(n, err)
}

// cut takes over the n bytes that a read has brought together with err.
func (s *Stream) cut(n int, err error) error {
	s.full = s.split.Cut(s.b, n) || s.b.N > 0 && len(s.b.Data) >= s.bytes
	if s.full {
		if sendErr := s.next(); sendErr != nil {
			return sendErr
		}
	}
	return err
}

// fillFirst is Fill of a sparing stream that has no batch: there is one only when something has come.
func (s *Stream) fillFirst(r io.Reader) (n int, err error) {
	if n, err = r.Read(s.first); n == 0 {
		return 0, err
	}
	s.begin()
	for s.full {
		if err := s.next(); err != nil {
			return n, err
		}
	}
	copy(s.split.Room(s.b, n), s.first[:n])
	return n, s.cut(n, err)
}

// Spare makes the stream hold little memory while nothing comes, for sources that read many streams which are silent most of the time. Such
// a source calls Park when nothing has come for a moment and Holding says so. Reads are short at first: it is not for datagrams.
func (s *Stream) Spare() { s.first, s.room = make([]byte, firstRoom), firstRoom }

// Holding reports whether Flush or Park has something to do.
func (s *Stream) Holding() bool {
	return s.Waiting() || s.first != nil && s.b != nil && len(s.b.Data) <= parkedBytes
}

// Park sends the whole records that are there, as Flush does, and gives the batch back. An unfinished record waits outside of it.
func (s *Stream) Park() error {
	if err := s.Flush(); err != nil {
		return err
	}
	if s.Holding() {
		s.room = firstRoom
		return s.send() // of nothing
	}
	return nil
}

// begin starts a batch with what is left over.
func (s *Stream) begin() {
	s.b = batch.Get()
	s.split.Begin(s.b)
	s.full = s.split.Cut(s.b, 0)
}

// next sends the batch and starts another.
func (s *Stream) next() error {
	if err := s.send(); err != nil {
		return err
	}
	s.begin()
	return nil
}

// send finishes the batch and gives it away.
func (s *Stream) send() error {
	b := s.b
	s.b = nil
	s.split.Finish(b)
	if b.N == 0 && len(b.Rejects) == 0 {
		b.Release()
		return nil
	}
	if s.position != nil {
		b.Position = append(b.Position[:0], s.position(s.split.Place())...)
	}
	if err := s.part.Send(b); err != nil {
		return &SendError{err}
	}
	return nil
}

// Waiting reports whether there are whole records that have not been sent.
func (s *Stream) Waiting() bool { return s.b != nil && (s.b.N > 0 || len(s.b.Rejects) > 0) }

// Full reports whether a read of n bytes would make the batch larger than it should be.
func (s *Stream) Full(n int) bool { return s.b != nil && len(s.b.Data)+n > s.bytes }

// Flush sends the whole records that are there; an unfinished one waits.
func (s *Stream) Flush() error {
	for s.Waiting() {
		if err := s.next(); err != nil {
			return err
		}
	}
	return nil
}

// Place is where the stream stands: behind the last whole record that was sent. It is meaningful after Flush or End.
func (s *Stream) Place() framing.Place { return s.split.Place() }

// End tells that the stream has ended, and sends what is left. Another stream may follow.
func (s *Stream) End(last framing.End) error {
	if err := s.endRecord(last); err != nil {
		return err
	}
	return s.send()
}

// EndDatagram ends a stream that shares its batch with others: nothing is sent unless the batch is full.
func (s *Stream) EndDatagram() error { return s.endRecord(framing.KeepLast) }

func (s *Stream) endRecord(last framing.End) error {
	if s.b == nil {
		s.begin()
	}
	for !s.split.End(s.b, last) {
		if err := s.send(); err != nil {
			return err
		}
		s.b = batch.Get()
		s.split.Begin(s.b)
	}
	s.full = false
	return nil
}

// Reject adds a reject of the stream itself, for instance that it is damaged from here on. Whole records that came before it are sent.
func (s *Stream) Reject(code, message string) error {
	if err := s.Flush(); err != nil {
		return err
	}
	if s.b == nil {
		s.begin()
	}
	s.b.Rejects = append(s.b.Rejects, batch.Reject{After: uint32(s.b.N), Code: code, Message: message, Position: s.split.At(), HasPosition: true})
	return nil
}

// Drop gives the unsent batch back, for a stream that is left for good.
func (s *Stream) Drop() {
	if s.b != nil {
		s.b.Release()
		s.b = nil
	}
}

// SendError is an error of the partition: the source is to stop.
type SendError struct{ Err error }

func (e *SendError) Error() string { return e.Err.Error() }
func (e *SendError) Unwrap() error { return e.Err }
