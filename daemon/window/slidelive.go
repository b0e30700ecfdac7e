package window

// live counts pairs of a key and a window that has not been dropped: for each pane of a key the windows that no earlier pane of the key
// is in.
func (s *slider) live() int {
	p := s.p
	keys, r := 0, ranges{}
	for _, n := range p.list {
		keys = max(keys, n.table.n)
		r.join(n.table.ranges)
	}
	var counted table // keys, each with the end of its last window that has been counted
	counted.open(lastWord+1, keys, r)
	live, done := 0, subSaturating(p.watermark, p.spec.Lateness)
	var buf [inlineSize]byte
	for _, n := range p.list {
		if maxTimestamp(n.lastEnd) <= done {
			continue
		}
		t := &n.table
		for e := 0; e < len(t.mem); e += t.stride {
			if t.mem[e] == 0 {
				continue
			}
			tag, key := t.key(uint32(e), &buf)
			at, fresh := counted.at(t.hashOf(t.mem, uint32(e)), tag, key)
			over := done
			if !fresh {
				over = max(over, maxTimestamp(int64(counted.mem[at+lastWord])))
			}
			if maxTimestamp(n.lastEnd) <= over {
				continue
			}
			first := p.cut.window(&n.slice, over)
			live += int(uint64(n.lastEnd-first.End)/uint64(p.spec.Slide)) + 1
			counted.mem[at+lastWord] = uint64(n.lastEnd)
		}
	}
	return live
}

// lastWord is where an entry of live's table has the end of the last window.
const lastWord = keyWord + 2
