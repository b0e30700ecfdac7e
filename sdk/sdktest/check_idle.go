package sdktest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// silent asks an assigner again and again while nothing comes, as the daemon does, also about partitions that have become idle: before the
// first record, between records and behind them. Where time goes on without records is the pipeline's business (idle_after).
func (k *kit) silent(rows []map[string]any, previous []int64) error {
	whole, watermark, err := k.asked(rows, previous, func(int) int { return 0 })
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(5, 6))
	for _, often := range []func(i int) int{
		func(int) int { return 1 },
		func(int) int { return random.IntN(3) },
		func(i int) int {
			if i == len(rows)/2 {
				return pause
			}
			return 0
		},
	} {
		got, asked, err := k.asked(rows, previous, often)
		if err != nil {
			return err
		}
		if d := whole.differ(&got); d != "" {
			return hinted("CurrentWatermark changes nothing: it may be called any number of times", "asked for its watermark while nothing came: %s", d)
		}
		if asked != watermark {
			return hinted(noClock,
				"the watermark behind all records is %s, and %s if it is asked for it while nothing comes", timeText(watermark), timeText(asked))
		}
	}
	return nil
}

// asked runs rows one by one through an instance that is asked for its watermark so many times before each; the last answer comes back, too.
func (k *kit) asked(rows []map[string]any, previous []int64, times func(i int) int) (got answers, last int64, err error) {
	a, err := k.openAssigner(false)
	if err != nil {
		return got, 0, err
	}
	defer a.Close()
	if err := a.AddPartition(0, "p", nil); err != nil {
		return got, 0, err
	}
	tick := func() (int64, error) {
		if err := a.Tick([]uint32{0}); err != nil {
			return 0, err
		}
		e, err := a.Recv()
		if err != nil {
			return 0, err
		}
		if len(e.Watermarks) != 1 {
			return 0, fmt.Errorf("a tick of one partition is answered with %d watermarks", len(e.Watermarks))
		}
		return e.Watermarks[0].Watermark, nil
	}
	for i := range rows {
		var before int64
		asks := times(i)
		for n := range max(asks, -asks) {
			if asks == pause && n > 0 {
				time.Sleep(50 * time.Millisecond) // who looks at a clock sees it
			}
			w, err := tick()
			switch {
			case err != nil:
				return got, 0, err
			case i == 0 && w > yearOne:
				return got, 0, hinted("return sdk.NoWatermark until there is a record", "before its first record the watermark is %s: what is older would be late", timeText(w))
			case n > 0 && w != before:
				return got, 0, hinted(noClock, "asked twice with no record between, it says %s and %s", timeText(before), timeText(w))
			}
			before = w
		}
		b := batchOf(rows[i:i+1], previous[i:i+1])
		err := a.Assign(b)
		var e wire.AssignerEvent
		if err == nil {
			e, err = a.Recv()
		}
		if err != nil {
			return got, 0, err
		}
		got.add(e, i)
		b.Release()
	}
	last, err = tick()
	return got, last, err
}

const noClock = "an assigner looks at records and at nothing else, no clock: or results would depend on the speed of the input. For partitions that are silent there is idle_after in the pipeline"

// pause asks twice, with a while between.
const pause = -2

// yearOne is below every time that people mean, and above the sums of those who count from the lowest number.
const yearOne = -62_135_596_800_000

// silence notes partitions that hold back the time of all others because they say nothing.
func (k *kit) silence(r *SourceRun) {
	spoken, idles := map[string]bool{}, 0
	for _, s := range r.Said {
		switch s.Event {
		case "partition":
			spoken[s.Partition] = spoken[s.Partition] || false
		case "idle", "partition_ended":
			idles++
			fallthrough
		case "row", "watermark":
			spoken[s.Partition] = true
		}
	}
	if r.Said[len(r.Said)-1].Event == "ended" {
		return // it is over for all of them
	}
	for _, name := range slices.Sorted(maps.Keys(spoken)) {
		if !spoken[name] {
			k.note("partition %q was made and has said nothing since: it holds back the time of all. Make it when there is something to read, or mark it idle", name)
		}
	}
	if len(spoken) > 1 && idles == 0 {
		k.note("none of its %d partitions was marked idle or ended meanwhile: one that falls silent holds back the time of all, unless the pipeline sets idle_after", len(spoken))
	}
}
