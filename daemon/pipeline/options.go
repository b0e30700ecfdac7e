package pipeline

import "github.com/tidemark-stream/tidemark/sdk/batch"

// An option of an assigner that is an expression gives it a column named like the option: when, marker, watermark. Records may well have a
// field of that name, which later steps read. So the option's column is put aside then, and takes the field's place only while the assigner
// has the batch.

// present exchanges fields and the options that are named like them: before a plugin is given b, so that it finds its options, and again
// when it has answered, so that all others find the fields.
func present(b *batch.Batch, options []computedColumn) {
	for i := range options {
		name := options[i].name
		if option := b.Column(batch.Aside(name)); option != nil {
			b.Column(name).Name, option.Name = option.Name, name
		}
	}
}
