package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// opening bounds a call that opens an instance in a process: a factory that never returns is as hung as any other call.
func opening[T any](ctx context.Context, p *process, open func(ctx context.Context) (T, error)) (T, error) {
	limit := p.callTimeout()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	opened, err := open(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		var none T
		return none, p.unanswered(fmt.Sprintf("it has not opened within %s", limit), err)
	}
	return opened, err
}

// unanswered ends a process whose answer has not come in time, and says so.
func (p *process) unanswered(why string, err error) *Failure {
	p.hang(why)
	return p.failure(Hung, why, "", err)
}

// boundedCall gives a call to a sink its deadline, unless the caller has one. p is nil for a sink inside the daemon.
func (s *openSink) boundedCall(ctx context.Context, call func(ctx context.Context) error) error {
	if _, own := ctx.Deadline(); own {
		return call(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	err := call(bounded)
	var verdict *wire.SinkError
	if err == nil || s.process == nil || ctx.Err() != nil || !errors.Is(bounded.Err(), context.DeadlineExceeded) || errors.As(err, &verdict) {
		return err
	}
	return s.process.unanswered(fmt.Sprintf("it has not answered a call for %s", s.timeout), err)
}
