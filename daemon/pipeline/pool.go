package pipeline

import (
	"context"
	"fmt"
	"runtime/debug"
)

// pool is the pipeline's workers for what can be done to a batch without knowing the one before it: decoding, stateless
// transforms, keys, formatting. Whoever submits keeps the items in a queue of its own and waits for each in turn, so the
// order of a stream survives. A job must not wait for another job or for a queue.
type pool struct {
	jobs    chan job
	workers int
}

type job struct {
	run  func(worker int)
	done chan<- struct{} // gets one token; has room for it
}

func newPool(workers int) *pool {
	return &pool{jobs: make(chan job, workers), workers: workers}
}

// run is one worker's goroutine. worker numbers what the jobs keep for each worker (decoders, scratch memory).
func (p *pool) run(ctx context.Context, worker int) error {
	for {
		select {
		case j := <-p.jobs:
			if err := p.do(j, worker); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *pool) do(j job, worker int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in a worker: %v\n%s", v, debug.Stack())
		}
	}()
	j.run(worker)
	j.done <- struct{}{}
	return nil
}

// submit hands a job to the next free worker.
func (p *pool) submit(ctx context.Context, run func(worker int), done chan<- struct{}) error {
	select {
	case p.jobs <- job{run, done}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
