package sdktest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/sdk"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// stopTimeout is what a source may take to come to its end.
const stopTimeout = 5 * time.Second

func (k *kit) source() {
	var whole *SourceRun
	k.try("it runs", func() (err error) {
		whole, err = k.runSource(k.s.Until)
		if err == nil {
			err = whole.Err
		}
		return err
	})
	k.try("it stops when it is told to", k.sourceStops)
	k.try("it ends while nobody takes what it gives", k.sourceEnds)
	if whole == nil || whole.Err != nil {
		return
	}
	k.try("it keeps the order of events", func() error { return orderOf(whole) })
	k.silence(whole)
	if last := len(whole.Said) - 1; k.d.HoldsPartitions && last >= 0 && whole.Said[last].Event == "ended" {
		k.try("a held partition keeps no other one waiting, and goes on", func() error { return k.sourceHolds(whole) })
	}
	if !k.s.NoSpeed {
		k.try("speed", k.sourceSpeed)
	}
	if k.d.NotReplayable {
		return
	}
	again, err := k.runSource(k.s.Until)
	if err != nil || !slices.Equal(rowsIn(whole, nil), rowsIn(again, nil)) {
		k.note("two runs give different records, so restarts cannot be compared")
		return
	}
	k.try("a restart at every position loses and doubles nothing", func() error { return k.positions(whole) })
}

func (k *kit) runSource(until Until, restored ...wire.RestoredPartition) (*SourceRun, error) {
	return runSource(k.p, wire.SourceOpen{Plugin: k.d.Name, Options: k.s.Options.json(), Restored: restored, Framing: sdk.Framing{Format: "lines"}, BatchRows: 10}, k.runtime(), until)
}

func (k *kit) openSource() (wire.Source, error) {
	return k.p.OpenSource(wire.SourceOpen{Plugin: k.d.Name, Options: k.s.Options.json(), Framing: sdk.Framing{Format: "lines"}}, k.runtime())
}

// within runs f, which must come back in time.
func within(d time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		return hinted("Run must return soon after its context is done or a Collect has returned an error", "it has not come to its end within %s", d)
	}
}

func (k *kit) sourceStops() error {
	s, err := k.openSource()
	if err != nil {
		return err
	}
	if err := s.Stop(); err != nil {
		return err
	}
	return within(stopTimeout, func() error {
		defer s.Close()
		for {
			e, err := s.Recv()
			if err != nil {
				return fmt.Errorf("it fails when it is stopped: %w", err)
			}
			if e.Batch != nil {
				e.Batch.Release()
			}
			if e.Kind == wire.SourceEnded || e.Kind == wire.SourceStopped {
				return nil
			}
		}
	})
}

func (k *kit) sourceEnds() error {
	s, err := k.openSource()
	if err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond) // it fills what room there is
	return within(stopTimeout, func() error { return errors.Join(s.Close(), s.Close()) })
}

// sourceHolds holds the first partition from its beginning until all others have said everything that they say in whole.
func (k *kit) sourceHolds(whole *SourceRun) error {
	// With small batches the source cannot have read much when it hears of the hold.
	s, err := k.p.OpenSource(wire.SourceOpen{Plugin: k.d.Name, Options: k.s.Options.json(), Framing: sdk.Framing{Format: "lines"}, BatchRows: 10}, k.runtime())
	if err != nil {
		return err
	}
	defer s.Close()
	h, ok := s.(wire.Holder)
	if !ok {
		return errors.New("it cannot be told to hold a partition")
	}
	left := map[string]int{}
	for _, x := range whole.Said {
		if x.Event == "row" {
			left[x.Partition]++
		}
	}
	names, held := map[uint32]string{}, uint32(0)
	stage := 0 // 0: nothing is held, 1: held is, 2: it goes on
	others := func() bool {
		for name, n := range left {
			if n > 0 && (stage == 0 || name != names[held]) {
				return false
			}
		}
		return true
	}
	late := time.AfterFunc(stopTimeout, func() { _ = s.Close() })
	defer late.Stop()
	err = func() error {
		for {
			if stage == 1 && others() {
				stage = 2
				if err := h.Hold(held, false); err != nil {
					return err
				}
			}
			e, err := s.Recv()
			switch {
			case err != nil:
				return err
			case e.Kind == wire.PartitionAdded:
				names[e.Partition] = e.Name
				if stage == 0 {
					stage, held = 1, e.Partition
					if err := h.Hold(held, true); err != nil {
						return err
					}
				}
			case e.Kind == wire.SourceBatch:
				left[names[e.Partition]] -= e.Batch.N
				e.Batch.Release()
			case e.Kind == wire.SourceEnded:
				for name, n := range left {
					if n != 0 {
						return fmt.Errorf("partition %q gave %d records less than without being held", name, n)
					}
				}
				return nil
			}
		}
	}()
	if errors.Is(err, io.EOF) && stage == 1 {
		return hinted("skip partitions that are Held, and wait for HoldsChange where all are; WaitWhileHeld is for a goroutine that reads one partition",
			"with partition %q held, the others did not come to their end", names[held])
	}
	return err
}

