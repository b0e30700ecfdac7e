package host

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"sync"
)

// handshakeRule is go-plugin's line: its own version, the protocol's, network, address, and the kind of RPC.
var handshakeRule = regexp.MustCompile(`^(\d+)\|(\d+)\|(unix|tcp)\|[^|]+(\|.*)?$`)

// stdoutFilter reads a plugin's standard output to its end: the handshake goes to out, everything else to the log. It keeps the first lines
// before the handshake, for the message when none comes.
type stdoutFilter struct {
	out *io.PipeWriter
	log func(line string)
	// over is closed when the output has ended.
	over chan struct{}

	mu      sync.Mutex
	version string // of the protocol, once the handshake was there
	noise   []string
}

const (
	maxStdoutLine = 64 << 10
	keptNoise     = 3
	keptNoiseLine = 200
)

func (s *stdoutFilter) run(in io.Reader) {
	defer s.out.Close()
	defer close(s.over)
	lines := bufio.NewReaderSize(in, maxStdoutLine)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil // a piece of a line without end, or of binary output
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			s.line(text)
		}
		if err != nil {
			return
		}
	}
}

func (s *stdoutFilter) line(text []byte) {
	s.mu.Lock()
	m := handshakeRule.FindSubmatch(text)
	if m == nil || s.version != "" {
		if s.version == "" && len(s.noise) < keptNoise {
			s.noise = append(s.noise, string(text[:min(len(text), keptNoiseLine)]))
		}
		s.mu.Unlock()
		s.log(string(text))
		return
	}
	s.version = string(m[2])
	s.mu.Unlock()
	_, _ = s.out.Write(append(bytes.Clone(text), '\n')) // whoever listens may have given up
}

func (s *stdoutFilter) ended() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

func (s *stdoutFilter) seen() (version string, noise []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version, s.noise
}
