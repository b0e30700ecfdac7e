package checkpoint

// Snapshot is the small part of a commit: where everything stands, but for windows and outboxes.
type Snapshot struct {
	Sources map[string]Source // by component name
	Stages  map[string]Stage
}

// Source is where a source stands.
type Source struct {
	Watermark  int64  // of all its partitions together, ms; batch.NoWatermark where there is none
	Guard      []byte // state of the guards against wild timestamps; opaque
	Partitions map[string]Partition
}

// Partition is where a partition of a source stands.
type Partition struct {
	Position  []byte // opaque: where the source goes on; behind the last row that is in the commit
	Header    []byte // the record that names the columns, for formats that have one
	Assigner  []byte // snapshot of its assigner; opaque
	Watermark int64  // batch.NoWatermark where there is none
	Ended     bool   // nothing more comes from it
	Idle      bool   // the watermark does not wait for it
	Marks     []byte // what confirm_jump knows of its watermarks; opaque, nil where it is not used
}

// Stage is where a keyed operator stands, beside its entries in the store.
type Stage struct {
	Watermark int64
	Valve     []byte // state of the valve of several inputs; opaque
}

func newSnapshot() Snapshot {
	return Snapshot{Sources: map[string]Source{}, Stages: map[string]Stage{}}
}
