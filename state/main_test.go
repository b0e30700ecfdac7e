package state

import (
	"testing"

	"go.uber.org/goleak"
)

// A store that breaks is not closed: the database's locks may be held for ever, and nobody can say what closing would write. Nor does the
// database end everything it has begun when opening it fails. Tests that bring this about leave these goroutines, and a test that
// forgets to close its store would leave them, too; all others are ours.
func TestMain(m *testing.M) {
	const pebble = "github.com/cockroachdb/pebble/v2"
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction(pebble+".(*ConcurrencyLimitScheduler).periodicGranter"),
		goleak.IgnoreAnyFunction(pebble+".(*cleanupManager).mainLoop"),
		goleak.IgnoreAnyFunction(pebble+"/internal/genericcache.(*shard[...]).releaseLoop"),
		goleak.IgnoreAnyFunction(pebble+"/record.(*LogWriter).flushLoop"),
		goleak.IgnoreAnyFunction("github.com/tidemark-stream/tidemark/state.(*health).run.func1"), // it waits in the database
	)
}
