package state

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/zeebo/xxh3"
)

// fill adds n entries of one pane as a shard's snapshot does: in the order of its table, which is random by hash.
func fill(d *Delta, n int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 42))
	key, value := make([]byte, 14), make([]byte, 32)
	for range n {
		id := rng.Uint32()
		for i := range key {
			key[i] = "0123456789abcdef"[id>>(4*(i&7))&15]
		}
		for i := 0; i < 32; i += 8 {
			value[i] = byte(rng.Uint32())
		}
		d.Set(1, 1_700_000_000_000, xxh3.Hash(key), key, value)
	}
}

// BenchmarkCommit compares the two ways of a commit; it is where Options.TableEntries comes from.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1000, 5000, 20_000, 100_000, 1_000_000} {
		for _, way := range []Way{Batch, Table} {
			b.Run(fmt.Sprintf("%d/%s", n, way), func(b *testing.B) {
				opts := Options{TableEntries: 1 << 40, TableBytes: 1 << 40}
				if way == Table {
					opts = Options{TableEntries: 1}
				}
				opts.FS = vfs.Default
				s, err := Open(b.TempDir(), opts)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				var d Delta
				seed := uint64(0)
				for b.Loop() {
					b.StopTimer()
					d.Reset()
					fill(&d, n, seed)
					seed++
					b.StartTimer()
					if _, err := s.Commit(bg, &d); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
			})
		}
	}
}

// BenchmarkDelta is the pause of a shard: encoding its changes.
func BenchmarkDelta(b *testing.B) {
	var d Delta
	key, value := []byte("user-00001234"), make([]byte, 32)
	i := 0
	for b.Loop() {
		d.Set(1, 1_700_000_000_000, uint64(i)*0x9e3779b97f4a7c15, key, value)
		if i++; i%1_000_000 == 0 {
			d.Reset()
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	var d Delta
	var s sorter
	const n = 1_000_000
	fill(&d, n, 1)
	for b.Loop() {
		s.order(&d)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}
