package checkpoint

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/daemon/window"
)

// Reader is what is read: a store, or a view of one that is being written to.
type Reader interface {
	Dir() string
	Meta(name []byte) ([]byte, error)
	ScanMeta(prefix []byte, visit func(name, value []byte) error) error
	VisitKeys(operator uint32, visit func(time int64, hash uint64, key []byte) error) error
}

// OpenWindow is what a step holds for windows that end together.
type OpenWindow struct {
	Step  string `json:"step"`
	Start string `json:"start"` // of the window, or of the slice that windows share; sessions and global windows: each key's own
	Keys  int64  `json:"keys"`
}

// OpenWindows counts the keys of all windows of the last commit, by step and end. It reads all keys, and no values. asked is called for each of
// them; an error of it ends the count.
func OpenWindows(r Reader, st *State, asked func() error) ([]OpenWindow, error) {
	rows := []OpenWindow{}
	for _, name := range slices.Sorted(maps.Keys(st.Components)) {
		c := st.Components[name]
		if c.Kind != StageComponent {
			continue
		}
		last := int64(0)
		err := r.VisitKeys(c.Operator, func(at int64, _ uint64, key []byte) error {
			if err := asked(); err != nil {
				return err
			}
			if window.IsIndex(key) {
				return nil
			}
			if n := len(rows); n == 0 || rows[n-1].Step != name || last != at {
				rows, last = append(rows, OpenWindow{Step: name, Start: startText(at)}), at
			}
			rows[len(rows)-1].Keys++
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// startText says when a window begins. Sessions and global windows have no start in common, and are kept by key.
func startText(at int64) string {
	if at == math.MinInt64 {
		return "each key's own"
	}
	return TimeText(at)
}

// ComponentWatermark is how far event time has come for a source, one of its partitions, or a step.
type ComponentWatermark struct {
	Component string `json:"component"`
	Partition string `json:"partition,omitempty"`
	Watermark string `json:"watermark"`
	State     string `json:"state,omitempty"` // ended, or nothing
}

// Watermarks lists the watermarks of the last commit.
func (s *State) Watermarks() []ComponentWatermark {
	rows := []ComponentWatermark{}
	for _, name := range slices.Sorted(maps.Keys(s.Snapshot.Sources)) {
		src := s.Snapshot.Sources[name]
		rows = append(rows, ComponentWatermark{Component: name, Watermark: TimeText(src.Watermark)})
		for _, p := range slices.Sorted(maps.Keys(src.Partitions)) {
			if strings.HasPrefix(p, "$") { // the engine's own
				continue
			}
			state := ""
			switch {
			case src.Partitions[p].Ended:
				state = watermark.StateEnded.String()
			case src.Partitions[p].Idle:
				state = watermark.StateIdle.String()
			}
			rows = append(rows, ComponentWatermark{Component: name, Partition: p, Watermark: TimeText(src.Partitions[p].Watermark), State: state})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Snapshot.Stages)) {
		rows = append(rows, ComponentWatermark{Component: name, Watermark: TimeText(s.Snapshot.Stages[name].Watermark)})
	}
	return rows
}

// SourcePosition is where a source goes on.
type SourcePosition struct {
	Source    string `json:"source"`
	Partition string `json:"partition"`
	Position  []byte `json:"position"` // only its source can read it
	Ended     bool   `json:"ended,omitempty"`
}

// Positions lists the positions of the last commit.
func (s *State) Positions() []SourcePosition {
	rows := []SourcePosition{}
	for _, name := range slices.Sorted(maps.Keys(s.Snapshot.Sources)) {
		src := s.Snapshot.Sources[name]
		for _, p := range slices.Sorted(maps.Keys(src.Partitions)) {
			rows = append(rows, SourcePosition{name, p, src.Partitions[p].Position, src.Partitions[p].Ended})
		}
	}
	return rows
}

// TimeText writes an event time (ms) for people, always with milliseconds.
func TimeText(ms int64) string {
	switch ms {
	case -1 << 63:
		return "none yet"
	case 1<<63 - 1:
		return "end of input"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
