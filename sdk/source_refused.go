package sdk

import "github.com/tidemark-stream/tidemark/sdk/wire"

// Refusal is a record that a source has sent and the pipeline cannot use.
type Refusal = wire.Refusal

// RefusalTaker is an [Acker] that answers whoever it has the records from, and so wants to know which of them the pipeline has refused. Its
// description says [TakesRefusals].
type RefusalTaker interface {
	Acker
	// Refused tells of records that the pipeline has refused: they could not be decoded, have no usable time, and so on. They are in the order
	// in which they were sent, and named by the numbers of their batches (Base and Unit, see [Partition.Send]). What the source has put
	// into a batch's Rejects is not among them. It is called by the goroutine that calls Ack, before the Ack of a position behind them.
	// A record that the pipeline holds in doubt (confirm_jump) when it is acknowledged is never told of.
	Refused(partition string, refused []Refusal)
}

// TakesRefusals says that a source is a [RefusalTaker].
func TakesRefusals() About { return func(d *Description) { d.TakesRefusals = true } }

var _ wire.Refuser = (*sourceRun)(nil)

// refusals are those of one partition that have not been told yet.
type refusals struct {
	partition string
	refused   []Refusal
}

// Refused keeps what is to be told before the next acknowledgement. It is as much as the pipeline has refused between two commits, and a
// source that is slow with an acknowledgement gets no more of them meanwhile, while its own queue to the pipeline is bounded.
func (r *sourceRun) Refused(id uint32, refused []Refusal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.byID[id]; p != nil && r.takesRefusals {
		r.refused = append(r.refused, refusals{p.name, refused})
	}
	return nil
}

// tellRefused tells what has been refused so far.
func (r *sourceRun) tellRefused(acker Acker) {
	taker, ok := acker.(RefusalTaker)
	if !ok {
		return
	}
	r.mu.Lock()
	all := r.refused
	r.refused = nil
	r.mu.Unlock()
	for _, x := range all {
		taker.Refused(x.partition, x.refused)
	}
}
