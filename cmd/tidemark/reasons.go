package main

import (
	"slices"

	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/daemon/transform"
	"github.com/tidemark-stream/tidemark/daemon/watermark"
	"github.com/tidemark-stream/tidemark/plugins/assigner/marker"
	"github.com/tidemark-stream/tidemark/plugins/framing"
)

// reasons are those that the engine and the shipped plugins give for setting a record aside; plugins of others may have more. The guide
// (docs/guide/operate.md) has the same table.
var reasons = []struct{ code, meaning string }{
	{framing.TooLong, "it is longer than `max_record`; its beginning is kept"},
	{framing.Partial, "the stream ended in its middle: a connection broke, a file was emptied or cut short"},
	{"damaged", "no record, but a file: from here on it cannot be read"},
	{decode.CodeMalformed, "it is not of the format"},
	{decode.CodeEmpty, "there is nothing in it"},
	{decode.CodeInvalidUTF8, "it is not UTF-8, and `invalid_utf8` is `reject`"},
	{decode.CodeType, "a field does not fit its declared type"},
	{decode.CodeColumns, "it has more or fewer columns than there are names, and `extra` or `short` is `reject`"},
	{decode.CodeNoHeader, "the header row of its file is not known"},
	{decode.CodeNoColumn, "the header row of its file lacks a column that the pipeline needs"},
	{decode.CodeNoTimestamp, "its time is missing, null or empty"},
	{decode.CodeBadTimestamp, "its time is no time of the `unit`"},
	{watermark.CodeTooFarAhead, "its time is further ahead of the clock than `max_ahead`"},
	{watermark.CodeUnconfirmedJump, "its time is further ahead of the others than `confirm_jump`, and no other record confirmed it"},
	{marker.NoWatermark, "it is a marker without a time"},
	{transform.CodeExpression, "an expression failed for it"},
	{transform.CodeNotAList, "what `unnest` is to take apart is no list"},
	{"late", "all its windows had closed"},
	{"too_many_records", "no record, but a window: it has more records than are kept for a plugin"},
	{"poison", "a plugin died of it twice"},
	{"refused", "a plugin refused it; the message is the plugin's"},
	{"template", "it has no form in the sink's `template`"},
	{"not_an_object", "the sink writes fields, and it is no object"},
	{"nul", "PostgreSQL stores no text with the character NUL"},
}

func knownReason(code string) bool {
	return slices.ContainsFunc(reasons, func(r struct{ code, meaning string }) bool { return r.code == code })
}
