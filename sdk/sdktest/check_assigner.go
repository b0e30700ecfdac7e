package sdktest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// kitTime is the time of the first made-up record: 2023-11-14T22:13:20Z.
const kitTime = 1_700_000_000_000

func (k *kit) assigner() {
	rows, previous := k.records(k.s.Records)
	k.try("batches do not show", func() error { return k.batchesDoNotShow(rows, previous) })
	k.try("a snapshot and a restart at every place do not show", func() error { return k.restartsDoNotShow(rows, previous) })
	k.try("disorder and duplicates are survived", func() error { return k.disorder(rows, previous) })
	k.try("missing and odd values are survived", func() error { return k.oddValues(rows, previous) })
	k.try("partitions do not know of each other", func() error { return k.partitionsDoNotShow(rows, previous) })
	k.try("it can be asked on a timer", func() error { return k.ticks(rows, previous) })
	k.try("silence does not move time", func() error { return k.silent(rows, previous) })
	k.try("it ends at any moment", k.assignerEnds)
	if !k.s.NoSpeed {
		k.try("speed", k.assignerSpeed)
	}
}

// records makes rows, a bit out of order as in life, and the timestamps that the pipeline has found in them.
func (k *kit) records(n int) (rows []map[string]any, previous []int64) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		ts := int64(kitTime + 250*i - random.IntN(3000))
		previous = append(previous, ts)
		if k.s.Record != nil {
			m, err := fieldsOf(k.s.Record(i))
			if err != nil {
				panic(err)
			}
			rows = append(rows, m)
			continue
		}
		row := map[string]any{}
		for _, f := range k.fields() {
			row[f.Name] = made(f.Type, i, ts)
		}
		rows = append(rows, row)
	}
	return rows, previous
}

// fields are the columns that the plugin reads: of the record, and of its options.
func (k *kit) fields() []wire.Field {
	fields := append([]wire.Field{}, k.d.Fields...)
	for _, o := range k.d.Options {
		if _, set := k.s.Options[o.Name]; set && (o.Type == wire.ExprOption || o.Type == wire.FieldOption) {
			fields = append(fields, wire.Field{Name: o.Name, Type: o.Result})
		}
	}
	if k.d.AllFields {
		fields = append(fields, wire.Field{Name: "ts", Type: wire.IntCell}, wire.Field{Name: "user", Type: wire.StringCell}, wire.Field{Name: "value", Type: wire.FloatCell})
	}
	return fields
}

func made(t wire.CellType, i int, ts int64) any {
	switch t {
	case wire.BoolCell:
		return i%10 == 9
	case wire.IntCell:
		return ts
	case wire.TimeCell:
		return time.UnixMilli(ts)
	case wire.FloatCell:
		return float64(ts) + 0.5
	case wire.StringCell:
		return fmt.Sprint("user", i%7)
	}
	if i%3 == 0 {
		return fmt.Sprint("any", i)
	}
	return ts
}

func (k *kit) openAssigner(every bool) (wire.Assigner, error) {
	return k.p.OpenAssigner(wire.AssignerOpen{Plugin: k.d.Name, Options: k.s.Options.json(), EveryRecord: every}, k.runtime())
}

// assign runs rows through an instance of its own.
func (k *kit) assign(rows []map[string]any, previous []int64, size int) (answers, error) {
	a, err := k.openAssigner(true)
	if err != nil {
		return answers{}, fmt.Errorf("open: %w", err)
	}
	defer a.Close()
	if err := a.AddPartition(0, "p", nil); err != nil {
		return answers{}, err
	}
	return run(a, rows, previous, size)
}

func (k *kit) batchesDoNotShow(rows []map[string]any, previous []int64) error {
	want, err := k.assign(rows, previous, 1)
	if err != nil {
		return err
	}
	for _, size := range []int{1, 2, 7, 64, len(rows)} {
		got, err := k.assign(rows, previous, size)
		if err != nil {
			return fmt.Errorf("in batches of %d: %w", size, err)
		}
		if d := want.differ(&got); d != "" {
			return hinted("an assigner looks at records and at nothing else: no clock, no randomness, no other instance", "in batches of 1 and of %d: %s", size, d)
		}
	}
	return nil
}

