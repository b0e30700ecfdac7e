package procstat

import (
	"strconv"
	"sync"
	"time"
)

// every is how often the system is asked: a look costs some 50 us.
const every = 20 * time.Millisecond

// Watch looks at a process and its children. Use Watching, and Stop once.
type Watch struct {
	stop chan struct{}
	done sync.WaitGroup

	process  int64
	children map[string]int64 // by pid
}

// Watching begins to look at a process. It must be stopped.
func Watching(pid int) *Watch {
	w := &Watch{stop: make(chan struct{}), children: map[string]int64{}}
	w.done.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			w.look(strconv.Itoa(pid))
			select {
			case <-t.C:
			case <-w.stop:
				return
			}
		}
	})
	return w
}

func (w *Watch) look(pid string) {
	w.process = max(w.process, peak(pid))
	for queue := children(pid); len(queue) > 0; queue = queue[1:] {
		if bytes := peak(queue[0]); bytes > 0 {
			w.children[queue[0]] = max(w.children[queue[0]], bytes)
		}
		queue = append(queue, children(queue[0])...)
	}
}

// Stop ends the looking and returns the peaks, in bytes: that of the process, and the sum of its children's. The sum may be too high,
// since peaks come at different times.
func (w *Watch) Stop() (process, others int64) {
	close(w.stop)
	w.done.Wait()
	for _, bytes := range w.children {
		others += bytes
	}
	return w.process, others
}
