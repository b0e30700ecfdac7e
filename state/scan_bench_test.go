package state

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark-stream/tidemark/state/keys"
)

// BenchmarkScan reads a pane of 200,000 keys that several commits have written: what firing a spilled window, or a restart, costs.
func BenchmarkScan(b *testing.B) {
	for _, layers := range []int{1, 5} {
		b.Run(fmt.Sprintf("%d", layers), func(b *testing.B) {
			s, err := Open(b.TempDir(), Options{FS: vfs.Default, TableEntries: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			s.SetFold(1, func(dst, older, newer []byte) ([]byte, error) { return append(dst, newer...), nil })
			const n = 200_000
			var d Delta
			for range layers {
				d.Reset()
				fill(&d, n, 1)
				for i := range d.changes {
					d.changes[i].op = opMerge
				}
				if _, err := s.Commit(bg, &d); err != nil {
					b.Fatal(err)
				}
			}
			count := 0
			for b.Loop() {
				count = 0
				err := s.Scan(1, 1_700_000_000_000, keys.AllHashes(), func(int64, uint64, []byte, []byte) error { count++; return nil })
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/key")
		})
	}
}

// BenchmarkSmallCommit is what a quiet pipeline pays: a position and a few entries.
func BenchmarkSmallCommit(b *testing.B) {
	s, err := Open(b.TempDir(), Options{FS: vfs.Default})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var d Delta
	b.ReportAllocs()
	for b.Loop() {
		d.Reset()
		d.Put([]byte("position"), []byte("42"))
		fill(&d, 10, 1)
		if _, err := s.Commit(bg, &d); err != nil {
			b.Fatal(err)
		}
	}
}
