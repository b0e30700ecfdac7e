// Package postgres is the sink that writes rows to a table of a PostgreSQL database, each exactly once.
//
// A delivery is one transaction: the rows go in with COPY, and the number of the last one into the table tidemark_delivered beside
// them. After a crash the number says where to go on. The numbers belong to the pipeline's state store; those of another store do not
// count.
//
// Columns of the table are filled from fields of the same name; other fields are an error at the first delivery, unless columns names
// those to write. Values are written as text and read by the server as the column's type, so every type works that takes such a
// text; times go into integer columns as milliseconds since 1970, JSON values and everything else into json and jsonb columns
// as JSON.
//
// A row that the server will never take (a value that the column's type does not take, a constraint) is found by the line that the
// server names, left out, and returned to the daemon, which dead-letters it; the others are in the table. With key = [...] rows are
// inserted or, where the key is there already, replace what it has; of several with one key the last counts.
//
// The character NUL, which JSON can hold and PostgreSQL cannot, is refused with its row, removed or replaced, as nul says.
//
//	table.go   what the table looks like
//	copy.go    rows as COPY text
//	sink.go    transactions, refused rows, the books
package postgres
