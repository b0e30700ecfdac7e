package wire

// Refusal is a record that a source has sent and the pipeline cannot use.
type Refusal struct {
	Record  int64 // its number, as the source has given it: Base of its batch, and its row
	Code    string
	Message string
}

// Refuser is a Source that wants to be told what became of its records; its description says TakesRefusals.
type Refuser interface {
	// Refused tells of records of a partition, in the order in which they came, that the pipeline has refused: they could not be decoded, have
	// no usable time, and so on. It comes before the Ack of a position behind them, or, if the daemon ends before that, not at all. Records
	// that the source itself has rejected are not among them. Numbers of partitions that have ended are ignored. It is called by the
	// goroutine that calls Ack, and does not wait for the source.
	Refused(partition uint32, refused []Refusal) error
}
