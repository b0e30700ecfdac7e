package generate

import (
	"context"
	"time"
)

// pacer spreads records over real time. It counts from the beginning, so a pause is made up for and the rate holds over any span.
type pacer struct {
	rate  float64 // records a second; 0: without limit
	start time.Time
	given float64
}

func newPacer(rate float64, now time.Time) *pacer { return &pacer{rate: rate, start: now} }

// due is how many records may go out at now, at most most.
func (p *pacer) due(now time.Time, most int) int {
	n := int(min(now.Sub(p.start).Seconds()*p.rate-p.given, float64(most)))
	p.given += float64(n)
	return n
}

// wait waits until at least one record is due and returns how many are, at most most.
func (p *pacer) wait(ctx context.Context, most int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if p.rate == 0 {
		return most, nil
	}
	for {
		if n := p.due(time.Now(), most); n > 0 {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(tick):
		}
	}
}
