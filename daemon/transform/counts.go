package transform

// Counts says what became of the rows of a step: In = Out + Filtered + Rejected, except for unnest, where one row can become
// several.
type Counts struct {
	In       uint64 // alive rows that came
	Out      uint64 // rows that go on
	Filtered uint64 // rows that the step was asked to leave out
	Rejected uint64 // rows that it could not handle; they are the new entries of the batch's Bad
}

// Add sums.
func (c *Counts) Add(o Counts) {
	c.In += o.In
	c.Out += o.Out
	c.Filtered += o.Filtered
	c.Rejected += o.Rejected
}
