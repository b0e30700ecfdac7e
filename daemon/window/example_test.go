package window_test

import (
	"fmt"

	"github.com/tidemark-stream/tidemark/daemon/aggregate"
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// One shard of an operator: rows go in, a watermark makes the windows that are over come out.
func ExampleNew() {
	layout, err := aggregate.New([]aggregate.Spec{{Name: "events", Func: "count"}})
	if err != nil {
		panic(err)
	}
	spec := window.Spec{Type: window.Session, Gap: 30_000}
	var out window.Output
	op, err := window.New(spec, layout, window.Env{KeyFields: []string{"user"}}, &out)
	if err != nil {
		panic(err)
	}

	rows := batch.Get()
	rows.N = 3
	rows.Times = append(rows.Times, 1_000, 20_000, 90_000)
	user := rows.AddColumn("user")
	for i := range rows.N {
		rows.SetText(user, i, batch.String, "ada")
	}
	var keys rowkey.Keys
	keys.Compute(rows, []string{"user"})

	op.Process(window.Rows{Batch: rows, Index: []uint32{0, 1, 2}, Keys: &keys})
	op.AdvanceWatermark(60_000)

	res := out.Results
	for i := range res.N {
		fmt.Printf("%s from %d to %d: %d events\n", res.Text(res.Column("user").Bits[i]),
			res.Column(window.StartColumn).Bits[i], res.Column(window.EndColumn).Bits[i], res.Column("events").Bits[i])
	}
	fmt.Println(op.Live(), "session is still open")
	// Output:
	// ada from 1000 to 50000: 2 events
	// 1 session is still open
}

// What `tidemark explain` says about a window.
func ExampleSpec_Explain() {
	spec := window.Spec{Type: window.Tumbling, Size: 10_000, Lateness: 5_000}
	for _, sentence := range spec.Explain(window.Span{Start: 0, End: 10_000}).Rules {
		fmt.Println(sentence)
	}
	// Output:
	// It has the rows from 1970-01-01T00:00:00Z (included) to 1970-01-01T00:00:10Z (not included) by event time.
	// It gives its result when the watermark reaches its last millisecond, 1970-01-01T00:00:09.999Z.
	// After that each row for it gives a result at once.
	// It is kept for the allowed lateness of 5s and dropped when the watermark reaches 1970-01-01T00:00:14.999Z; rows for it that come later are late.
	// Each result has everything that has come so far.
}
