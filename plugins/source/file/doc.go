// Package file is the source that reads files: once to their ends, or for ever while they grow, are rotated and come and go.
//
// A generation of a file is a partition: its name is the path, and the next generation under the same path is "path;2". A
// position holds the offset and what the file is recognised by: device, inode, a fingerprint of its beginning and one of what
// stands before the offset. So a file is found again under another name, and other contents under the same name are noticed,
// by content and not by size alone, whether that happened while the source ran or while it was stopped.
//
//   - Renamed: the file is read on under its new name; when nothing has come for rotate_wait its partition ends.
//   - Copied and truncated: the copy, if the pattern matches it, is recognised as read up to where the original was, and read on
//     from there; the path begins a new generation. What was written between copy and truncate is lost by nature.
//   - Deleted: what is still open is read to its end.
//
// Read once, all files are read together, always the one with the fewest bytes read so far: which file a batch comes from depends on
// the files alone, also after a restart. All partitions are there from the start, so time waits for every file, however their
// times overlap. With read = "in_order" one file follows the other, for files that begin where the last one ended.
//
// Compressed files (gzip with any number of members, zstd) are recognised by their first bytes. One that is damaged or cut short gives what
// can be read, one reject that names it, and is not read again. So does one that is packed in a way that is not known here (xz, zip, …).
//
//	config.go     options
//	expand.go     patterns to paths
//	identity.go   what a file is recognised by
//	window.go     what was read of a file, for that
//	position.go   positions
//	catalog.go    the generations that are known, and which one a file is
//	reader.go     one open file; packing.go: compressed ones
//	once.go       reading once
//	follow.go     following: the loop; tail.go: one followed file
package file
