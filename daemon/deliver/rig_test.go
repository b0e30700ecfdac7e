package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/keys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// hasty is a clock on which every pause is over at once and counted.
type hasty struct {
	clock.Clock
	mu     sync.Mutex
	pauses []time.Duration
}

func newHasty() *hasty { return &hasty{Clock: clock.NewVirtual(time.UnixMilli(1_700_000_000_000))} }

func (h *hasty) NewTimer(d time.Duration) clock.Timer {
	h.mu.Lock()
	h.pauses = append(h.pauses, d)
	h.mu.Unlock()
	return h.Clock.NewTimer(0)
}

// text makes rows of a text sink.
func text(rows ...string) *batch.Batch {
	b := batch.Get()
	b.Trailer = 1
	b.Offsets = append(b.Offsets, 0)
	for _, r := range rows {
		b.Data = append(append(b.Data, r...), '\n')
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
	}
	b.N = len(rows)
	return b
}

// columns makes rows of a sink that takes columns.
func columns(rows ...string) *batch.Batch {
	b := batch.Get()
	name, n := "name", "n"
	b.AddColumn(name)
	b.AddColumn(n)
	b.Grow(len(rows))
	for i, r := range rows {
		b.SetText(&b.Columns[0], i, batch.String, r)
		b.Columns[1].SetInt(i, int64(len(r)))
		b.Times[i] = int64(i)
	}
	return b
}

func rowsOf(b *batch.Batch) []string {
	out := []string{}
	for i := range b.Alive() {
		r := i
		if b.Sel != nil {
			r = int(b.Sel[i])
		}
		if len(b.Columns) > 0 {
			out = append(out, string(b.Text(b.Columns[0].Bits[r])))
		} else {
			out = append(out, string(b.Row(r)))
		}
	}
	return out
}

// fakeSink is the other side. It outlives the pipelines that write to it.
type fakeSink struct {
	mu     sync.Mutex
	books  bool   // it keeps the number of its last row
	last   uint64 // that number
	rows   map[uint64]string
	order  []uint64 // numbers in the order they were taken, repetitions included
	texts  []string // the same for rows
	script []error  // what the next calls answer instead of taking rows
	late   bool     // answer with the script's error after taking the rows
	poison string   // rows that hold it are refused
	block  bool     // refuse the whole delivery for one bad row
	calls  int
	cut    bool          // the line to it is cut: the other end has crashed
	hold   chan struct{} // when set, Write waits for it
}

func newFake(books bool) *fakeSink { return &fakeSink{books: books, rows: map[uint64]string{}} }

func (f *fakeSink) LastDelivered(context.Context) (uint64, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.books, nil
}

func (f *fakeSink) Write(ctx context.Context, first uint64, b *batch.Batch) error {
	f.mu.Lock()
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut {
		return errors.New("nobody is there")
	}
	f.calls++
	var fail error
	if len(f.script) > 0 {
		fail, f.script = f.script[0], f.script[1:]
		if fail != nil && !f.late {
			return fail
		}
	}
	texts := rowsOf(b)
	var bad []batch.BadRow
	for i, s := range texts {
		if f.poison != "" && strings.Contains(s, f.poison) {
			bad = append(bad, batch.BadRow{Row: uint32(i), Code: "refused", Message: "poison"})
		}
	}
	if len(bad) > 0 && f.block {
		bad = bad[:0]
		for i := range texts {
			bad = append(bad, batch.BadRow{Row: uint32(i), Code: "refused", Message: "something in it is poison"})
		}
		return &wire.SinkError{Message: "refused", Refused: bad}
	}
	for i, s := range texts {
		n := first + uint64(i)
		if f.books && n <= f.last {
			continue // a try that was answered too late had brought it
		}
		refused := false
		for _, x := range bad {
			refused = refused || int(x.Row) == i
		}
		if !refused {
			f.rows[n] = s
			f.order = append(f.order, n)
			f.texts = append(f.texts, s)
		}
	}
	f.last = max(f.last, first+uint64(len(texts))-1)
	if len(bad) > 0 {
		return &wire.SinkError{Message: "refused", Refused: bad}
	}
	return fail
}

func (f *fakeSink) Close() error { return nil }

func (f *fakeSink) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.texts...)
}

var errAway = &wire.SinkError{Message: "connection refused"}

// refusals collects what goes to the dead letters.
type refusals struct {
	mu   sync.Mutex
	rows []string
}

func (r *refusals) take(_ context.Context, b *batch.Batch, first uint64, bad []batch.BadRow) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := rowsOf(b)
	for _, x := range bad {
		r.rows = append(r.rows, fmt.Sprint(first+uint64(x.Row), " ", texts[x.Row]))
	}
	return nil
}

func openStore(t require.TestingT, fs vfs.FS) *state.Store {
	s, err := state.Open("state", state.Options{FS: fs, MemTableSize: 256 << 10})
	require.NoError(t, err)
	return s
}

func settings(store *state.Store, sink wire.Sink) Settings {
	return Settings{Name: "out", Sink: sink, ExactlyOnce: true, Store: store, Clock: newHasty(), Refused: (&refusals{}).take, Jitter: func() float64 { return 0.5 }}
}

// running is an outbox with its goroutine.
type running struct {
	*Outbox
	cancel context.CancelFunc
	done   chan error
}

func start(t require.TestingT, set Settings) *running {
	ctx, cancel := context.WithCancel(bg)
	o, err := Open(ctx, set)
	require.NoError(t, err)
	r := &running{o, cancel, make(chan error, 1)}
	go func() { r.done <- o.Run(ctx) }()
	return r
}

// stop ends the outbox at once, as a crash does.
func (r *running) stop(t require.TestingT) {
	r.cancel()
	require.NoError(t, <-r.done)
}

// commit makes a checkpoint of what was appended.
func commit(t require.TestingT, store *state.Store, outboxes ...interface{ cut() part }) {
	var d state.Delta
	var parts []part
	for _, o := range outboxes {
		p := o.cut()
		p.Contribute(&d)
		parts = append(parts, p)
	}
	_, err := store.Commit(bg, &d)
	require.NoError(t, err)
	for _, p := range parts {
		p.Committed()
	}
}

type part interface {
	Contribute(*state.Delta)
	Committed()
}

func (o *Outbox) cut() part  { return o.Cut() }
func (l *Letters) cut() part { return l.Cut() }

// drain waits until the sink has taken all that may be delivered, or the outbox has ended.
func (r *running) drain(t require.TestingT) {
	ctx, cancel := context.WithCancelCause(bg)
	ended := errors.New("the outbox has ended")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case err := <-r.done:
			r.done <- err
			cancel(errors.Join(ended, err))
		case <-stop:
		}
	})
	require.NoError(t, r.Drain(ctx))
	close(stop)
	wg.Wait()
	cancel(nil)
}

// recordNames is what the store holds but for its own records.
func recordNames(t testing.TB, store *state.Store) (names []string) {
	t.Helper()
	require.NoError(t, store.ScanMeta(nil, func(name, _ []byte) error {
		if !bytes.HasPrefix(name, keys.Name(nil).Text("commits")) {
			names = append(names, string(name))
		}
		return nil
	}))
	return names
}
