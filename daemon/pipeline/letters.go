package pipeline

import (
	"cmp"
	"encoding/base64"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/daemon/deliver"
	"github.com/tidemark-stream/tidemark/daemon/format"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state/deadletter"
)

// letterBox joins the letters of all ports that nobody reads. It is a sink among others as far as barriers go.
type letterBox struct {
	node    *sinkNode
	letters *deliver.Letters
}

// letterInput is one input of the box as an end of a port.
type letterInput struct {
	box   *letterBox
	input int
}

func (l letterInput) idle(bool) error         { return nil }
func (l letterInput) barrier(id uint64) error { return l.box.node.bring(l.input, id) }

func (l letterInput) put(letters []deadletter.Letter) error {
	return l.box.node.do(l.input, func() error { return l.box.letters.Put(letters) })
}

// places names sources and partitions for letters. Partitions come and go while steps still hold their rows, so a name is forgotten when
// a checkpoint behind the partition's end is committed: then all its rows have been through. It is safe for several goroutines.
type places struct {
	sources    []string
	clocked    []bool // the times of a source's rows are the clock's, since the records have none
	mu         sync.RWMutex
	partitions []map[uint32]string
}

func newPlaces(sources []string) *places {
	p := &places{sources: sources, clocked: make([]bool, len(sources))}
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

func (p *places) forget(source uint32, partitions []uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range partitions {
		delete(p.partitions[source], id)
	}
}

// hasClockTime reports whether the times of the source's rows say nothing about its records.
func (p *places) hasClockTime(source uint32) bool {
	return int(source) < len(p.clocked) && p.clocked[source]
}

func (p *places) find(source, partition uint32) (string, string) {
	if int(source) >= len(p.sources) {
		return "", ""
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.sources[source], p.partitions[source][partition]
}

// letterWriter makes letters of one component's refused rows and brings them where they belong: to the readers of the port, or to the box.
type letterWriter struct {
	component, port string
	places          *places
	now             func() int64
	readers         *port        // its only end is box where nobody reads the port
	box             *letterInput // or nil
	counted         func(n int)

	letters []deadletter.Letter
	out     []prepared

	seen func(component string, p Passage, b *batch.Batch) // or nil
}

// refused hands on a batch's rejects and bad rows.
func (w *letterWriter) refused(b *batch.Batch) error {
	if w.seen != nil {
		w.seen(w.component, Refused, b)
	}
	w.letters = w.letters[:0]
	source, partition := w.places.find(b.Source, b.Partition)
	// In the order of the records, whoever has refused them: how batches are cut shows in nothing (I2).
	bad := slices.Clone(b.Bad)
	slices.SortStableFunc(bad, func(x, y batch.BadRow) int { return cmp.Compare(x.Row, y.Row) })
	rows := func(before uint32) {
		for len(bad) > 0 && bad[0].Row < before {
			w.letters = append(w.letters, w.row(b, int(bad[0].Row), source, partition, bad[0].Code, bad[0].Message, batch.NoWatermark))
			bad = bad[1:]
		}
	}
	for _, r := range b.Rejects {
		rows(r.After)
		at := int64(-1)
		if r.HasPosition {
			at = r.Position
		}
		w.letters = append(w.letters, deadletter.Letter{Code: r.Code, Message: r.Message, Source: source, Partition: partition,
			Position: at, Unit: b.Unit, EventTime: batch.NoTimestamp, Watermark: batch.NoWatermark, Raw: r.Data, RawLength: r.Length})
	}
	rows(math.MaxUint32)
	return w.send(b)
}

// codeLate is the reason of every record on a late port.
const codeLate = "late"

// late hands on rows that were late for all their windows: as letters to the box, or as the records they are to whoever reads the port.
func (w *letterWriter) late(b *batch.Batch, rows []uint32, watermark int64) error {
	source, partition := w.places.find(b.Source, b.Partition)
	if w.box == nil {
		w.out = w.readers.prepare(lateRows(b, rows, source, partition), w.out[:0])
		return sendAll(w.out)
	}
	w.letters = w.letters[:0]
	for _, r := range rows {
		w.letters = append(w.letters, w.row(b, int(r), source, partition, codeLate, "all windows of this record have closed", watermark))
	}
	return w.send(b)
}

// lateRows is a batch of those rows of b, with the columns of plan.LateFields.
func lateRows(b *batch.Batch, rows []uint32, source, partition string) *batch.Batch {
	f := b.Fork()
	f.Sel = append(make([]uint32, 0, len(rows)), rows...)
	f.Marks = nil
	for _, text := range []struct{ name, value string }{{"_source", source}, {"_partition", partition}, {"_reason", codeLate}} {
		off := len(f.Extra)
		f.Extra = append(f.Extra, text.value...)
		c := f.AddColumn(text.name)
		for _, r := range rows {
			c.Set(int(r), batch.String, batch.ExtraRef(off, len(text.value)))
		}
	}
	c := f.AddColumn("_position")
	for _, r := range rows {
		c.SetInt(int(r), f.RowPosition(int(r)))
	}
	c = f.AddColumn("_event_time")
	for _, r := range rows {
		c.SetTime(int(r), f.Times[r])
	}
	return f
}

func (w *letterWriter) row(b *batch.Batch, row int, source, partition, reason, message string, watermark int64) deadletter.Letter {
	l := deadletter.Letter{Code: reason, Message: message, Source: source, Partition: partition, Position: b.RowPosition(row), Unit: b.Unit,
		EventTime: batch.NoTimestamp, Watermark: watermark, Raw: b.Row(row)}
	if row < len(b.Times) && !w.places.hasClockTime(b.Source) {
		l.EventTime = b.Times[row]
	}
	if l.Raw == nil { // a row that never was text: its columns
		l.Raw = columnsAsJSON(withoutAside(b), row)
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
		l.Component, l.Port, l.ProcessingTime = w.component, w.port, now
		if l.RawLength == 0 {
			l.RawLength = int64(len(l.Raw))
		}
	}
	if w.counted != nil {
		w.counted(len(w.letters))
	}
	if w.box != nil {
		return w.box.put(w.letters)
	}
	w.out = w.readers.prepare(lettersBatch(w.letters, b), w.out[:0])
	return sendAll(w.out)
}

// lettersBatch makes rows of letters, with the columns of plan.DeadLetterShape.
func lettersBatch(letters []deadletter.Letter, from *batch.Batch) *batch.Batch {
	b := batch.Get()
	b.Source, b.Partition = from.Source, from.Partition
	names := []string{"reason", "message", "component", "source", "partition", "position", "event_time", "raw", "raw_base64"}
	for _, name := range names {
		b.AddColumn(name)
	}
	b.Grow(len(letters))
	for i, l := range letters {
		for k, text := range []string{l.Code, l.Message, l.Component, l.Source, l.Partition} {
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
		if utf8.Valid(l.Raw) {
			b.Columns[8].SetMissing(i)
		} else {
			b.SetText(&b.Columns[8], i, batch.String, base64.StdEncoding.EncodeToString(l.Raw))
		}
		b.Times[i] = l.EventTime
	}
	return b
}

// withoutAside is b without columns that are no part of a row.
func withoutAside(b *batch.Batch) *batch.Batch {
	aside := func(c batch.Column) bool { return batch.IsAside(c.Name) }
	if !slices.ContainsFunc(b.Columns, aside) {
		return b
	}
	shown := *b
	shown.Columns = slices.DeleteFunc(slices.Clone(b.Columns), aside)
	return &shown
}

// columnsAsJSON writes a row's columns as an object.
func columnsAsJSON(b *batch.Batch, row int) []byte {
	f, err := format.New(format.Options{})
	if err != nil {
		return nil
	}
	out, err := f.AppendRow(nil, b, row)
	if err != nil {
		return nil
	}
	return out
}
