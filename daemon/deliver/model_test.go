package deliver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/state"
	"github.com/tidemark-stream/tidemark/state/deadletter"
)

// world is a pipeline that copies the rows "1", "2", "3" … to a sink, and everything around it. Every seventh row is poison to the sink,
// and every fifth never reaches it: it goes to the dead letters by itself.
type world struct {
	t       *rapid.T
	exactly bool
	more    int // connections to the sink beside the first
	rng     *rand.Rand
	sink    *fakeSink

	disk    *vfs.MemFS
	store   *state.Store
	letters *deadletter.Store
	cancel  context.CancelFunc
	out     *running
	dead    *Letters
	deadRun chan error
	read    int // rows read from the source
	most    int // the same, before any crash
}

func (w *world) open() {
	t := w.t
	w.sink.cut = false
	w.store = openStore(t, w.disk)
	var err error
	w.letters, err = deadletter.Open("letters", deadletter.Options{FS: w.disk})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(bg)
	w.cancel = cancel
	clk := newHasty()
	w.dead, err = OpenLetters(ctx, LettersSettings{Store: w.store, Letters: w.letters, Clock: clk})
	require.NoError(t, err)
	w.deadRun = make(chan error, 1)
	go func(l *Letters, done chan error) { done <- l.Run(ctx) }(w.dead, w.deadRun)
	set := settings(w.store, w.sink)
	set.ExactlyOnce, set.BatchRows, set.Memory = w.exactly, 3, 200
	for range w.more {
		set.More = append(set.More, w.sink)
	}
	set.Refused = func(ctx context.Context, b *batch.Batch, first uint64, bad []batch.BadRow) error {
		texts := rowsOf(b)
		for _, x := range bad {
			l := deadletter.Letter{Code: x.Code, Message: x.Message, Component: "out", Raw: []byte(texts[x.Row])}
			if err := w.dead.Refuse(ctx, "out", first+uint64(x.Row), w.exactly, l); err != nil {
				return err
			}
		}
		return nil
	}
	w.out = start(t, set)
	w.read = 0
	position, err := w.store.Meta([]byte("position"))
	require.NoError(t, err)
	if position != nil {
		w.read, err = strconv.Atoi(string(position))
		require.NoError(t, err)
	}
}

func row(n int) string {
	if n%7 == 0 {
		return fmt.Sprint(n, " poison")
	}
	return fmt.Sprint(n)
}

func (w *world) append(n int) {
	w.most = max(w.most, w.read+n)
	for n > 0 {
		k := min(n, 1+w.rng.IntN(4))
		var rows []string
		var letters []deadletter.Letter
		for range k {
			w.read++
			if w.read%5 == 0 {
				letters = append(letters, deadletter.Letter{Code: "malformed", Component: "in", Raw: []byte(row(w.read))})
			} else {
				rows = append(rows, row(w.read))
			}
		}
		if len(rows) > 0 {
			require.NoError(w.t, w.out.Append(text(rows...)))
		}
		if len(letters) > 0 {
			require.NoError(w.t, w.dead.Put(letters))
		}
		n -= k
	}
}

func (w *world) commit() {
	var d state.Delta
	p, l := w.out.Cut(), w.dead.Cut()
	d.Put([]byte("position"), []byte(strconv.Itoa(w.read)))
	p.Contribute(&d)
	l.Contribute(&d)
	_, err := w.store.Commit(bg, &d)
	require.NoError(w.t, err)
	p.Committed()
	l.Committed()
}

// kill ends everything where it is; the disk keeps what was synced and some of the rest.
func (w *world) kill(percent int) {
	w.sink.mu.Lock() // what comes after the crash must not reach the sink
	w.sink.cut = true
	after := w.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(w.rng.Uint64(), 42))})
	w.sink.mu.Unlock()
	w.cancel()
	w.out.cancel()
	<-w.out.done
	<-w.deadRun
	_ = w.letters.Close()
	_ = w.store.Close()
	w.disk = after
}

func (w *world) finish() {
	w.append(w.most - w.read) // what was read before the last crash comes again
	for range 2 {             // refusals of the first round are letters of the second
		w.commit()
		w.out.drain(w.t)
		require.NoError(w.t, w.dead.Drain(bg))
	}
	w.commit()
	require.NoError(w.t, w.dead.Drain(bg))
}

