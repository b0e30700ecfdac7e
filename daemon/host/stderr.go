package host

import (
	"io"
	"strings"
	"sync"
)

// stderrTail reads a plugin's standard error to its end: into the log, and it remembers the last lines, for the message when it dies.
//
// NB: go-plugin would read it, too. It takes what is in the lines for what it should be, and a text where it expects none ends the daemon.
type stderrTail struct {
	log  *pluginLog
	over chan struct{} // closed when the output has ended

	mu    sync.Mutex
	last  []string
	panic string // the message of a panic
	place string // where it was
	open  string // the line that has not ended yet
}

const (
	keptLines     = 12
	keptLineBytes = 300
)

func (s *stderrTail) run(in io.Reader) {
	defer close(s.over)
	lines := &lineSplitter{line: s.log.line}
	buffer := make([]byte, 16<<10)
	for {
		n, err := in.Read(buffer)
		s.note(string(buffer[:n]))
		_, _ = lines.Write(buffer[:n])
		if err != nil {
			lines.end()
			return
		}
	}
}

func (s *stderrTail) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		line, rest, whole := strings.Cut(text, "\n")
		if s.open += line; len(s.open) > keptLineBytes {
			s.open = s.open[:keptLineBytes]
		}
		if !whole {
			return
		}
		if strings.TrimSpace(s.open) != "" && !strings.HasPrefix(s.open, `{"@level"`) { // log lines are in the log
			switch {
			case s.panic == "" && beginsPanic(s.open):
				s.panic = s.open
			case s.panic != "" && s.place == "":
				s.place = placeIn(s.open)
			}
			s.last = append(s.last, s.open)
			if len(s.last) > keptLines {
				s.last = s.last[:copy(s.last, s.last[1:])]
			}
		}
		s.open, text = "", rest
	}
}

// lines are the words worth showing: the message of a panic, or else the last lines.
func (s *stderrTail) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panic != "" {
		return []string{s.panic + s.place}
	}
	return append([]string(nil), s.last[max(0, len(s.last)-3):]...)
}

// placeIn is the place that a line of a stack trace names, with its function's file and line alone; "" for lines that name none, or one in Go's
// own runtime.
func placeIn(line string) string {
	path, found := strings.CutPrefix(line, "\t")
	at := strings.Index(path, ".go:")
	if !found || at < 0 || strings.HasPrefix(path, "runtime/") || strings.Contains(path, "/src/runtime/") {
		return ""
	}
	path, _, _ = strings.Cut(path, " ")
	return ", at " + path[strings.LastIndexByte(path, '/')+1:]
}
