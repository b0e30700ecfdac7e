package deadletter

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Letter is a refused record.
type Letter struct {
	Number uint64 // its place in the store; given by the store

	Code    string // stable reason, e.g. "malformed", "late", "too_far_ahead"
	Message string // for people

	Component string // who refused it, by its name in the pipeline file
	Port      string // the port that nobody read: "errors", "late", …

	Source    string             // the source it came from
	Partition string             // the partition's name in that source
	Position  int64              // its place there
	Unit      batch.PositionUnit // what Position counts

	EventTime      int64 // ms; batch.NoTimestamp where it has none
	Watermark      int64 // ms, as the component saw it; batch.NoWatermark where there was none
	ProcessingTime int64 // ms, when it was refused

	Raw       []byte // the record as it came
	RawLength int64  // bytes it had; more than len(Raw) when only its beginning was kept
}

const letterVersion = 1 // the first one

// AppendTo encodes l without its number.
func (l *Letter) AppendTo(dst []byte) []byte {
	dst = append(dst, letterVersion)
	for _, s := range []string{l.Code, l.Message, l.Component, l.Port, l.Source, l.Partition} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	dst = binary.AppendVarint(dst, l.Position)
	dst = append(dst, byte(l.Unit))
	for _, v := range []int64{l.EventTime, l.Watermark, l.ProcessingTime, l.RawLength} {
		dst = binary.AppendVarint(dst, v)
	}
	return append(dst, l.Raw...)
}

var errLetter = errors.New("deadletter: damaged letter")

// Decode is the inverse of AppendTo. Everything is copied, and Number is left as it is.
func (l *Letter) Decode(b []byte) error {
	if len(b) == 0 || b[0] != letterVersion {
		return errLetter
	}
	b = b[1:]
	for _, s := range []*string{&l.Code, &l.Message, &l.Component, &l.Port, &l.Source, &l.Partition} {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return errLetter
		}
		*s = string(b[w : w+int(n)])
		b = b[w+int(n):]
	}
	number := func(v *int64) bool {
		n, w := binary.Varint(b)
		if w <= 0 {
			return false
		}
		*v, b = n, b[w:]
		return true
	}
	if !number(&l.Position) || len(b) == 0 {
		return errLetter
	}
	l.Unit, b = batch.PositionUnit(b[0]), b[1:]
	for _, v := range []*int64{&l.EventTime, &l.Watermark, &l.ProcessingTime, &l.RawLength} {
		if !number(v) {
			return errLetter
		}
	}
	l.Raw = append([]byte(nil), b...)
	return nil
}

// MarshalJSON is the form of `deadletters show --json` and of an export: one object, times in RFC 3339 and absent where there is none, raw as
// text where it is UTF-8 and as raw_base64 otherwise.
func (l Letter) MarshalJSON() ([]byte, error) {
	out := struct {
		Number         uint64 `json:"number"`
		Code           string `json:"code"`
		Message        string `json:"message"`
		Component      string `json:"component"`
		Port           string `json:"port"`
		Source         string `json:"source"`
		Partition      string `json:"partition"`
		Position       int64  `json:"position"`
		PositionUnit   string `json:"position_unit"`
		EventTime      string `json:"event_time,omitempty"`
		Watermark      string `json:"watermark,omitempty"`
		ProcessingTime string `json:"processing_time"`
		Raw            string `json:"raw,omitempty"`
		RawBase64      string `json:"raw_base64,omitempty"`
		RawLength      int64  `json:"raw_length"`
	}{
		Number: l.Number, Code: l.Code, Message: l.Message, Component: l.Component, Port: l.Port,
		Source: l.Source, Partition: l.Partition, Position: l.Position, PositionUnit: "record",
		EventTime: eventTime(l.EventTime), Watermark: eventTime(l.Watermark), ProcessingTime: eventTime(l.ProcessingTime),
		RawLength: l.RawLength,
	}
	if l.Unit == batch.ByteOffset {
		out.PositionUnit = "byte"
	}
	if utf8.Valid(l.Raw) {
		out.Raw = string(l.Raw)
	} else {
		out.RawBase64 = base64.StdEncoding.EncodeToString(l.Raw)
	}
	return json.Marshal(out)
}

// eventTime writes a time in ms; the end of input, and years that RFC 3339 has no place for, are told in words.
func eventTime(ms int64) string {
	const year1, year10000 = -62_135_596_800_000, 253_402_300_800_000
	switch {
	case ms == batch.NoTimestamp:
		return ""
	case ms == batch.EndOfInput:
		return "end of input"
	case ms < year1 || ms >= year10000:
		return "out of range"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
