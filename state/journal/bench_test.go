package journal

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkAppend is what journaling adds to a batch of 1,024 rows of 109 bytes.
func BenchmarkAppend(b *testing.B) {
	rows := make([]string, 1024)
	for i := range rows {
		rows[i] = strings.Repeat("x", 108)
	}
	in := lines(0, rows...)
	for _, mode := range []Sync{SyncNone, SyncAlways} {
		b.Run(fmt.Sprint(mode), func(b *testing.B) {
			j, err := Open(b.TempDir(), Options{Sync: mode})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := j.Append(in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/row")
			b.SetBytes(int64(len(in.Data)))
			_ = j.Truncate(j.Next())
		})
	}
}
