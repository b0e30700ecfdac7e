package pipeline

import (
	"encoding/json"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/shard"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Status is what a pipeline is doing at this moment. It is plain data.
type Status struct {
	Pipeline string         `json:"pipeline"`
	State    State          `json:"state"`
	Since    time.Time      `json:"since"`
	Now      time.Time      `json:"now"`
	Failure  string         `json:"failure,omitempty"` // of the last attempt
	Restarts int            `json:"restarts"`
	Sources  []SourceStatus `json:"sources"`         // empty while no attempt runs
	Steps    []StepStatus   `json:"steps,omitempty"` // those with windows, or another state by key
}

// SourceStatus is a source's time.
type SourceStatus struct {
	Name       string            `json:"name"`
	Watermark  Moment            `json:"watermark"`
	State      string            `json:"state"` // active, idle, held, ended or never_seen
	Waits      bool              `json:"waits"` // for slower sources (max_drift)
	Ignored    int64             `json:"ignored_watermarks"`
	TooFar     int64             `json:"watermarks_too_far_ahead"`
	Doubted    int64             `json:"unconfirmed_watermarks"`
	Suspect    int64             `json:"suspect_timestamps"`
	Partitions []PartitionStatus `json:"partitions"`
	// Holds is the partition that the watermark waits for; nil when nothing holds it.
	Holds *Holding `json:"holds,omitempty"`
}

// PartitionStatus is a partition's time. Since, Active, Rose and IdleAt are by the clock.
type PartitionStatus struct {
	Name      string     `json:"name"`
	State     string     `json:"state"` // never_seen, active, idle, held or ended
	Watermark Moment     `json:"watermark"`
	Since     time.Time  `json:"since"`             // in that state
	Active    time.Time  `json:"active"`            // last row or watermark, or the beginning
	Rose      time.Time  `json:"rose"`              // when its watermark last rose, or the beginning
	IdleAt    *time.Time `json:"idle_at,omitempty"` // when it will count as idle if nothing comes
}

// Holding is what keeps a source's watermark from rising.
type Holding struct {
	Partition string `json:"partition"`
	Why       string `json:"why"` // in words: since when, what would move it
	Without   Moment `json:"without"`
}

// StepStatus is a step's time.
type StepStatus struct {
	Name      string        `json:"name"`
	Watermark Moment        `json:"watermark"`
	Open      int64         `json:"windows_open"`
	Late      int64         `json:"late"`
	Inputs    []InputStatus `json:"inputs"`
}

// InputStatus is one of a step's inputs: a source, or another step, by the way it comes.
type InputStatus struct {
	From      string `json:"from"`
	Watermark Moment `json:"watermark"`
	Idle      bool   `json:"idle"`
}

// Moment is event time in ms, or batch.NoWatermark ("none") or batch.EndOfInput ("end of input"). As JSON it is text.
type Moment int64

func (m Moment) String() string               { return watermark.FormatTime(int64(m)) }
func (m Moment) MarshalJSON() ([]byte, error) { return json.Marshal(m.String()) }

// UnmarshalJSON reads what MarshalJSON has written.
func (m *Moment) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	ms, err := watermark.ParseTime(s)
	*m = Moment(ms)
	return err
}

// Status tells what the pipeline is doing. It waits for nothing that goes on in it, and may be called at any time.
func (p *Pipeline) Status() Status {
	now := p.set.Clock.Now()
	p.mu.Lock()
	s := Status{Pipeline: p.plan.Name, State: p.state, Since: p.since, Now: now, Restarts: p.tries}
	if p.failure != nil {
		s.Failure = p.failure.Error()
	}
	a := p.current
	p.mu.Unlock()
	if a == nil {
		return s
	}
	for _, l := range a.lanes {
		s.Sources = append(s.Sources, l.status(now.UnixMilli()))
	}
	for _, st := range a.plan.Steps {
		n := a.stages[st.Name]
		if n == nil {
			continue
		}
		e := StepStatus{Name: st.Name, Watermark: Moment(n.stage.Watermark())}
		n.stage.Counts(func(_ int, c *shard.Counts) {
			e.Open += c.Live.Load()
			e.Late += c.Late.Load()
		})
		for i, from := range a.graph.feeds[st.Name] {
			in := n.stage.Input(i)
			e.Inputs = append(e.Inputs, InputStatus{From: from, Watermark: Moment(in.Watermark()), Idle: in.IsIdle()})
		}
		s.Steps = append(s.Steps, e)
	}
	return s
}

// status is what the lane knows about its time, at processing time now.
func (l *lane) status(now int64) SourceStatus {
	l.statusMu.Lock()
	partitions := l.combine.Status(nil)
	holding, held := l.combine.Holding()
	s := SourceStatus{Name: l.name, Watermark: Moment(l.combine.Watermark()), State: watermark.StateActive.String()}
	idle := l.combine.IsIdle()
	l.statusMu.Unlock()
	s.Ignored, s.TooFar, s.Suspect = l.counts.Ignored.Load(), l.counts.TooFar.Load(), l.counts.Suspect.Load()
	s.Doubted = l.counts.Unconfirmed.Load()
	s.Waits = l.align != nil && l.align.waiting.Load()
	seen := false
	for _, p := range partitions {
		e := PartitionStatus{
			Name: l.partitionName(p.Partition), State: p.State.String(), Watermark: Moment(p.Watermark),
			Since: time.UnixMilli(p.Since), Active: time.UnixMilli(p.Active), Rose: time.UnixMilli(p.Rose),
		}
		if p.IdleAt != watermark.Never {
			at := time.UnixMilli(p.IdleAt)
			e.IdleAt = &at
		}
		s.Partitions = append(s.Partitions, e)
		seen = seen || p.State != watermark.NeverSeen && (p.State != watermark.StateIdle || p.Watermark != batch.NoWatermark)
	}
	switch {
	case l.counts.Ended.Load():
		s.State = watermark.StateEnded.String()
	case idle:
		s.State = watermark.StateIdle.String()
	case s.Waits || l.gated.Load():
		s.State = watermark.StateHeld.String()
	case !seen:
		s.State = watermark.NeverSeen.String()
	}
	if held {
		name := l.partitionName(holding.Partition)
		s.Holds = &Holding{Partition: name, Why: holding.Describe(name, now), Without: Moment(holding.Next)}
	}
	return s
}

func (l *lane) partitionName(id uint32) string {
	_, name := l.places.find(l.number, id)
	return name
}

// idleDue is when a partition may have become idle, ms.
func (l *lane) idleDue() int64 {
	l.statusMu.Lock()
	defer l.statusMu.Unlock()
	return l.combine.NextTick()
}