// orderOf checks what a source may say when.
func orderOf(r *SourceRun) error {
	open := map[string]bool{}
	high := map[string]int64{}
	for i, s := range r.Said {
		switch s.Event {
		case "partition":
			open[s.Partition] = true
		case "partition_ended":
			if !open[s.Partition] {
				return fmt.Errorf("partition %q ends and is not open", s.Partition)
			}
			open[s.Partition] = false
		case "idle", "busy":
			if !open[s.Partition] {
				return fmt.Errorf("partition %q is said to be %s and is not open", s.Partition, s.Event)
			}
		case "watermark":
			if last, ok := high[s.Partition]; ok && s.Watermark <= last {
				return fmt.Errorf("partition %q: the watermark goes from %d to %d", s.Partition, last, s.Watermark)
			}
			high[s.Partition] = s.Watermark
			fallthrough
		case "row":
			if !open[s.Partition] {
				return fmt.Errorf("%s: the partition is not open", s)
			}
		case "ended", "stopped":
			if i != len(r.Said)-1 {
				return fmt.Errorf("something follows %q", s.Event)
			}
		}
	}
	return nil
}

// rowsIn are the records of each partition behind what is restored, in one list that does not depend on how partitions mix.
func rowsIn(r *SourceRun, skip map[string]int) []string {
	by := map[string][]string{}
	for _, s := range r.Said {
		if s.Event == "row" {
			by[s.Partition] = append(by[s.Partition], s.String())
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[name][min(skip[name], len(by[name])):]...)
	}
	return out
}

// positions restarts the source at the places where its batches ended and compares what follows.
func (k *kit) positions(whole *SourceRun) error {
	var cuts []int
	for i, s := range whole.Said {
		if s.Position != nil {
			cuts = append(cuts, i+1)
		}
	}
	if len(cuts) == 0 {
		k.note("it gives no positions, so after a crash it begins anew")
		return nil
	}
	for n, cut := range cuts {
		if len(cuts) > 30 && n%(len(cuts)/30) != 0 {
			continue
		}
		before := &SourceRun{Said: whole.Said[:cut]}
		skip := map[string]int{}
		for _, s := range before.Said {
			if s.Event == "row" {
				skip[s.Partition]++
			}
		}
		// Rows behind the last position of a partition are not committed.
		for _, name := range slices.Sorted(maps.Keys(skip)) {
			skip[name] = committed(before, name)
		}
		want := rowsIn(whole, skip)
		until := k.s.Until
		ended := whole.Said[len(whole.Said)-1].Event == "ended"
		if !ended {
			until.Rows = max(len(want), 1)
		}
		rest, err := k.runSource(until, before.Restored()...)
		if err != nil {
			return err
		}
		if rest.Err != nil {
			return rest.Err
		}
		got := rowsIn(rest, nil)
		if !ended { // both runs were cut off somewhere
			m := min(len(got), len(want))
			got, want = got[:m], want[:m]
		}
		if !slices.Equal(got, want) {
			return hinted("a position says where to go on behind the last record of its batch; use CollectAt, or Count to skip", "restarted behind %d records: %s", sum(skip), firstDifference(want, got))
		}
	}
	return nil
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// committed is the number of a partition's records up to its last position.
func committed(r *SourceRun, partition string) int {
	rows, safe := 0, 0
	for _, s := range r.Said {
		if s.Partition != partition {
			continue
		}
		if s.Event == "row" {
			rows++
		}
		if s.Position != nil {
			safe = rows
		}
	}
	return safe
}

func firstDifference(want, got []string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("%q is missing", want[i])
		case i >= len(want):
			return fmt.Sprintf("%q is too many", got[i])
		case want[i] != got[i]:
			return fmt.Sprintf("%q comes instead of %q", got[i], want[i])
		}
	}
	return ""
}
