package aggregate

import (
	"math"
	"math/big"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// mean is avg: the exact sum divided by the number of values. It is null when there are none.
type mean struct {
	sum *sumAcc
	n   *countAcc
}

func (m *mean) results(_ *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap) {
	for i, e := range at {
		n := mem[e+m.n.slot.word]
		if n == 0 {
			cols[0].SetNull(row + i)
			continue
		}
		x := m.sum.load(mem, e)
		cols[0].SetFloat(row+i, x.over(n, h))
	}
}

// over is the sum divided by n. It depends only on the sum's exact value, not on how the sum is held.
func (s *exact) over(n uint64, h *Heap) float64 {
	hi, lo := s.terms(h)
	d := float64(n)
	q := hi / d
	switch a := math.Abs(hi); {
	case a > math.MaxFloat64 && s.flags&special == 0:
		// The sum is beyond all floats, the mean need not be.
		m, e := s.value(h)
		q, _ = new(big.Float).SetPrec(64).Quo(newFloat(m, e), new(big.Float).SetUint64(n)).Float64()
	case lo == 0 && n < 1<<53:
		// hi and n are exact, so q is rounded once.
	case a > 0x1p-900 && a <= math.MaxFloat64:
		rest := math.FMA(-q, d, hi)
		q += (rest + lo) / d
	}
	return q
}

// spread is variance and stddev, of the sample: (n*Σx² - (Σx)²) / (n*(n-1)), computed exactly and rounded at the end. It is null for
// fewer than two values.
type spread struct {
	sum, squares *sumAcc
	n            *countAcc
	root         bool
}

func (s *spread) results(_ *batch.Batch, cols []batch.Column, row int, mem []uint64, at []uint32, h *Heap) {
	for i, e := range at {
		n := mem[e+s.n.slot.word]
		if n < 2 {
			cols[0].SetNull(row + i)
			continue
		}
		sum, squares := s.sum.load(mem, e), s.squares.load(mem, e)
		v := variance(sum, squares, n, h)
		f, _ := v.Float64()
		if s.root {
			f = squareRoot(v, f)
		}
		if (sum.flags|squares.flags)&special != 0 {
			f = math.NaN()
		}
		cols[0].SetFloat(row+i, f)
	}
}

func variance(sum, squares exact, n uint64, h *Heap) *big.Float {
	m1, e1 := sum.value(h)
	m2, e2 := squares.value(h)
	m1.Mul(m1, m1)
	e1 *= 2
	count := new(big.Int).SetUint64(n)
	m2.Mul(m2, count)
	// Bring both to the lower exponent and subtract: no digit is lost, however close they are.
	e := min(e1, e2)
	m1.Lsh(m1, uint(e1-e))
	m2.Lsh(m2, uint(e2-e))
	m2.Sub(m2, m1)
	pairs := new(big.Int).Mul(count, new(big.Int).SetUint64(n-1))
	q := new(big.Float).SetPrec(128)
	return q.Quo(newFloat(m2, e), newFloat(pairs, 0))
}

func squareRoot(v *big.Float, f float64) float64 {
	if f > 0x1p-1000 && f <= math.MaxFloat64 {
		return math.Sqrt(f)
	}
	if v.Sign() <= 0 {
		return 0
	}
	f, _ = new(big.Float).SetPrec(64).Sqrt(v).Float64()
	return f
}
