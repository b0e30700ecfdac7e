package procstat

import (
	"strconv"
	"sync"
	"time"
)

// every is how often the system is asked: a look costs some 50 us. Only each togetherEvery-th look adds up what is shared: for that the system goes
// through all pages of all processes, which takes milliseconds where there is much memory.
const (
	every         = 20 * time.Millisecond
	togetherEvery = 12
)

// Watch looks at a process and its children. Use Watching, and Stop once.
type Watch struct {
	stop chan struct{}
	done sync.WaitGroup

	process  int64
	children map[string]int64 // by pid
	together int64
	looks    int
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
	sum := w.looks%togetherEvery == 0
	w.looks++
	together := int64(0)
	if sum {
		together = proportional(pid)
	}
	for queue := children(pid); len(queue) > 0; queue = queue[1:] {
		if bytes := peak(queue[0]); bytes > 0 {
			w.children[queue[0]] = max(w.children[queue[0]], bytes)
		}
		if sum {
			together += proportional(queue[0])
		}
		queue = append(queue, children(queue[0])...)
	}
	w.together = max(w.together, together)
}

// Peaks are bytes of resident memory; 0: not known.
type Peaks struct {
	Process int64 // the highest that the process has had
	// Others is the sum of its children's highest. It is too high where they share pages, as processes of one program do, and since peaks come at
	// different times.
	Others int64
	// Together is the highest that was seen of all of them at one time, where each page counts once: a shared one is divided among those that have
	// it, also those that are not looked at. It is looked at four times a second, so a short peak can be missed.
	Together int64
}

// Stop ends the looking.
func (w *Watch) Stop() Peaks {
	close(w.stop)
	w.done.Wait()
	p := Peaks{Process: w.process, Together: w.together}
	for _, bytes := range w.children {
		p.Others += bytes
	}
	return p
}
