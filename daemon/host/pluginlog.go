package host

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/hashicorp/go-hclog"
	"github.com/tidemark-stream/tidemark/daemon/clock"
)

// How much a process may say: a burst, and so many lines a second in the long run. Beyond it lines are left out and counted, so that a plugin
// that logs every record fills neither the disk nor the operator's day.
const (
	logBurst     = 500
	logPerSecond = 50
	logTold      = 10 * time.Second // between two words about that
)

// pluginLog puts what a process writes into the daemon's log: lines of JSON as log lines of their own, everything else as it is. What the
// lines hold is anybody's: nothing in them may do more than be odd.
type pluginLog struct {
	log   hclog.Logger      // says whose line it is
	known map[string]string // the keys by which it does
	clock clock.Clock

	mu      sync.Mutex
	panics  bool // a Go program writes down where its goroutines are
	left    float64
	since   time.Time
	told    time.Time // when it was said that lines are left out
	dropped int
}

func newPluginLog(log hclog.Logger, known map[string]string, c clock.Clock) *pluginLog {
	return &pluginLog{log: log, known: known, clock: c, left: logBurst, since: c.Now()}
}

// printed is a line on standard output.
func (l *pluginLog) printed(line string) {
	l.write(hclog.Info, "the plugin has printed a line", "line", line)
}

// line is a line on standard error.
func (l *pluginLog) line(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	if strings.HasPrefix(line, "{") {
		if level, message, values, err := l.parse(line); err == nil {
			l.write(level, message, values...)
			return
		}
	}
	l.mu.Lock()
	l.panics = l.panics || beginsPanic(line)
	level := hclog.Info
	if l.panics { // the failure says what the panic said, and where; the rest of it is for whoever looks for it
		level = hclog.Debug
	}
	l.mu.Unlock()
	for prefix, of := range map[string]hclog.Level{"[ERROR]": hclog.Error, "[WARN]": hclog.Warn, "[DEBUG]": hclog.Debug, "[TRACE]": hclog.Trace} {
		if strings.HasPrefix(line, prefix) {
			level = of
		}
	}
	l.write(level, "the plugin has printed a line", "line", line)
}

func beginsPanic(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

// parse reads a line in the form of hclog: an object with @message, perhaps @level, and values. Keys that the daemon's own log has are left out
// when they say the same; a plugin that means something else by them is heard, and not mistaken for another one.
func (l *pluginLog) parse(line string) (level hclog.Level, message string, values []any, err error) {
	d := json.NewDecoder(strings.NewReader(line))
	if _, err = d.Token(); err != nil {
		return 0, "", nil, err
	}
	level, found := hclog.Info, false
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return 0, "", nil, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return 0, "", nil, err
		}
		key, value := name.(string), logValue(raw)
		switch {
		case key == "@message":
			message, found = value, true
		case key == "@level":
			if named := hclog.LevelFromString(value); named != hclog.NoLevel && named != hclog.Off {
				level = named
			}
		case strings.HasPrefix(key, "@"): // its clock, and where it is in its code
		case l.known[key] == "":
			values = append(values, key, value)
		case l.known[key] != value:
			values = append(values, "plugin."+key, value)
		}
	}
	if _, err = d.Token(); err != nil {
		return 0, "", nil, err
	}
	if _, err := d.Token(); !found || !errors.Is(err, io.EOF) {
		return 0, "", nil, errors.New("no line of a log")
	}
	if strings.ContainsFunc(message, unicode.IsControl) { // one line is one line, whatever its author would like it to look like
		message = strconv.Quote(message)
	}
	return level, message, values, nil
}

// logValue is a JSON value as people read it.
func logValue(raw json.RawMessage) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (l *pluginLog) write(level hclog.Level, message string, values ...any) {
	if level < l.log.GetLevel() {
		return
	}
	ok, out := l.allowed()
	if out > 0 {
		l.log.Warn("the plugin writes more than a log can take", "lines_left_out", out)
	}
	if ok {
		l.log.Log(level, message, values...)
	}
}

// allowed says whether there is room for a line, and from time to time how many were left out.
func (l *pluginLog) allowed() (ok bool, out int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.left = min(l.left+now.Sub(l.since).Seconds()*logPerSecond, logBurst)
	l.since = now
	if ok = l.left >= 1; ok {
		l.left--
	} else {
		l.dropped++
	}
	if l.dropped > 0 && now.Sub(l.told) >= logTold {
		out, l.dropped, l.told = l.dropped, 0, now
	}
	return ok, out
}

// end tells what was left out and not yet told.
func (l *pluginLog) end() {
	l.mu.Lock()
	dropped := l.dropped
	l.dropped = 0
	l.mu.Unlock()
	if dropped > 0 {
		l.log.Warn("the plugin has written more than a log can take", "lines_left_out", dropped)
	}
}

// lineSplitter gives what is written to it line by line; what is too long for a line comes in pieces.
type lineSplitter struct {
	line func(string)
	open string
}

func (l *lineSplitter) Write(p []byte) (int, error) {
	text := l.open + string(p)
	for {
		line, rest, whole := strings.Cut(text, "\n")
		for len(line) > maxLogLine {
			l.line(line[:maxLogLine])
			line = line[maxLogLine:]
		}
		if !whole {
			l.open = line
			return len(p), nil
		}
		if line != "" {
			l.line(line)
		}
		text = rest
	}
}

// end gives a last line that has no end.
func (l *lineSplitter) end() {
	if l.open != "" {
		l.line(l.open)
		l.open = ""
	}
}

const maxLogLine = 64 << 10
