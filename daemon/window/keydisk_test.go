package window

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"pgregory.net/rapid"
)

// keyedEngine keeps keys in the store.
var keyedEngine = engine{
	name: "keyed",
	can:  func(s Spec, _ *aggregate.Layout) bool { return isKeyed(&s) },
	make: func(s Spec, l *aggregate.Layout, e Env, o *Output) Operator { return keyed{newGeneral(s, l, e, o)} },
}

func drawKeyedSpec(t *rapid.T) Spec {
	return rapid.Custom(drawSpec).Filter(func(s Spec) bool { return isKeyed(&s) }).Draw(t, "spec")
}

// TestMemoryDoesNotShowInSessions is TestMemoryDoesNotShow for windows that are each key's own: keys go to the disk at any snapshot, come back when a row
// or their time comes, and the process dies at any moment.
func TestMemoryDoesNotShowInSessions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]int64{0, 0, 0, -1000, math.MaxInt64 - 60, math.MinInt64 + 30}).Draw(t, "base")
		playShortOfMemory(t, generalEngine, keyedEngine, drawKeyedSpec(t), rapid.Bool().Draw(t, "meta"), base, drawAggregates(t))
	})
}

// drawRows are rows around a watermark.
func drawRows(t *rapid.T, watermark int64) (rows []testRow) {
	for range rapid.IntRange(1, 12).Draw(t, "rows") {
		rows = append(rows, testRow{
			key:   rapid.SampledFrom(spillKeys).Draw(t, "key"),
			value: rapid.Int64Range(0, 9).Draw(t, "value"),
			ts:    rapid.Int64Range(watermark-15, watermark+30).Draw(t, "ts"),
			gap:   rapid.Int64Range(-1, 8).Draw(t, "gap"),
		})
	}
	return rows
}

// TestWhatWasStoredOtherwiseIsTakenOver: state that was written window by window, before keys were kept in the store, and state whose index was made
// with another lateness, go on as they would in memory.
func TestWhatWasStoredOtherwiseIsTakenOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawKeyedSpec(t)
		a := newRig(t, generalEngine, spec, true, 1, countAndSum...)
		b := newRig(t, generalEngine, spec, true, rapid.IntRange(1, 3).Draw(t, "shards"), countAndSum...)
		keep := func() {
			b.engine = keyedEngine
			b.disk = &rigDisk{share: rapid.SampledFrom([]int64{1, 1, 20_000}).Draw(t, "share"), shrinks: func() bool { return rapid.Bool().Draw(t, "memory is short") }}
		}
		if rapid.Bool().Draw(t, "kept by key from the beginning") {
			keep()
			b.start(2)
		}
		watermark := int64(-20)
		play := func() {
			for range rapid.IntRange(1, 10).Draw(t, "steps") {
				switch rapid.IntRange(0, 4).Draw(t, "step") {
				case 0, 1:
					rows := drawRows(t, watermark)
					require.Equal(t, lines(a.process(rows...)), lines(b.process(rows...)))
					require.Equal(t, append([]testRow{}, a.late...), append([]testRow{}, b.late...))
				case 2, 3:
					watermark += rapid.Int64Range(1, 20).Draw(t, "further")
					require.Equal(t, lines(a.advance(watermark)), lines(b.advance(watermark)))
				case 4:
					b.checkpoint()
				}
			}
		}
		play()
		b.checkpoint()
		if b.disk != nil {
			b.disk.settle()
		}
		if spec.Lateness > 0 && rapid.Bool().Draw(t, "another lateness") {
			a.spec.Lateness = rapid.Int64Range(0, 20).Draw(t, "lateness")
			a.spec.LateEvery = 0
			b.spec = a.spec
			a.restart(1)
		}
		keep()
		b.start(rapid.IntRange(1, 3).Draw(t, "shards"))
		for _, op := range b.ops {
			if b.watermark != math.MinInt64 {
				op.RestoreWatermark(b.watermark)
			}
		}
		if rapid.Bool().Draw(t, "a checkpoint at once") {
			b.checkpoint()
		}
		play()
		require.Equal(t, lines(a.advance(math.MaxInt64)), lines(b.advance(math.MaxInt64)))
	})
}

// TestRecoveryReadsNoKeyAheadOfNeed: an operator that starts looks at no key, and then at those that rows come for or that are due.
func TestRecoveryReadsNoKeyAheadOfNeed(t *testing.T) {
	r := newRig(t, keyedEngine, Spec{Type: Session, Gap: 100}, false, 1, countAndSum...)
	r.disk = &rigDisk{share: 1, shrinks: func() bool { return false }}
	r.start(1)
	for i := range 500 {
		r.process(testRow{key: fmt.Sprint("user", i), ts: int64(i)})
	}
	r.checkpoint()
	r.disk.settle()
	r.disk.reads, r.disk.visited = 0, 0
	r.start(1)
	r.ops[0].RestoreWatermark(0)
	require.LessOrEqual(t, r.disk.visited, 2, "the settings, and whether there is anything")
	require.Zero(t, r.ops[0].Live())

	r.disk.reads, r.disk.visited = 0, 0
	r.process(testRow{key: "user7", ts: 50, value: 3})
	require.Equal(t, 1, r.disk.reads)
	require.Equal(t, 1, r.ops[0].Live())

	require.Len(t, r.advance(103), 5, "users 0 to 4")
	require.LessOrEqual(t, r.ops[0].Live(), 5, "the one that a row came for, and what is due soon")
	rest := lines(r.advance(149))
	require.Len(t, rest, 46, "users 5 to 50")
	require.ElementsMatch(t, []string{"0: user50 [50,150) 1 0 ts=149", "0: user7 [7,150) 2 3 ts=149"}, rest[44:])
}

