package main

import (
	"fmt"
	"strings"
)

// steady is a stream with a little disorder, as lines of JSON: event i has the id i, one of three keys, and a time of 250 ms after the one
// before, up to 400 ms too early. With a bound of a second nothing of it is late.
func steady(n int) []string {
	var lines []string
	seed := int64(12345)
	for i := range n {
		seed = (seed*1103515245 + 12345) % (1 << 31)
		lines = append(lines, fmt.Sprintf(`{"id": %d, "key": "k%d", "ts": %d, "val": %d}`, i, i%3, 1700000000000+250*int64(i)-seed/65536%400, 7*i%11))
	}
	return lines
}

// steadyEnd closes the windows of a steady stream of n events.
func steadyEnd(n int) string {
	return fmt.Sprintf(`{"id": %d, "key": "end", "ts": %d, "val": 0}`, n, 1700000000000+250*int64(n)+60_000)
}

// grow adds lines to the file that is followed.
func (t *trial) grow(lines ...string) {
	t.Helper()
	t.append("grows.jsonl", strings.Join(lines, "\n")+"\n")
}

// seen waits until so many records have been read, which the sink named seen shows.
func (t *trial) seen(n int) {
	t.Helper()
	t.until(fmt.Sprint(n, " records"), func() bool { return t.linesIn("seen.jsonl") == n })
}
