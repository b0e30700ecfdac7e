package window

// lateRow takes a row for a pane whose first window has ended. It fires at once in those of its windows that have fired before and
// have not been dropped (7.7), or is collected for that; the windows to come have it anyway.
func (p *panes) lateRow(rows *Rows, row uint32, n *pane) {
	// The result has what arrived before the row, in whatever pane.
	p.flush(rows)
	hash, tag, key := rows.Keys.Hash[row], rows.Keys.Tag[row], rows.Keys.Bytes(int(row))
	p.touch(n)
	t := &n.table
	var at uint32
	if n.spilled && (p.spec.Lateness > 0 || p.disk.ordered) {
		var ok bool
		if at, ok = p.wholeEntry(n, hash, tag, key, true); !ok {
			return
		}
	} else {
		var fresh bool
		if at, fresh = t.at(hash, tag, key); fresh {
			t.mem[at] |= bornLate
		}
		t.touch(at)
	}
	p.fired.at = append(p.fired.at[:0], at)
	one := [1]uint32{row}
	p.layout.Add(t.mem, p.fired.at, one[:], &t.heap)
	if p.spec.Type != Tumbling {
		p.slide.late(n, rows, row)
	}
	switch {
	case p.spec.Lateness == 0: // fired windows have been dropped
	case p.spec.LateEvery > 0:
		if t.mark(at, lateMark) {
			t.late = append(t.late, at)
		}
		if p.lateDue == notDue {
			p.lateDue = p.lateFiring()
		}
	case p.spec.Type == Tumbling:
		p.fireAgain(n, p.fired.at)
		p.writer.segment(row, 0, n.span.End, 1)
	case p.anyOnDisk():
		p.fireDiskLate(n, row, hash, tag, key)
	default:
		p.slide.fireLate(n, row, hash, tag, key)
	}
	p.weigh(n)
}

// lateFiring is when late rows that are collected from now on fire, see general.lateFiring.
func (p *panes) lateFiring() int64 {
	return nextMultiple(addSaturating(p.watermark, 1), p.spec.LateEvery) - 1
}

// fireAgain writes results of entries whose window has ended before. They belong to a tumbling window.
func (p *panes) fireAgain(n *pane, at []uint32) {
	r := result{span: n.span, watermark: p.watermark, timing: Late}
	row := p.writer.addRun(r, &n.table, at)
	if !p.counts {
		return
	}
	firing := &p.out.Results.Columns[p.writer.meta+1]
	for i, e := range at {
		// The result on time was the first, if the window had the key then.
		number := n.table.mem[e+countWord]
		n.table.mem[e+countWord]++
		if n.table.mem[e]&bornLate == 0 {
			number++
		}
		firing.SetInt(row+i, int64(number))
		n.table.touch(e)
	}
}

// fireCollected emits the collected late rows of a pane.
func (p *panes) fireCollected(n *pane, at int64) {
	t := &n.table
	if !p.readLate(n) || len(t.late) == 0 {
		return
	}
	p.fired.take(t, t.late)
	for _, e := range t.late {
		t.mem[e] &^= lateMark
		t.touch(e) // the mark is in the store
	}
	t.late = t.late[:0]
	p.fireAgain(n, p.fired.at)
	p.writer.segment(p.out.Place, at, n.span.End, len(p.fired.at))
}