// TestSessionsStayWithinTheirShare: whatever the number of keys, after each checkpoint no more are in memory than there is room for.
func TestSessionsStayWithinTheirShare(t *testing.T) {
	const share = 256 << 10
	r := newRig(t, keyedEngine, Spec{Type: Session, Gap: 1_000_000}, false, 1, countAndSum...)
	short := false
	r.disk = &rigDisk{share: share, shrinks: func() bool { return short }}
	r.start(1)
	op := r.ops[0].(Spiller)
	for i := range 40 {
		var rows []testRow
		for k := range 1000 {
			rows = append(rows, testRow{key: fmt.Sprint("user", i*1000+k), ts: int64(i)}, testRow{key: fmt.Sprint("user", (i*1000+k*7)%40_000), ts: int64(i)})
		}
		r.process(rows...)
		short = op.Held() > share
		r.checkpoint()
		require.LessOrEqual(t, op.Held(), int64(share))
	}
	require.Len(t, r.advance(2_000_000), 40_000)
}

// TestKeysThatHaveGoneAreNotAskedFor: between a session's end and the commit that removes it the store still has it, and must not be believed.
func TestKeysThatHaveGoneAreNotAskedFor(t *testing.T) {
	r := newRig(t, keyedEngine, Spec{Type: Session, Gap: 10}, false, 1, countAndSum...)
	r.disk = &rigDisk{share: 1, shrinks: func() bool { return true }}
	r.start(1)
	r.process(testRow{key: "a", ts: 1}, testRow{key: "b", ts: 100})
	r.checkpoint()
	r.disk.settle()
	require.Len(t, r.advance(20), 1)
	r.checkpoint() // removes a, and is not committed yet
	require.Empty(t, r.process(testRow{key: "a", ts: 25}))
	require.Equal(t, []string{"0: a [25,35) 1 0 ts=34"}, lines(r.advance(40)))
	r.checkpoint()
	r.checkpoint()
	r.disk.settle()
	require.Len(t, r.advance(200), 1)
}

// TestDamagedKeysEndTheOperator: a value that is not what was written is told, and nothing is emitted of it.
func TestDamagedKeysEndTheOperator(t *testing.T) {
	spec := Spec{Type: Session, Gap: 10, Lateness: 100, Mode: Retracting}
	stored := newRig(t, keyedEngine, spec, false, 1, countAndSum...)
	stored.disk = &rigDisk{share: 1, shrinks: func() bool { return false }}
	stored.start(1)
	stored.process(testRow{key: "a", ts: 1})
	stored.checkpoint()
	stored.disk.settle()
	for place, value := range stored.store {
		if place.time != keyTime {
			continue
		}
		damage := func(what string, place storedPlace, value []byte) {
			t.Run(what, func(t *testing.T) {
				r := newRig(t, keyedEngine, spec, false, 1, countAndSum...)
				r.disk = &rigDisk{share: 1 << 20, shrinks: func() bool { return false }}
				for p, v := range stored.store {
					if p.time != keyTime {
						r.store[p] = v
					}
				}
				r.store[place] = value
				g := keyed{newGeneral(spec, r.layout, r.env, &Output{})}
				require.Error(t, g.Attach(rigShard{r, 0, math.MaxUint64}, 1<<20))
			})
		}
		for n := range value {
			damage(fmt.Sprintf("%d of %d bytes", n, len(value)), place, value[:n])
		}
		damage("a byte more", place, append(value[:len(value):len(value)], 0))
		damage("a newer version", place, append([]byte{99}, value[1:]...))
		damage("another hash", storedPlace{place.time, place.hash + 1, place.key}, value)
		damage("no key", storedPlace{place.time, place.hash, ""}, value)
	}
	r := newRig(t, keyedEngine, spec, false, 1, countAndSum...)
	r.disk = &rigDisk{share: 1, shrinks: func() bool { return false }}
	for p, v := range stored.store {
		r.store[p] = v
	}
	r.start(1)
	r.process(testRow{key: "b", ts: 200})
	require.NoError(t, r.ops[0].(Spiller).Err())
	for p := range r.store {
		if p.time == keyTime {
			delete(r.store, p)
		}
	}
	require.Empty(t, r.advance(50))
	require.ErrorIs(t, r.ops[0].(Spiller).Err(), errIndex)
}
