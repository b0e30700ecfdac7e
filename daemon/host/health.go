package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/clock"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// ping asks the process for its health.
func (p *process) ping(ctx context.Context) error {
	_, err := grpc_health_v1.NewHealthClient(p.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: wire.HealthService})
	return err
}

// watchHealth asks again and again, and kills a process that is silent for too long: as a whole, or about one call.
func (p *process) watchHealth() {
	t := p.host.clock.NewTicker(p.host.healthInterval)
	defer t.Stop()
	for {
		select {
		case <-p.over:
			return
		case <-p.runner.exited:
			return
		case <-t.C():
		}
		if d := p.callTimeout(); p.calls.overdue(d) {
			p.hang(fmt.Sprintf("it has not answered a call for %s", d))
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), p.host.healthTimeout)
		err := p.ping(ctx)
		cancel()
		if status.Code(err) == codes.DeadlineExceeded {
			p.hang(fmt.Sprintf("it has not answered a health check for %s", p.host.healthTimeout))
			return
		}
	}
}

func (p *process) callTimeout() time.Duration {
	if p.policy != nil && p.policy.CallTimeout > 0 {
		return p.policy.CallTimeout
	}
	return p.host.callTimeout
}

// callWatch knows since when an answer is due. An answer is due while a call is unanswered and somebody waits for it: with nobody
// waiting, the plugin may have answered long ago.
type callWatch struct {
	clock clock.Clock

	mu       sync.Mutex
	open     int       // calls without an answer
	waiting  bool      // somebody is in Recv
	dueSince time.Time // since both are true, or since the last answer
}

func (w *callWatch) asked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open++; w.open == 1 {
		w.dueSince = w.clock.Now()
	}
}

func (w *callWatch) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting, w.dueSince = true, w.clock.Now()
}

func (w *callWatch) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = false
	w.open = max(w.open-1, 0)
}

func (w *callWatch) overdue(limit time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open > 0 && w.waiting && w.clock.Since(w.dueSince) > limit
}
