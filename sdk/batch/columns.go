package batch

// KeepColumns keeps the columns with these numbers, each at most once, in this order, and drops the others. The memory of dropped
// columns is used again by AddColumn, except in a fork, which may share it.
func (b *Batch) KeepColumns(order []int) {
	var few [32]Column
	old := append(few[:0], b.Columns...)
	b.Columns = b.Columns[:0]
	for _, i := range order {
		b.Columns = append(b.Columns, old[i])
		old[i].Kinds, old[i].Bits = nil, nil
	}
	rest := b.Columns[len(b.Columns):len(old)]
	clear(rest)
	if b.parent != nil {
		return
	}
	k := 0
	for i := range old {
		if old[i].Kinds != nil {
			rest[k] = old[i]
			k++
		}
	}
}
