// Package decode turns the raw rows of a batch into columns.
//
// A [Spec] says what the rows look like (json, csv, delimited, regex, logfmt, clf, syslog, raw) and which of their fields
// are wanted. [New] checks it and builds a [Decoder]; [Decoder.Decode] appends one column for each wanted field, in order.
// Nothing else is parsed further than checking that the row is well formed, and nothing is copied that stands literally in
// the row: strings are references into the batch's own bytes.
//
// [Timestamps] turns a column into event time: numbers of a unit, RFC 3339, layouts.
//
// Rules for every format, whatever is projected:
//
//   - A row is refused ([batch.BadRow]) with one of the codes below, or decoded; the raw row is never changed. Whether a row
//     is refused because of its form never depends on which fields are wanted.
//   - A byte order mark at the start of a row and one carriage return at its end are not part of it.
//   - Text that is not valid UTF-8 is refused, or each wrong byte becomes U+FFFD (Spec.InvalidUTF8). Strings of a column are
//     valid UTF-8 either way.
//   - A row without anything in it but white space is refused as "empty", except by raw.
//   - Without a declared type, json values keep their own type; every other format gives strings (an integer there may be an
//     identifier whose leading zeros count), unless Spec.Infer is set.
//   - With a declared type, a value is converted where that loses nothing; else the row is refused with code "type". A
//     missing or null value stays what it is, and an empty text of a type other than string is null.
//
// What a row makes in Extra (texts without their escapes, replaced bytes, the whole row as an object) is at most six bytes for
// each of its bytes, for each field that asks for it, besides the names in an object.
//
// A Decoder and a Timestamps belong to one goroutine; make one for each worker. They keep nothing from one batch to the next
// that could change a result, so rows may be cut into batches, and batches given to workers, in any way. The one thing that
// rows of a csv file owe to a row before them, the header, is attached to each batch by [Headers] before decoding.
//
// The package has no goroutine, clock, file or lock.
package decode
