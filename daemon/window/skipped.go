package window

// Skipper is an operator that can tell which values its aggregates have left out.
type Skipper interface {
	// Skipped counts, for each aggregate of the layout, the values that it cannot take (text where it adds up, say), since the operator was
	// made. It is called between two other calls, and the slice is the operator's.
	Skipped() []uint64
}

var (
	_ Skipper = (*general)(nil)
	_ Skipper = (*panes)(nil)
)

func (g *general) Skipped() []uint64 { return g.layout.Skipped() }
func (p *panes) Skipped() []uint64   { return p.layout.Skipped() }
