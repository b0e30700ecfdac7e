package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidemark-stream/tidemark/daemon/config"
	"github.com/tidemark-stream/tidemark/daemon/plan"
	"github.com/tidemark-stream/tidemark/daemon/shard"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
)

// counts are an attempt's counters beside those of lanes and shards.
type counts struct {
	steps       map[string]*stepCounts
	sinks       map[string]*sinkCounts
	deadLetters atomic.Int64
}

type sinkCounts struct {
	Refused   atomic.Int64 // rows that the sink will never take
	Unwritten stepCounts   // Rejected: rows that never came to its queue, because they have no form for it
}

func newCounts(p *plan.Plan) *counts {
	c := &counts{steps: map[string]*stepCounts{}, sinks: map[string]*sinkCounts{}}
	for _, s := range p.Steps {
		c.steps[s.Name] = &stepCounts{}
	}
	for _, s := range p.Sinks {
		c.sinks[s.Name] = &sinkCounts{}
	}
	return c
}

func (c *counts) step(name string) *stepCounts { return c.steps[name] }

// Summary is what a pipeline has done so far, over all its attempts. It is what `run` prints at its end. After a restart, records since
// the last commit are read again, and are counted again in all but Balance, which is of the last attempt alone.
type Summary struct {
	Pipeline    string            `json:"pipeline"`
	Seconds     float64           `json:"seconds"`
	In          int64             `json:"records_in"`
	PerSecond   float64           `json:"records_per_second"`
	Bytes       int64             `json:"bytes_in"`
	Markers     int64             `json:"markers"`
	Rejected    int64             `json:"rejected"`
	Filtered    int64             `json:"filtered"`
	Late        int64             `json:"late"`
	DeadLetters int64             `json:"dead_lettered"`
	Firings     int64             `json:"windows_fired"`
	Results     int64             `json:"results"`
	Delivered   int64             `json:"delivered"`
	Open        int64             `json:"windows_open"`
	Restarts    int               `json:"restarts"`
	Checkpoints CheckpointSummary `json:"checkpoints"`
	Sources     []SourceSummary   `json:"sources"`
	Steps       []StepSummary     `json:"steps,omitempty"`
	Sinks       []SinkSummary     `json:"sinks"`
	Balance     []Balance         `json:"balance"` // since the last restart
	attempts    int
	last        *Summary // the last attempt alone
}

// SourceSummary is a source's share of a Summary.
type SourceSummary struct {
	Name     string             `json:"name"`
	In       int64              `json:"in"`
	Rejected int64              `json:"rejected"`
	Markers  int64              `json:"markers"`
	Out      int64              `json:"out"`
	Ignored  int64              `json:"ignored_watermarks,omitempty"`       // that would have gone back
	TooFar   int64              `json:"watermarks_too_far_ahead,omitempty"` // of the clock, by max_ahead
	Doubted  int64              `json:"unconfirmed_watermarks,omitempty"`   // far ahead of the rows, by confirm_jump
	Suspect  int64              `json:"suspect_timestamps,omitempty"`       // outside of 1990 to 2100, since the unit has looked wrong
	PastEnd  int64              `json:"past_end,omitempty"`                 // records that came after the end of the input, in an earlier run, had closed all windows
	Lateness []watermark.Advice `json:"lateness,omitempty"`
}

// StepSummary is a step's share.
type StepSummary struct {
	Name     string          `json:"name"`
	In       int64           `json:"in"`
	Out      int64           `json:"out"`
	Filtered int64           `json:"filtered,omitempty"`
	Rejected int64           `json:"rejected,omitempty"`
	Late     int64           `json:"late,omitempty"`
	Silent   int64           `json:"without_window,omitempty"` // rows that belong to no window, because windows are further apart than they are long
	Firings  int64           `json:"windows_fired,omitempty"`
	Open     int64           `json:"windows_open,omitempty"`
	Skipped  []SkippedValues `json:"skipped_values,omitempty"` // by aggregate
	keyed    bool
}

// SinkSummary is a sink's share.
type SinkSummary struct {
	Name    string `json:"name"`
	Rows    int64  `json:"rows"`    // taken by the sink
	Waiting int64  `json:"waiting"` // not taken yet
	Refused int64  `json:"refused,omitempty"`
	Resumed int64  `json:"resumed,omitempty"` // rows of an earlier run that were waiting at the start
}

