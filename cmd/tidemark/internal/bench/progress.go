package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Progress is how a run came along, as the program itself has seen it by looking at its counters every few milliseconds. A look that comes
// late, because the machine was busy, makes a pause longer, never shorter.
type Progress struct {
	FirstRecord time.Time `json:"first_record_at"`
	LastRecord  time.Time `json:"last_record_at"`
	// Pause is the longest time from the first to the last record in which no record was taken, in seconds; PauseAt is when it began, in
	// seconds after the first record.
	Pause   float64 `json:"longest_pause_seconds"`
	PauseAt float64 `json:"longest_pause_at_seconds"`
	// Standstill is the longest time from the first record to the end in which nothing at all happened: no record was taken, no result made
	// or delivered.
	Standstill float64 `json:"longest_standstill_seconds"`
	// Minutes are the records taken in each minute from the first record on; the last one is not a whole one.
	Minutes []int64 `json:"records_by_minute"`
}

// tracker makes a Progress of looks.
type tracker struct {
	Progress
	records, results int64
	moved            time.Time // when anything was last seen to happen
}

// look takes what was counted up to now.
func (t *tracker) look(now time.Time, records, results int64) {
	more := records - t.records
	switch {
	case t.FirstRecord.IsZero() && more > 0:
		t.FirstRecord, t.LastRecord, t.moved = now, now, now
	case t.FirstRecord.IsZero():
		return
	}
	since := func(at time.Time) float64 { return now.Sub(at).Seconds() }
	if more > 0 {
		if pause := since(t.LastRecord); pause > t.Pause {
			t.Pause, t.PauseAt = pause, t.LastRecord.Sub(t.FirstRecord).Seconds()
		}
		minute := int(now.Sub(t.FirstRecord) / time.Minute)
		for len(t.Minutes) <= minute {
			t.Minutes = append(t.Minutes, 0)
		}
		t.Minutes[minute] += more
		t.LastRecord = now
	}
	t.Standstill = max(t.Standstill, since(t.moved))
	if more > 0 || results > t.results {
		t.moved = now
	}
	t.records, t.results = records, results
}

// Follower looks at a run from inside it. Use Follow, and Stop once.
type Follower struct {
	t       tracker
	counts  func() (records, results int64)
	stop    chan struct{}
	done    sync.WaitGroup
	failure error
}

const (
	lookBefore = time.Millisecond      // until the first record is there
	lookAfter  = 10 * time.Millisecond // a look costs some microseconds
)

// Follow begins to look at counters: of records taken, and of results made and delivered. When the first record is there a file of the name
// first says so, for those who will kill the program.
func Follow(first string, counts func() (records, results int64)) *Follower {
	f := &Follower{counts: counts, stop: make(chan struct{})}
	f.done.Go(func() {
		t := time.NewTicker(lookBefore)
		defer t.Stop()
		for {
			select {
			case <-t.C:
			case <-f.stop:
				return
			}
			if f.look() {
				t.Reset(lookAfter)
				f.failure = writeFirst(first, f.t.FirstRecord)
			}
		}
	})
	return f
}

// look is whether the first record has just come.
func (f *Follower) look() bool {
	before := f.t.FirstRecord.IsZero()
	records, results := f.counts()
	f.t.look(time.Now(), records, results)
	return before && !f.t.FirstRecord.IsZero()
}

// Stop ends the looking.
func (f *Follower) Stop() (Progress, error) {
	close(f.stop)
	f.done.Wait()
	f.look()
	return f.t.Progress, f.failure
}

// FirstFile is where a run with --stats FILE says at once when its first record came.
func FirstFile(stats string) string { return stats + ".first" }

func writeFirst(path string, at time.Time) error {
	data, err := json.Marshal(at)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path) // never half of it
}

// readFirst is when the first record came; false if none has.
func readFirst(path string) (at time.Time, ok bool) {
	data, err := os.ReadFile(path)
	return at, err == nil && json.Unmarshal(data, &at) == nil
}

// progress fills in what runs have told of how they came along.
func (c *ContestantReport) progress() {
	told := func(f func(s *Sample) (float64, bool)) Spread {
		return c.gather(func(s *Sample) (float64, bool) {
			if s.FirstRecord == 0 || s.Stats == nil || s.Recovery != nil {
				return 0, false
			}
			return f(s)
		})
	}
	c.FirstRecord = told(func(s *Sample) (float64, bool) { return s.FirstRecord, true })
	c.Pause = told(func(s *Sample) (float64, bool) { return s.Stats.Progress.Pause, true })
	c.Standstill = told(func(s *Sample) (float64, bool) { return s.Stats.Progress.Standstill, true })
	c.Slowest = told(func(s *Sample) (float64, bool) {
		minutes := s.Stats.Progress.Minutes
		if len(minutes) < 3 {
			return 0, false
		}
		return float64(slices.Min(minutes[:len(minutes)-1])) / 60, true
	})
}

func (c *ContestantReport) progressText() string {
	text := fmt.Sprintf("first record after %.0f ms (%.0f-%.0f); longest time without input %.2f s (%.2f-%.2f), without anything %.2f s (%.2f-%.2f)",
		1000*c.FirstRecord.Median, 1000*c.FirstRecord.Min, 1000*c.FirstRecord.Max,
		c.Pause.Median, c.Pause.Min, c.Pause.Max, c.Standstill.Median, c.Standstill.Min, c.Standstill.Max)
	if c.Slowest.N > 0 {
		text += fmt.Sprintf("; slowest minute %s records/s (%s-%s)", millions(c.Slowest.Median), millions(c.Slowest.Min), millions(c.Slowest.Max))
	}
	return text
}
