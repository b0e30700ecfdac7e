package decode

import (
	"bytes"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// textDecoder is what the formats of text share: they split a row into values, and it checks the row's characters, converts
// values to their types and writes the cells.
type textDecoder struct {
	fields  []field
	replace bool
	infer   bool
	whole   bool
	times   *Timestamps // times that the format itself defines; nil where it defines none
	types   map[string]Type

	b     *batch.Batch
	cols  []batch.Column
	bad   *badRows
	ascii bool
	nul   bool // there is a zero byte in the batch

	object []byte // of Spec.Whole, while it is made
}

// span is a piece of text and where it stands: a literal part of the batch's bytes, or something made in Extra.
type span struct {
	text []byte
	ref  uint64 // reference of text[0]
}

// sub is the part [from:to) of s.
func (s span) sub(from, to int) span {
	return span{s.text[from:to:to], s.ref + batch.Ref(from, 0)}
}

// cell is the reference that a cell holds for s.
func (s span) cell() uint64 { return s.ref + uint64(len(s.text)) }

func (t *textDecoder) begin(b *batch.Batch, cols []batch.Column, bad *badRows) {
	t.b, t.cols, t.bad = b, cols, bad
	t.ascii = isASCII(b.Data)
	t.nul = bytes.IndexByte(b.Data, 0) >= 0
}

func (t *textDecoder) end() { t.b, t.cols, t.bad = nil, nil, nil }

// live is the number of the k-th selected row.
func (t *textDecoder) live(k int) int {
	if t.b.Sel == nil {
		return k
	}
	return int(t.b.Sel[k])
}

// line is row i without a byte order mark and a carriage return at its end, as valid UTF-8. ok is false when it was refused.
func (t *textDecoder) line(i int) (s span, ok bool) {
	b := t.b
	start, end := int(b.Offsets[i]), int(b.Offsets[i+1])-int(b.Trailer)
	if end > start && b.Data[end-1] == '\r' {
		end--
	}
	if t.nul && isUTF16(b.Data[start:end]) {
		t.bad.refuse(i, CodeInvalidUTF8, utf16Message)
		return s, false
	}
	if t.ascii {
		return span{b.Data[start:end:end], batch.Ref(start, 0)}, true
	}
	return t.checked(i, start, end)
}

func (t *textDecoder) checked(i, start, end int) (s span, ok bool) {
	b := t.b
	start += bomLength(b.Data[start:end])
	text := b.Data[start:end:end]
	if validUTF8(text) {
		return span{text, batch.Ref(start, 0)}, true
	}
	if !t.replace {
		t.bad.refuse(i, CodeInvalidUTF8, invalidUTF8Message(text))
		return s, false
	}
	off := len(b.Extra)
	b.Extra = appendReplaced(b.Extra, text)
	return span{b.Extra[off:len(b.Extra):len(b.Extra)], batch.ExtraRef(off, 0)}, true
}

// typeOf is the declared type of a field.
func (t *textDecoder) typeOf(name string) Type { return t.types[name] }

// put writes a value into the cell of column c in row i, by the field's type. It is false when the row was refused for it.
func (t *textDecoder) put(c, i int, v span) bool {
	f, col := &t.fields[c], &t.cols[c]
	switch f.Type {
	case TypeString:
		col.Set(i, batch.String, v.cell())
		return true
	case TypeDynamic, TypeExact:
		kind, value := batch.String, v.cell()
		if t.infer {
			if k, x := inferText(v.text); k != batch.String {
				kind, value = k, x
			}
		}
		col.Set(i, kind, value)
		return true
	case TypeInt:
		// Most integers are plain digits; the long way knows the rest.
		if q, m := digitRun(v.text, 0, 0); q == len(v.text) && q > 0 && q <= 18 {
			col.Set(i, batch.Int, m)
			return true
		}
	case TypeFloat, TypeNumber:
		if q, kind, value := scanNumber(v.text, 0); q == len(v.text) && (kind == batch.Float || kind == batch.Int && f.Type == TypeNumber) {
			col.Set(i, kind, value)
			return true
		}
	}
	return t.convert(c, i, v)
}

func (t *textDecoder) convert(c, i int, v span) bool {
	f := &t.fields[c]
	kind, value, problem := parseText(v.text, f.Type, f.times)
	if problem != "" {
		t.bad.refuse(i, CodeType, typeMessage(f, v.text, problem))
		return false
	}
	if kind == batch.JSON {
		trimmed := bytes.TrimSpace(v.text)
		from := cap(v.text) - cap(trimmed) // both end where their memory does
		value = v.sub(from, from+len(trimmed)).cell()
	}
	t.cols[c].Set(i, kind, value)
	return true
}

// missing writes that the field of column c is not in row i.
func (t *textDecoder) missing(c, i int) { t.cols[c].SetMissing(i) }
