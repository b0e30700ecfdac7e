// Package format turns rows into text for sinks that write text: one JSON object a line, a line made from a template, CSV, or the
// record's own bytes.
//
// A [Formatter] is made from a component's settings and belongs to one goroutine. [Formatter.Append] takes a batch of columns and
// appends each selected row, its line end included, to another batch as a raw row; nothing is allocated for a JSON row.
//
// What a value looks like is the same in all formats, so that changing the format never changes a value:
//
//   - integers exactly, up to the ends of int64 and uint64;
//   - floats as the shortest text that reads back as the same float, in JSON's way (1.5, 1e+21), integral ones without a point;
//     NaN and the infinities, which JSON has no numbers for, as the strings "NaN", "Infinity", "-Infinity";
//   - times as RFC 3339 in UTC with milliseconds (2023-11-14T22:13:20.000Z), or as an integer of milliseconds with TimeFormat
//     epoch_ms. Years that do not fit four digits are written with a sign and six, as ISO 8601 has it. The ends of the time line,
//     which stand for "no time", are null;
//   - text as it is, with what JSON or CSV must escape; bytes that are not UTF-8 become U+FFFD in JSON;
//   - nested JSON as it stood in the record, on one line.
//
// A field that a row does not have is left out of its JSON object; null is null in JSON and nothing in text and CSV.
//
// The package is pure: no clock, no goroutine, no file.
package format
