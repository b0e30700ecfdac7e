package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/failpoint"
	"github.com/tidemark-stream/tidemark/plugins/sink/postgres/pgtest"
)

// number is a number from the environment.
func number(t *testing.T, name string, otherwise int64) int64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// TestCrash kills the program, and sometimes a plugin of it, at random moments until it has been done often enough, lets it finish, and
// compares all that it has written with what a run without any of that has written (I1, I2, I3). Between two lives the number of
// processors changes, and with it the number of shards, and so does the memory for windows: in some lives they are all on disk.
func TestCrash(t *testing.T) {
	kills := int(number(t, "CRASH_KILLS", 50))
	if testing.Short() {
		kills = 10
	}
	seed := number(t, "CRASH_SEED", time.Now().UnixNano()%1_000_000)
	repeat := fmt.Sprintf("to repeat: CRASH_SEED=%d CRASH_KILLS=%d go test ./cmd/tidemark -run '^TestCrash$'", seed, kills)
	t.Log(repeat)
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	db := pgtest.Start(t)
	records := crashRecords(rng, 2000+40*kills)

	calm := newCrashRig(t, db, "calm", records)
	calm.finish()
	want := calm.results()
	for place, text := range want {
		require.Greater(t, len(text), 2000, "%s is too small to prove anything", place)
	}

	r := newCrashRig(t, db, "stormy", records)
	var p *program
	daemons, plugins, stops, moved := 0, 0, 0, 0
	const shortLife = 250 * time.Millisecond
	written, life := int64(0), shortLife
	for n := range kills {
		r.feed(r.left / (kills - n + 1))
		if p == nil || p.ended() {
			// A plugin that dies while the pipeline files are read is a mistake in them, for all that anybody can know.
			if p != nil && !(p.code == exitConfig && strings.Contains(p.err.String(), "signal: killed")) {
				t.Fatalf("the program has ended by itself: exit code %d\n%s\n%s", p.code, brief(p.err.String()), repeat)
			}
			r.memory = []string{"", "64KiB"}[rng.IntN(2)]
			r.pipelines(true)
			p = r.life(fmt.Sprint("GOMAXPROCS=", 1+rng.IntN(4)))
		}
		shortly(rng, life)
		// On a slow machine a life that is too short for any result says little: they grow until there are some.
		if now := r.written(); now > written {
			written, life = now, max(life*9/10, shortLife)
			moved++
		} else {
			life = min(life*11/10, 20*shortLife)
		}
		switch k := rng.IntN(20); {
		case k < 5:
			p.killOne(rng)
			plugins++
		case k == 5:
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			shortly(rng, 50*time.Millisecond)
			p.kill()
			p = nil
			stops++
		default:
			p.kill()
			p = nil
			daemons++
		}
	}
	if p != nil {
		p.kill()
	}
	r.finish()
	t.Logf("killed %d times: %d times the program, %d times a plugin, %d times while it stopped; new results before %d of them", kills, daemons, plugins, stops, moved)
	require.Greater(t, moved, kills/10, "it was killed before it did anything: the machine is too slow for this test\n%s", repeat)
	r.sameAs(want, repeat)
}

// TestFailpoints ends the program at each named place, early and late in its life, and again while it recovers.
func TestFailpoints(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program once more")
	}
	program, err := fragile()
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(5, 5))
	db := pgtest.Start(t)
	records := crashRecords(rng, 1500)
	calm := newCrashRig(t, db, "calm", records)
	calm.finish()
	want := calm.results()

	for i, place := range failpoint.All() {
		switch place {
		case failpoint.JournalAppended, failpoint.JournalRotate, failpoint.JournalTruncated: // TestJournalCrash
			continue
		case failpoint.DeliverAhead, failpoint.CommitTable: // no sink here takes rows ahead of their commit, and no commit is large enough
			continue
		}
		t.Run(place, func(t *testing.T) {
			r := newCrashRig(t, db, fmt.Sprint("place", i), records)
			r.program = program
			hits := []int{1, 2, 7}
			if strings.HasPrefix(place, "commit.") {
				hits = []int{1, 2, 2} // once a commit, and there is none while nothing moves
			}
			for _, hit := range hits {
				r.feed(len(records) / 4)
				p := r.life(fmt.Sprint(failpoint.Variable, "=", place, ":", hit))
				if hit > 2 && (place == failpoint.RecoverOpened || place == failpoint.RecoverRestored) {
					shortly(rng, 100*time.Millisecond) // two pipelines recover once each
					p.kill()
					continue
				}
				r.until("it ends at "+place, p.ended)
				require.Equal(t, -1, p.code, "killed: %s", p.err.String())
			}
			r.finish()
			r.sameAs(want, "at "+place)
		})
	}
}