// Summary adds up all attempts. It may be called at any time.
func (p *Pipeline) Summary() Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.total.clone()
	if p.current != nil {
		s.add(p.current)
	}
	if s.Balance = []Balance{}; s.last != nil {
		s.Balance = s.last.balances(p.plan)
	}
	s.Restarts = max(s.attempts-1, 0)
	s.Checkpoints = p.commits.summary()
	s.Seconds = p.set.Clock.Since(p.begun).Seconds()
	if p.state == Finished || p.state == Stopped || p.state == Failed {
		s.Seconds = p.since.Sub(p.begun).Seconds()
	}
	if s.Seconds > 0 {
		s.PerSecond = float64(s.In) / s.Seconds
	}
	return s
}

func (s *Summary) clone() Summary {
	c := *s
	c.Sources = append([]SourceSummary(nil), s.Sources...)
	c.Steps = append([]StepSummary(nil), s.Steps...)
	for i := range c.Steps {
		c.Steps[i].Skipped = append([]SkippedValues(nil), c.Steps[i].Skipped...)
	}
	c.Sinks = append([]SinkSummary(nil), s.Sinks...)
	return c
}

// entry finds the element with that name, or appends one.
func entry[T any](list *[]T, name func(*T) *string, want string) *T {
	for i := range *list {
		if *name(&(*list)[i]) == want {
			return &(*list)[i]
		}
	}
	var e T
	*name(&e) = want
	*list = append(*list, e)
	return &(*list)[len(*list)-1]
}

// add adds an attempt's counters, and keeps them apart as those of the last one.
func (s *Summary) add(a *attempt) {
	s.attempts++
	s.last = &Summary{}
	s.last.count(a)
	s.count(a)
}

// count adds an attempt's counters.
func (s *Summary) count(a *attempt) {
	s.Open = 0
	for i, l := range a.lanes {
		e := entry(&s.Sources, func(e *SourceSummary) *string { return &e.Name }, l.name)
		in, rejected, markers, out := l.counts.In.Load(), l.counts.Rejected.Load(), l.counts.Markers.Load(), l.counts.Out.Load()
		e.Ignored, e.TooFar, e.Suspect = e.Ignored+l.counts.Ignored.Load()+l.counts.Refrained.Load(), e.TooFar+l.counts.TooFar.Load(), e.Suspect+l.counts.Suspect.Load()
		e.PastEnd += l.counts.PastEnd.Load()
		e.Doubted += l.counts.Unconfirmed.Load()
		e.In, e.Rejected, e.Markers, e.Out = e.In+in, e.Rejected+rejected, e.Markers+markers, e.Out+out
		s.In, s.Rejected, s.Markers, s.Bytes = s.In+in, s.Rejected+rejected, s.Markers+markers, s.Bytes+l.counts.Bytes.Load()
		l.latenessMu.Lock()
		if l.lateness.Rows() > 0 && a.plan.Sources[i].Assigner != nil {
			e.Lateness = l.lateness.Advise(boundInUse(a.plan.Sources[i]))
		}
		l.latenessMu.Unlock()
	}
	for _, st := range a.plan.Steps {
		e := entry(&s.Steps, func(e *StepSummary) *string { return &e.Name }, st.Name)
		c := a.counts.step(st.Name)
		e.In, e.Out, e.Filtered, e.Rejected = e.In+c.In.Load(), e.Out+c.Out.Load(), e.Filtered+c.Filtered.Load(), e.Rejected+c.Rejected.Load()
		s.Filtered, s.Rejected = s.Filtered+c.Filtered.Load(), s.Rejected+c.Rejected.Load()
		if st.Fold != nil { // a plugin gives more or fewer results than there were windows
			s.Results += c.Out.Load() - c.In.Load()
		}
		n := a.stages[st.Name]
		if n == nil || n.stage == nil {
			continue
		}
		e.keyed, e.Open = true, 0
		n.stage.Counts(func(_ int, c *shard.Counts) {
			e.In += c.Rows.Load()
			if st.Dedup != nil {
				e.Filtered += c.Late.Load()
				e.Out += c.Rows.Load() - c.Late.Load()
				s.Filtered += c.Late.Load()
				return
			}
			e.Out += c.Results.Load()
			e.Late += c.Late.Load()
			e.Silent += c.Silent.Load()
			e.Open += c.Live.Load()
			s.Late += c.Late.Load()
			s.Results += c.Results.Load()
		})
		n.skipped.addTo(e, st)
		e.Firings += n.stage.Firings()
		s.Firings += n.stage.Firings()
		s.Open += e.Open
	}
	for _, o := range a.outlets {
		e := entry(&s.Sinks, func(e *SinkSummary) *string { return &e.Name }, o.name)
		status, refused := o.outbox.Status(), a.counts.sinks[o.name].Refused.Load()
		rows := int64(status.Taken-o.before) - refused
		e.Rows, e.Refused, e.Waiting = e.Rows+rows, e.Refused+refused+a.counts.sinks[o.name].Unwritten.Rejected.Load(), int64(status.Waiting)
		e.Resumed += int64(o.waiting)
		s.Delivered += rows
	}
	s.DeadLetters += a.counts.deadLetters.Load()
}

