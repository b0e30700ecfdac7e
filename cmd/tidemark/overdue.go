package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stopGrace is what a pipeline may take beyond its stop timeout to take its parts down.
const stopGrace = 2 * time.Second

// errOverdue ends a program that does not come to its end. It has been told already: standard output may be what is stuck.
var errOverdue = errors.New("the stop took too long")

// inTime runs f. When ctx is done f has limit, and a little more, to come to its end. A write to a pipe that nobody reads, or to a disk that
// does not answer, cannot be called back; then inTime gives up waiting, says so, and the process ends with f still at work. What was
// committed stands.
func (a *app) inTime(ctx context.Context, limit time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(limit + stopGrace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		fmt.Fprintf(a.stderr, "tidemark: the stop took longer than %s: something that is written to does not take it; the program ends at the last commit\n", limit)
		return &exitError{code: exitFailed, err: errOverdue, silent: true}
	}
}
