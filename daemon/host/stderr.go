package host

import (
	"io"
	"strings"
	"sync"
)

// stderrTail passes a plugin's standard error on and remembers its last lines, for the message when it dies.
type stderrTail struct {
	in   io.ReadCloser
	over chan struct{} // closed when the output has ended
	once sync.Once

	mu    sync.Mutex
	last  []string
	panic string // the message of a panic
	open  string // the line that has not ended yet
}

const (
	keptLines     = 12
	keptLineBytes = 300
)

func (s *stderrTail) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	s.note(string(p[:n]))
	if err != nil {
		s.once.Do(func() { close(s.over) })
	}
	return n, err
}

func (s *stderrTail) Close() error { return s.in.Close() }

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
			if s.panic == "" && (strings.HasPrefix(s.open, "panic: ") || strings.HasPrefix(s.open, "fatal error: ")) {
				s.panic = s.open
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
		return []string{s.panic}
	}
	return append([]string(nil), s.last[max(0, len(s.last)-3):]...)
}