func (k *kit) restartsDoNotShow(rows []map[string]any, previous []int64) error {
	want, err := k.assign(rows, previous, len(rows))
	if err != nil {
		return err
	}
	for at := range rows {
		if at > 20 && at%17 != 0 {
			continue
		}
		got, state, err := k.assignTo(rows, previous, at)
		if err == nil {
			err = k.assignFrom(rows, previous, at, state, &got)
		}
		if err != nil {
			return fmt.Errorf("restart after record %d: %w", at, err)
		}
		if d := want.differ(&got); d != "" {
			how := "Restore does not bring back all that Snapshot has seen"
			if state == nil {
				how = "the assigner remembers something: implement sdk.Snapshotter, so that a checkpoint can hold it"
			}
			return hinted(how, "restarted after %d records: %s", at, d)
		}
		k.stateful(len(state) > 0)
	}
	return nil
}

// stateful notes, once, a snapshot of which the description does not speak.
func (k *kit) stateful(has bool) {
	if has && !k.d.Snapshots && !k.told {
		k.told = true
		k.note("it has snapshots, and its description does not say so: add sdk.Stateful()")
	}
}

// assignTo runs the first rows and takes a snapshot.
func (k *kit) assignTo(rows []map[string]any, previous []int64, at int) (answers, []byte, error) {
	a, err := k.openAssigner(true)
	if err != nil {
		return answers{}, nil, err
	}
	defer a.Close()
	if err := a.AddPartition(0, "p", nil); err != nil {
		return answers{}, nil, err
	}
	got, err := run(a, rows[:at], previous[:at], 5)
	if err != nil {
		return got, nil, err
	}
	if err := a.Barrier(9); err != nil {
		return got, nil, err
	}
	e, err := a.Recv()
	if err != nil {
		return got, nil, err
	}
	for _, s := range e.States {
		return got, append([]byte{}, s.State...), nil
	}
	return got, nil, nil
}

// assignFrom runs the other rows through a restored instance.
func (k *kit) assignFrom(rows []map[string]any, previous []int64, at int, state []byte, got *answers) error {
	a, err := k.openAssigner(true)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.AddPartition(0, "p", state); err != nil {
		return err
	}
	for i := at; i < len(rows); i++ {
		b := batchOf(rows[i:i+1], previous[i:i+1])
		if err := a.Assign(b); err != nil {
			return err
		}
		e, err := a.Recv()
		if err != nil {
			return err
		}
		got.add(e, i)
		b.Release()
	}
	return nil
}

func (k *kit) disorder(rows []map[string]any, previous []int64) error {
	random := rand.New(rand.NewPCG(3, 4))
	var mixed []map[string]any
	var times []int64
	for range 2 {
		for _, i := range random.Perm(len(rows)) {
			mixed, times = append(mixed, rows[i]), append(times, previous[i])
		}
	}
	_, err := k.assign(mixed, times, 13)
	return err
}

// oddValues tries what nobody expects: nothing at all, nulls, other types, and the ends of the number line, where delays wrap around.
func (k *kit) oddValues(rows []map[string]any, previous []int64) error {
	for _, odd := range []any{nil, true, "odd", "", -1, 0, 1e300, math.NaN(), uint64(math.MaxUint64), []byte(`{"a":1}`)} {
		row := map[string]any{}
		for _, f := range k.fields() {
			row[f.Name] = odd
		}
		if _, err := k.assign([]map[string]any{{}, row, rows[0]}, []int64{batch.NoTimestamp, previous[0], previous[0]}, 3); err != nil {
			return fmt.Errorf("a record whose fields are all %#v: %w", odd, err)
		}
		for name := range rows[0] {
			row := maps.Clone(rows[0])
			row[name] = odd
			without := maps.Clone(rows[0])
			delete(without, name)
			if _, err := k.assign([]map[string]any{row, without}, previous[:2], 2); err != nil {
				return fmt.Errorf("a record without %s, or where it is %#v: %w", name, odd, err)
			}
		}
	}
	for _, edge := range []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 1000, -62_135_596_800_000, -1, 0, 253_402_300_799_999} {
		row := map[string]any{}
		for name, v := range rows[0] {
			if _, isNumber := v.(int64); isNumber {
				v = edge
			}
			row[name] = v
		}
		got, err := k.assign([]map[string]any{row}, []int64{edge}, 1)
		if err != nil {
			return fmt.Errorf("a record at %d: %w", edge, err)
		}
		for _, w := range got.watermarks {
			if w > edge && w-edge > 24*3600*1000 || w > edge && edge < 0 && w > 0 {
				return hinted("the subtraction of the delay wraps around: compare before subtracting, or bound the timestamps",
					"a record at %d gives the watermark %d, far ahead of it", edge, w)
			}
		}
	}
	return nil
}

