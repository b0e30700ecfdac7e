package file

import (
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
)

// progressEvery is how often a long read says how far it is.
const progressEvery = 10 * time.Second

// progress says from time to time how far a read is.
type progress struct {
	log             hclog.Logger
	total, done     int64
	files, finished int
	began, said     time.Time
}

func newProgress(log hclog.Logger, total int64, files int, now time.Time) *progress {
	return &progress{log: log, total: total, files: files, began: now, said: now}
}

func (p *progress) file() { p.finished++ }

func (p *progress) read(n int64, now time.Time) {
	p.done += n
	if now.Sub(p.said) < progressEvery {
		return
	}
	p.said = now
	percent := 100.0
	if p.total > 0 {
		percent = min(100, 100*float64(p.done)/float64(p.total))
	}
	rate := float64(p.done) / now.Sub(p.began).Seconds()
	p.log.Info("reading", "percent", fmt.Sprintf("%.1f", percent), "files", fmt.Sprintf("%d of %d", p.finished, p.files),
		"MB_per_second", fmt.Sprintf("%.1f", rate/1e6))
}
