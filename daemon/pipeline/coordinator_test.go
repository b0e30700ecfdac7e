package pipeline

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/clock"
)

// A window fires in pieces, and the first piece asks for a commit. The pieces that come before the sink's barrier are in that commit and ask for
// no second one; those behind it do.
func TestResultsInACutAskForNoOther(t *testing.T) {
	for _, c := range []struct {
		name           string
		before, behind int // pieces between the request and the sink's barrier, and behind that
		memory         bool
		commits        int
	}{
		{"all are in it", 3, 0, false, 1},
		{"some come behind it", 3, 2, false, 2},
		{"memory is to be freed as well", 3, 0, true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				co := newCoordinator()
				co.clock, co.interval, co.parts = clock.System(), time.Hour, 1
				brought, passed := co.outbox()
				var commits atomic.Int64
				co.request = func(ctx context.Context, barrier uint64) error {
					if barrier == 1 {
						for range c.before {
							brought()
						}
						if c.memory {
							co.want()
						}
					}
					passed()
					if barrier == 1 {
						for range c.behind {
							brought()
						}
					}
					return co.contribute(ctx, barrier, nil)
				}
				co.commit = func(context.Context, *cut) error {
					commits.Add(1)
					return nil
				}
				done := make(chan error, 1)
				go func() { done <- co.run(ctx) }()
				brought()
				time.Sleep(time.Minute)
				synctest.Wait()
				require.EqualValues(t, c.commits, commits.Load())
				time.Sleep(time.Hour)
				synctest.Wait()
				require.EqualValues(t, c.commits+1, commits.Load(), "the usual one")
				cancel()
				require.NoError(t, <-done)
			})
		})
	}
}
