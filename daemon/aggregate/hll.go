package aggregate

import (
	"math"
	"math/bits"
)

// A HyperLogLog of 2^14 registers: standard error 1.04/sqrt(2^14) = 0.8 %. It is dense and canonical, eight registers to a word, so
// that the same values give the same bytes; the estimator is Ertl's (New cardinality estimation algorithms for HyperLogLog
// sketches, 2017), which needs no tables of corrections and has no bias at the small end.
const (
	precision = 14
	registers = 1 << precision
)

func insertRegister(w []uint64, hash uint64) {
	i := hash >> (64 - precision)
	rank := uint64(min(bits.LeadingZeros64(hash<<precision), 64-precision) + 1)
	shift := i % 8 * 8
	if p := &w[i/8]; *p>>shift&0xff < rank {
		*p = *p&^(0xff<<shift) | rank<<shift
	}
}

func mergeRegisters(dst, src []uint64) {
	for i, s := range src {
		d := dst[i]
		if s == d {
			continue
		}
		for shift := 0; shift < 64; shift += 8 {
			if v := s >> shift & 0xff; d>>shift&0xff < v {
				d = d&^(0xff<<shift) | v<<shift
			}
		}
		dst[i] = d
	}
}

func estimate(w []uint64) uint64 {
	var counts [64 - precision + 2]float64
	for _, v := range w[:registers/8] {
		for shift := 0; shift < 64; shift += 8 {
			counts[v>>shift&0xff]++
		}
	}
	const m, q = float64(registers), 64 - precision
	z := m * tau(1-counts[q+1]/m)
	for k := q; k >= 1; k-- {
		z = 0.5 * (z + counts[k])
	}
	z += m * sigma(counts[0]/m)
	return uint64(math.Round(m * m / (2 * math.Ln2 * z)))
}

func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		old := z
		z += x * y
		y += y
		if z == old {
			return z
		}
	}
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		old := z
		y *= 0.5
		z -= (1 - x) * (1 - x) * y
		if z == old {
			return z / 3
		}
	}
}

// appendRegisters packs four registers of six bits into three bytes.
func appendRegisters(p []byte, w []uint64) []byte {
	for _, v := range w[:registers/8] {
		for half := 0; half < 64; half += 32 {
			x := v >> half
			packed := x&63 | x>>8&63<<6 | x>>16&63<<12 | x>>24&63<<18
			p = append(p, byte(packed), byte(packed>>8), byte(packed>>16))
		}
	}
	return p
}

func decodeRegisters(d *decoder, w []uint64) {
	p := d.bytes(registers / 4 * 3)
	if p == nil {
		return
	}
	for i := range w[:registers/8] {
		var v uint64
		for half := 0; half < 64; half += 32 {
			x := uint64(p[0]) | uint64(p[1])<<8 | uint64(p[2])<<16
			p = p[3:]
			v |= (x&63 | x>>6&63<<8 | x>>12&63<<16 | x>>18&63<<24) << half
		}
		for shift := 0; shift < 64; shift += 8 {
			if v>>shift&0xff > 64-precision+1 {
				d.fail("register %d", v>>shift&0xff)
				return
			}
		}
		w[i] = v
	}
}