func (k *kit) partitionsDoNotShow(rows []map[string]any, previous []int64) error {
	want, err := k.assign(rows, previous, len(rows))
	if err != nil {
		return err
	}
	a, err := k.openAssigner(true)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := errors.Join(a.AddPartition(0, "p", nil), a.AddPartition(1, "other", nil)); err != nil {
		return err
	}
	var got answers
	for i := range rows {
		for partition := range uint32(2) {
			at := i
			if partition == 1 {
				at = len(rows) - 1 - i
			}
			b := batchOf(rows[at:at+1], previous[at:at+1])
			b.Partition = partition
			if err := a.Assign(b); err != nil {
				return err
			}
			e, err := a.Recv()
			if err != nil {
				return err
			}
			if partition == 0 {
				got.add(e, i)
			}
			b.Release()
		}
	}
	if d := want.differ(&got); d != "" {
		return hinted("the factory must make a new value for each partition, and instances must share nothing", "beside another partition: %s", d)
	}
	return nil
}

func (k *kit) ticks(rows []map[string]any, previous []int64) error {
	a, err := k.openAssigner(false)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.AddPartition(0, "p", nil); err != nil {
		return err
	}
	got, err := run(a, rows, previous, 10)
	if err != nil {
		return err
	}
	if k.d.Style == wire.Periodic && len(got.watermarks) > 0 {
		return errors.New("it gives watermarks although it was not asked")
	}
	if err := a.Tick([]uint32{0}); err != nil {
		return err
	}
	e, err := a.Recv()
	if err != nil {
		return err
	}
	if k.d.Style == wire.Periodic && len(rows) > 0 && e.Watermarks[0].Watermark == batch.NoWatermark {
		return errors.New("after all records it still has no watermark")
	}
	return nil
}

func (k *kit) assignerEnds() error {
	a, err := k.openAssigner(true)
	if err != nil {
		return err
	}
	if err := errors.Join(a.AddPartition(0, "p", nil), a.RemovePartition(0), a.Close(), a.Close()); err != nil {
		return err
	}
	if _, err := a.Recv(); err == nil {
		return errors.New("it answers after its end")
	}
	empty, err := k.openAssigner(true)
	if err != nil {
		return err
	}
	defer empty.Close()
	if err := empty.AddPartition(0, "p", nil); err != nil {
		return err
	}
	b := batchOf(nil, nil)
	defer b.Release()
	if err := empty.Assign(b); err != nil {
		return err
	}
	_, err = empty.Recv()
	return err
}

func (k *kit) assignerSpeed() error {
	const size, rounds = 4096, 20
	rows, previous := k.records(size)
	a, err := k.openAssigner(true)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.AddPartition(0, "p", nil); err != nil {
		return err
	}
	b := batchOf(rows, previous)
	defer b.Release()
	start := time.Now()
	for range rounds {
		b.Sel, b.Bad = nil, b.Bad[:0]
		if err := a.Assign(b); err != nil {
			return err
		}
		if _, err := a.Recv(); err != nil {
			return err
		}
	}
	k.report.NsPerRow = float64(time.Since(start).Nanoseconds()) / (size * rounds)
	return nil
}
