package generate

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Workload says what events a [Generator] makes. The same values give the same events for ever: benchmarks and tests rest on it.
//
// Event i has the timestamp Start + floor(i*1000/Rate) - uniform{0..Disorder}; a key with an id uniform in [0,Keys), or Zipf
// distributed; a value uniform{0..99999}/100; a region and a type, each one of four words; and the sequence number
// 10000000+i.
type Workload struct {
	Seed     uint64
	Keys     int     // how many different keys
	Rate     float64 // events in one second of event time
	Disorder int64   // ms by which an event may be older than its place says
	Start    int64   // event time of the first event, ms
	Skew     float64 // 0: keys are uniform; above 1: Zipf with this exponent
}

// DefaultWorkload is the one of the published measurements: 10,000 keys, 50,000 events a second, 2 s of disorder, from
// 2023-11-14T22:13:20Z on.
func DefaultWorkload() Workload {
	return Workload{Seed: 1, Keys: 10_000, Rate: 50_000, Disorder: 2000, Start: 1_700_000_000_000}
}

func (w Workload) check() error {
	switch {
	case w.Keys < 1:
		return fmt.Errorf("keys must be at least 1, not %d", w.Keys)
	case !(w.Rate > 0):
		return fmt.Errorf("the number of events in a second of event time must be above 0, not %v", w.Rate)
	case w.Disorder < 0:
		return fmt.Errorf("disorder must not be negative")
	case w.Skew != 0 && !(w.Skew > 1):
		return fmt.Errorf("skew must be 0 (uniform) or above 1 (the exponent of a Zipf distribution), not %v", w.Skew)
	}
	return nil
}

// Event is one made-up event.
type Event struct {
	Number int64 // i, from 0
	Time   int64 // ms
	Key    int   // 0..Keys-1
	Cents  int   // value*100
	Region int   // 0..3, see Regions
	Type   int   // 0..3, see Types
}

// The words that regions and types are taken from: all of one width, so that lines of one workload are of nearly one length.
var (
	regions = [4]string{"eu-west-1", "us-east-1", "us-west-2", "ap-east-1"}
	types   = [4]string{"click", "order", "query", "login"}
)

// RegionName and TypeName are the words that stand in the lines.
func (e Event) RegionName() string { return regions[e.Region] }
func (e Event) TypeName() string   { return types[e.Type] }

// Generator makes the events of a workload one by one. It is for one goroutine.
type Generator struct {
	w    Workload
	pcg  *rand.PCG
	rand *rand.Rand
	zipf *rand.Zipf
	next int64
}

// NewGenerator returns a generator that stands before event 0.
func NewGenerator(w Workload) (*Generator, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	g := &Generator{w: w, pcg: rand.NewPCG(w.Seed, 42)}
	g.rand = rand.New(g.pcg)
	if w.Skew != 0 {
		g.zipf = rand.NewZipf(g.rand, w.Skew, 1, uint64(w.Keys-1))
	}
	return g, nil
}

// Next makes an event.
func (g *Generator) Next() Event {
	e := Event{Number: g.next}
	e.Time = g.w.Start + int64(float64(g.next)*1000/g.w.Rate) - g.rand.Int64N(g.w.Disorder+1)
	if g.zipf != nil {
		e.Key = int(g.zipf.Uint64())
	} else {
		e.Key = g.rand.IntN(g.w.Keys)
	}
	e.Cents = g.rand.IntN(100_000)
	e.Region = g.rand.IntN(len(regions))
	e.Type = g.rand.IntN(len(types))
	g.next++
	return e
}

// Count is how many events have been made.
func (g *Generator) Count() int64 { return g.next }

// Position is where the generator stands, to be given to Resume of another one of the same workload.
func (g *Generator) Position() []byte {
	return g.AppendPosition(nil)
}

// AppendPosition appends the position to dst.
func (g *Generator) AppendPosition(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(g.next))
	dst = binary.AppendVarint(dst, g.w.Start)
	dst, _ = g.pcg.AppendBinary(dst) // never an error
	return dst
}

// Resume goes to a position. The times go on from the start that the position was made with.
func (g *Generator) Resume(position []byte) error {
	next, n := binary.Uvarint(position)
	if n <= 0 {
		return fmt.Errorf("position %x is not one of this generator", position)
	}
	start, m := binary.Varint(position[n:])
	if m <= 0 {
		return fmt.Errorf("position %x is not one of this generator", position)
	}
	if err := g.pcg.UnmarshalBinary(position[n+m:]); err != nil {
		return fmt.Errorf("position %x is not one of this generator: %w", position, err)
	}
	g.next, g.w.Start = int64(next), start
	return nil
}
