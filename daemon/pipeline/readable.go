package pipeline

// JournalEntry is the number of the entry up to which the journal of a source has been processed, if a commit's partition of that name and
// position says that. ok is false for all others.
func JournalEntry(partition string, position []byte) (number uint64, ok bool) {
	if partition != journalPartition {
		return 0, false
	}
	number, _, err := parseJournalPosition(position)
	return number, err == nil
}