func (w *world) lettersBy(component string) []string {
	out := []string{}
	require.NoError(w.t, deadletter.Read(w.disk, "letters", deadletter.Filter{Components: []string{component}}, func(l deadletter.Letter) error {
		out = append(out, string(l.Raw))
		return nil
	}))
	return out
}

// TestModel crashes a pipeline at any moment and compares the sink and the dead letters with what an undisturbed one would have written
// (I3, D1, D2). `go test ./daemon/deliver -run TestModel -rapid.checks=10000` takes it further.
func TestModel(t *testing.T) {
	for name, kind := range map[string]struct {
		exactly, books bool
		more           int
	}{
		"exactly once, transactional sink":                           {exactly: true, books: true},
		"exactly once, idempotent sink":                              {exactly: true},
		"exactly once, idempotent sink, deliveries at the same time": {exactly: true, more: 3},
		"at least once":                  {},
		"at least once, sink with books": {books: true},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := &world{
					t: t, exactly: kind.exactly, more: kind.more, sink: newFake(kind.books), disk: vfs.NewCrashableMem(),
					rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 42)),
				}
				w.sink.poison, w.sink.block = "poison", rapid.Bool().Draw(t, "sink refuses whole deliveries")
				w.sink.late = rapid.Bool().Draw(t, "sink fails after taking")
				w.open()
				t.Repeat(map[string]func(*rapid.T){
					"append": func(t *rapid.T) { w.append(rapid.IntRange(1, 12).Draw(t, "rows")) },
					"commit": func(t *rapid.T) { w.commit() },
					"fail": func(t *rapid.T) {
						w.sink.mu.Lock()
						defer w.sink.mu.Unlock()
						for range rapid.IntRange(1, 3).Draw(t, "times") {
							w.sink.script = append(w.sink.script, errAway)
						}
					},
					"drain": func(t *rapid.T) { w.out.drain(t) },
					"kill": func(t *rapid.T) {
						w.kill(rapid.SampledFrom([]int{0, 50, 100}).Draw(t, "survives"))
						w.open()
					},
				})
				w.finish()
				w.check(kind.exactly, kind.books, w.read)
				w.kill(100)
			})
		})
	}
}

func (w *world) check(exactly, books bool, all int) {
	t := w.t
	good, poison, malformed := []string{}, []string{}, []string{}
	for n := 1; n <= all; n++ {
		switch {
		case n%5 == 0:
			malformed = append(malformed, row(n))
		case n%7 == 0:
			poison = append(poison, row(n))
		default:
			good = append(good, row(n))
		}
	}
	require.Equal(t, malformed, w.lettersBy("in"), "dead letters come exactly once whatever the sink")
	taken := w.sink.taken()
	switch {
	case exactly && books:
		require.Equal(t, good, taken)
	case exactly:
		// A row may come again, but under its number, and with the same content.
		for i, n := range w.sink.order {
			require.Equal(t, w.sink.rows[n], taken[i])
		}
		numbers := make([]uint64, 0, len(w.sink.rows))
		for n := range w.sink.rows {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		rows := []string{}
		for _, n := range numbers {
			rows = append(rows, w.sink.rows[n])
		}
		require.Equal(t, good, rows)
	default:
		require.Equal(t, good, firsts(taken), "each row at least once, and in order")
	}
	refused := w.lettersBy("out")
	switch {
	case books && !w.sink.block:
		// The sink counts a refused row as done before anybody could write its letter down.
		require.Subset(t, poison, refused)
	case exactly && books:
		require.Equal(t, poison, refused)
	case w.more > 0:
		require.ElementsMatch(t, poison, firsts(refused))
	default:
		require.Equal(t, poison, firsts(refused))
	}
}

// firsts is the rows in the order in which they came for the first time.
func firsts(rows []string) []string {
	out := []string{}
	seen := map[string]bool{}
	for _, r := range rows {
		if !seen[r] {
			seen[r] = true
			out = append(out, r)
		}
	}
	return out
}
