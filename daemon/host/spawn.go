package host

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts processes from one OS thread that lives as long as itself. Linux sends the parent-death signal when the *thread* that
// started a process ends, and Go ends threads as it likes.
type spawner struct {
	calls chan spawn
	done  chan struct{}
	once  sync.Once
}

type spawn struct {
	cmd    *exec.Cmd
	result chan<- error
}

func newSpawner() *spawner {
	s := &spawner{calls: make(chan spawn), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	runtime.LockOSThread() // and never unlock: the thread ends with this goroutine
	defer close(s.done)
	for c := range s.calls {
		c.result <- c.cmd.Start()
	}
}

// start is cmd.Start.
func (s *spawner) start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	s.calls <- spawn{cmd, result}
	return <-result
}

// close ends the thread. Processes that still run are killed by the kernel, so all have ended before.
func (s *spawner) close() {
	s.once.Do(func() {
		close(s.calls)
		<-s.done
	})
}
