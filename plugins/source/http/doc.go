// Package http is the source that takes records over HTTP: a POST with one record a line, or with JSON values.
//
// A request is answered when its records are safe, that is, when the checkpoint that holds them has been committed; after a
// failure the client sends again what was not answered. A request whose answer was lost counts twice then, wholly or in part, because the
// journal or the commit may have it already; a dedup step over an id of the records mends that. The answer says how many records were taken, and which were not and
// why: over-long ones, those that cannot be decoded, whose fields do not have their types or whose time makes no sense. These go to the errors
// port, too. What is refused by a later step, or comes late, was taken. With answer = "received", and where the journal is written to the disk
// record by record ([journal] sync = "always"), the answer does not wait for the pipeline, and knows over-long records and those that are
// no JSON only. While the pipeline cannot take more the answer is 429 with Retry-After; nothing is dropped in silence.
//
//	POST / HTTP/1.1
//	Content-Type: application/x-ndjson
//
//	{"user":"ann","ts":1000}
//	{"user":"bob","ts":2000}
//
//	HTTP/1.1 200 OK
//	{"accepted":2,"rejected":[]}
//
// A request of which nothing was taken is answered with 400.
//
// With Content-Type application/json the body is one JSON value or several, and the elements of an array are records of their own. So
// they are where records are JSON and the body begins like an array of objects, unless its type is one of lines. Bodies
// may be compressed (Content-Encoding gzip or zstd). All records are one partition, in the order in which the requests were taken.
package http
