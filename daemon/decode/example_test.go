package decode_test

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/daemon/decode"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// A batch of JSON lines becomes two columns and the event time of each row. The third row has no time and is refused.
func Example() {
	b := batch.Get()
	for _, row := range []string{
		`{"user":"ada","ts":1700000000.5,"page":{"path":"/a"}}`,
		`{"ts":"1700000001","page":{"path":"/b"},"user":"bob"}`,
		`{"user":"eve","page":{}}`,
	} {
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
		b.Data = append(append(b.Data, row...), '\n')
		b.N++
	}
	b.Offsets, b.Trailer = append(b.Offsets, uint32(len(b.Data))), 1

	d, errs := decode.New(decode.Spec{Format: "json", Fields: []decode.Field{{Name: "page.path"}, {Name: "ts"}}})
	if errs != nil {
		fmt.Println(errs)
		return
	}
	d.Decode(b)
	t, err := decode.NewTimestamps("s", decode.TimeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	times := make([]int64, b.N)
	t.Column(b, b.Column("ts"), times)

	path := b.Column("page.path")
	for _, i := range b.Sel {
		fmt.Printf("%d %s\n", times[i], b.Text(path.Bits[i]))
	}
	for _, bad := range b.Bad {
		fmt.Printf("row %d: %s: %s\n", bad.Row, bad.Code, bad.Message)
	}
	// Output:
	// 1700000000500 /a
	// 1700000001000 /b
	// row 2: no_timestamp: time field "ts" is missing
}
