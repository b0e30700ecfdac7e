package pipeline

import (
	"sync"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Letter is a record that went no further, with everything that is known about it.
type Letter struct {
	Component  string // which component refused it
	Port       string // "errors" or "late"
	Reason     string // stable code
	Message    string // for people
	Source     string // where it came in
	Partition  string
	Position   int64 // place in the partition: a byte offset or a record number, as the source counts; -1: unknown
	EventTime  int64 // batch.NoTimestamp: unknown
	Watermark  int64 // what it was judged against; batch.NoWatermark: none
	At         int64 // processing time, ms
	Raw        []byte
	FullLength int64 // of the record, when Raw is only its beginning
}

// LetterStore keeps letters of ports that nobody reads. Put copies what it keeps.
type LetterStore interface {
	Put(letters []Letter) error
}

// places names sources and partitions for letters. Partitions come and go while stages still hold their rows, so names are never
// forgotten during a run; it is safe for several goroutines.
type places struct {
	sources    []string
	mu         sync.RWMutex
	partitions []map[uint32]string
}

func newPlaces(sources []string) *places {
	p := &places{sources: sources}
	for range sources {
		p.partitions = append(p.partitions, map[uint32]string{})
	}
	return p
}

func (p *places) add(source, partition uint32, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partitions[source][partition] = name
}

func (p *places) find(source, partition uint32) (string, string) {
	if int(source) >= len(p.sources) {
		return "", ""
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.sources[source], p.partitions[source][partition]
}

// writer makes letters of one component's refused rows and brings them where they belong: to the readers of the port, or to the store.
type letterWriter struct {
	component, port string
	places          *places
	now             func() int64
	store           LetterStore
	readers         *port // without branches: the store
	counted         func(n int)

	letters []Letter
	out     []prepared
}

// refused hands on a batch's rejects and bad rows.
func (w *letterWriter) refused(b *batch.Batch) error {
	w.letters = w.letters[:0]
	source, partition := w.places.find(b.Source, b.Partition)
	for _, r := range b.Rejects {
		at := int64(-1)
		if int(r.After) < b.N {
			at = b.RowPosition(int(r.After))
		}
		w.letters = append(w.letters, Letter{Reason: r.Code, Message: r.Message, Source: source, Partition: partition,
			Position: at, EventTime: batch.NoTimestamp, Watermark: batch.NoWatermark, Raw: r.Data, FullLength: r.Length})
	}
	for _, r := range b.Bad {
		w.letters = append(w.letters, w.row(b, int(r.Row), source, partition, r.Code, r.Message, batch.NoWatermark))
	}
	return w.send(b)
}

// late hands on rows that were late for all their windows.
func (w *letterWriter) late(b *batch.Batch, rows []uint32, watermark int64) error {
	w.letters = w.letters[:0]
	source, partition := w.places.find(b.Source, b.Partition)
	for _, r := range rows {
		w.letters = append(w.letters, w.row(b, int(r), source, partition, "late", "all windows of this record have closed", watermark))
	}
	return w.send(b)
}

func (w *letterWriter) row(b *batch.Batch, row int, source, partition, reason, message string, watermark int64) Letter {
	l := Letter{Reason: reason, Message: message, Source: source, Partition: partition, Position: b.RowPosition(row),
		EventTime: batch.NoTimestamp, Watermark: watermark, Raw: b.Row(row)}
	if row < len(b.Times) {
		l.EventTime = b.Times[row]
	}
	if l.Raw == nil { // a row that never was text: its columns
		l.Raw = columnsAsJSON(b, row)
	}
	return l
}

func (w *letterWriter) send(b *batch.Batch) error {
	if len(w.letters) == 0 {
		return nil
	}
	now := w.now()
	for i := range w.letters {
		l := &w.letters[i]
		l.Component, l.Port, l.At = w.component, w.port, now
		if l.FullLength == 0 {
			l.FullLength = int64(len(l.Raw))
		}
	}
	if w.counted != nil {
		w.counted(len(w.letters))
	}
	if len(w.readers.branches) == 0 {
		return w.store.Put(w.letters)
	}
	w.out = w.readers.prepare(lettersBatch(w.letters, b), w.out[:0])
	return sendAll(w.out)
}

// lettersBatch makes rows of letters, with the columns of plan.DeadLetterShape.
func lettersBatch(letters []Letter, from *batch.Batch) *batch.Batch {
	b := batch.Get()
	b.Source, b.Partition = from.Source, from.Partition
	names := []string{"reason", "message", "component", "source", "partition", "position", "event_time", "raw"}
	for _, name := range names {
		b.AddColumn(name)
	}
	b.Grow(len(letters))
	for i, l := range letters {
		for k, text := range []string{l.Reason, l.Message, l.Component, l.Source, l.Partition} {
			b.SetText(&b.Columns[k], i, batch.String, text)
		}
		if l.Position >= 0 {
			b.Columns[5].SetInt(i, l.Position)
		} else {
			b.Columns[5].SetNull(i)
		}
		if l.EventTime != batch.NoTimestamp {
			b.Columns[6].SetTime(i, l.EventTime)
		} else {
			b.Columns[6].SetNull(i)
		}
		b.SetString(&b.Columns[7], i, l.Raw)
		b.Times[i] = l.EventTime
	}
	return b
}
