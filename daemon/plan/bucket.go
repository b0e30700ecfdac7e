package plan

// never is a bucket that only the end of input leaves, as window.Spec.MarkBucket says it.
const never = 1 << 62

// and is the coarsest bucket whose boundaries hold those of both.
func (b Bucket) and(o Bucket) Bucket {
	switch {
	case b.Size >= never:
		return o
	case o.Size >= never:
		return b
	}
	// Offsets lie in [0, Size), so their difference does not overflow.
	d := b.Offset - o.Offset
	if d < 0 {
		d = -d
	}
	size := gcd(gcd(b.Size, o.Size), d)
	return Bucket{size, b.Offset % size}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// buckets fills in each source's bucket: what all windows that its watermarks reach need.
func (p *Plan) buckets() {
	for _, s := range p.Sources {
		s.Bucket = p.bucketBehind(s.Name, map[string]bool{})
	}
}

func (p *Plan) bucketBehind(name string, seen map[string]bool) Bucket {
	b := Bucket{never, 0}
	if seen[name] {
		return b
	}
	seen[name] = true
	for _, port := range []Port{Main, Errors, Late} {
		for _, r := range p.Readers(name, port) {
			if r.Sink {
				if p.sink(r.Name).Inputs[r.Input].Watermark {
					return Bucket{1, 0}
				}
				continue
			}
			step := p.Step(r.Name)
			if w := step.Window; w != nil {
				if len(w.Spec.Check()) > 0 {
					return Bucket{1, 0} // it will not run
				}
				size, offset := w.Spec.MarkBucket(w.Meta)
				b = b.and(Bucket{size, offset})
			}
			if step.Dedup != nil {
				// It forgets each key at a time of its own.
				b = b.and(Bucket{1, 0})
			}
			b = b.and(p.bucketBehind(r.Name, seen))
		}
	}
	return b
}