// boundInUse is the bound on out-of-orderness that a source's assigner works with, as far as its options say; else 0.
func boundInUse(s *plan.Source) time.Duration {
	if s.Assigner == nil {
		return 0
	}
	var o struct {
		Bound string `json:"max_out_of_orderness"`
	}
	if json.Unmarshal(s.Assigner.Options, &o) != nil {
		return 0
	}
	d, err := time.ParseDuration(o.Bound)
	if err != nil {
		return 0
	}
	return d
}

// Remarks are sentences about what deserves attention.
func (s *Summary) Remarks() []string {
	var out []string
	if from := s.Checkpoints.From; s.In == 0 && from != nil {
		out = append(out, fmt.Sprintf("nothing new has come since the run before, whose last commit was number %d at %s", from.Number, from.At.UTC().Format(time.RFC3339)))
	}
	if s.Restarts > 0 {
		out = append(out, fmt.Sprintf("restarted %s: what had been read since the last commit was read again, and is counted again in the first line; the accounts are those since the restart", counted(int64(s.Restarts), "time", "times")))
	}
	if s.Open > 0 {
		out = append(out, fmt.Sprintf("%s still open: nothing has said that their time is over, so what came since the last result, if there was one, is in none", counted(s.Open, "window is", "windows are")))
	}
	for _, st := range s.Steps {
		for _, v := range st.Skipped {
			out = append(out, fmt.Sprintf("%s: %s has left out %s that %s cannot take, such as text where numbers are due", st.Name, v.Name, counted(v.Values, "value", "values"), v.Func))
		}
	}
	for _, src := range s.Sources {
		if src.Ignored > 0 {
			out = append(out, fmt.Sprintf("source %s: %s ignored, because time does not go back", src.Name, counted(src.Ignored, "watermark was", "watermarks were")))
		}
		if src.TooFar > 0 {
			out = append(out, fmt.Sprintf("source %s: %s further ahead of the clock than max_ahead, and ignored", src.Name, counted(src.TooFar, "watermark was", "watermarks were")))
		}
		if src.Doubted > 0 {
			out = append(out, fmt.Sprintf("source %s: %s further ahead of the records than confirm_jump, and ignored, because nothing confirmed it", src.Name, counted(src.Doubted, "watermark was", "watermarks were")))
		}
		if src.Suspect > 0 {
			out = append(out, fmt.Sprintf("source %s: %s outside of 1990 to 2100; the unit is probably another one", src.Name, counted(src.Suspect, "timestamp lies", "timestamps lie")))
		}
		if src.PastEnd > 0 {
			out = append(out, fmt.Sprintf("source %s: %s after the input had ended, in an earlier run, so that all windows were closed. %s", src.Name, counted(src.PastEnd, "record came", "records came"), hintPastEnd))
			continue // another bound would not help
		}
		if len(src.Lateness) == 0 || s.Late == 0 { // without late records nobody needs another bound
			continue
		}
		var parts []string
		for _, a := range src.Lateness {
			parts = append(parts, fmt.Sprintf("%.2g %% with \"%s\"", 100*a.Share, config.FormatDuration(a.Bound)))
		}
		out = append(out, fmt.Sprintf("source %s would have had late records, by max_out_of_orderness: %s", src.Name, strings.Join(parts, ", ")))
	}
	return out
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// State is what the pipeline is doing.
func (p *Pipeline) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}
