package decode

import "github.com/tidemark-stream/tidemark/sdk/batch"

// rawField is the name of the only field of raw, unless the spec declares another.
const rawField = "message"

// rawFormat takes the whole row as one text. Even an empty row is one.
type rawFormat struct {
	*textDecoder
	name string
}

func (f *rawFormat) decode(b *batch.Batch, cols []batch.Column, bad *badRows) {
	f.begin(b, cols, bad)
	defer f.end()
rows:
	for k := range b.Alive() {
		i := f.live(k)
		row, ok := f.line(i)
		if !ok {
			continue
		}
		for c := range f.fields {
			if f.fields[c].flat != f.name {
				f.missing(c, i)
			} else if !f.put(c, i, row) {
				continue rows
			}
		}
		if f.whole {
			f.openObject()
			f.member(f.name, row.text, f.typeOf(f.name))
			f.closeObject(i)
		}
	}
}
