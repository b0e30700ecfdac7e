package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// The benchmarks decode batches of 1,024 rows from a working set of 4 MB, larger than the caches near a core, and report
// ns/row, and for a machine that is busy with other things the best batch. Rows are those of `tidemark gen`: 109 bytes of JSON, or "key ts".

const benchRows = 1024

func workload(line func(i int, r *rand.Rand) string) []*batch.Batch {
	r := rand.New(rand.NewPCG(1, 42))
	var all []*batch.Batch
	for n, size := 0, 0; size < 4<<20; {
		rows := make([]string, benchRows)
		for i := range rows {
			rows[i] = line(n, r)
			size += len(rows[i]) + 1
			n++
		}
		b := lines(rows...)
		all = append(all, b)
	}
	return all
}

func jsonLine(i int, r *rand.Rand) string {
	regions := [...]string{"eu-west-1", "us-east-1", "ap-south1", "sa-east-1"}
	types := [...]string{"login", "click", "order", "leave"}
	return fmt.Sprintf(`{"key":"user-%08d","ts":%d,"region":"%s","type":"%s","value":%.2f,"seq":%d}`,
		r.IntN(10000), 1700000000000+i/50-r.IntN(2000), regions[r.IntN(4)], types[r.IntN(4)], float64(r.IntN(100000))/100, 10000000+i)
}

func delimitedLine(i int, r *rand.Rand) string {
	return fmt.Sprintf("user-%08d %d", r.IntN(10000), 1700000000000+i/50-r.IntN(2000))
}

func bench(b *testing.B, spec Spec, batches []*batch.Batch) {
	b.Helper()
	d, errs := New(spec)
	if errs != nil {
		b.Fatal(errs)
	}
	n, bytes, best := 0, 0, time.Hour
	b.ReportAllocs()
	for b.Loop() {
		x := batches[n%len(batches)]
		x.Columns, x.Extra, x.Bad, x.Sel = x.Columns[:0], x.Extra[:0], x.Bad[:0], nil
		start := time.Now()
		d.Decode(x)
		best = min(best, time.Since(start))
		if len(x.Bad) > 0 {
			b.Fatal(x.Bad[0])
		}
		n++
		bytes += len(x.Data)
	}
	b.ReportMetric(float64(best.Nanoseconds())/benchRows, "best-ns/row")
	rows := float64(n * benchRows)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/rows, "ns/row")
	b.ReportMetric(float64(bytes)/b.Elapsed().Seconds()/1e6, "MB/s")
	b.ReportMetric(0, "ns/op")
}

var threeFields = []Field{{Name: "key"}, {Name: "ts"}, {Name: "value"}}

func BenchmarkJSON(b *testing.B) {
	b.Run("same order", func(b *testing.B) {
		bench(b, Spec{Format: FormatJSON, Fields: threeFields}, workload(jsonLine))
	})
	b.Run("declared types", func(b *testing.B) {
		f := []Field{{Name: "key", Type: TypeString}, {Name: "ts", Type: TypeInt}, {Name: "value", Type: TypeFloat}}
		bench(b, Spec{Format: FormatJSON, Fields: f}, workload(jsonLine))
	})
	b.Run("any order", func(b *testing.B) {
		// No two rows in a row have the same order of names, so that no forecast comes true.
		bench(b, Spec{Format: FormatJSON, Fields: threeFields}, workload(func(i int, r *rand.Rand) string {
			line := jsonLine(i, r)
			parts := bytes.Split([]byte(line[1:len(line)-1]), []byte(","))
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			return "{" + string(bytes.Join(parts, []byte(","))) + "}"
		}))
	})
	b.Run("two shapes", func(b *testing.B) {
		bench(b, Spec{Format: FormatJSON, Fields: threeFields}, workload(func(i int, r *rand.Rand) string {
			if r.IntN(2) == 0 {
				return jsonLine(i, r)
			}
			return fmt.Sprintf(`{"ts":%d,"key":"user-%08d","value":%.2f,"detail":{"page":"/a/b","tags":["x","y"]},"seq":%d}`,
				1700000000000+i/50-r.IntN(2000), r.IntN(10000), float64(r.IntN(100000))/100, 10000000+i)
		}))
	})
	b.Run("nested", func(b *testing.B) {
		f := []Field{{Name: "repo.name"}, {Name: "created_at"}, {Name: "actor.id"}}
		bench(b, Spec{Format: FormatJSON, Fields: f}, workload(func(i int, r *rand.Rand) string {
			return fmt.Sprintf(`{"id": "3%010d", "type": "PushEvent", "actor": {"id": %d, "login": "user%d"}, "repo": {"id": %d, "name": "org/repo%d"}, "public": true, "created_at": "2024-01-01T14:%02d:%02dZ"}`,
				i, r.IntN(10000), r.IntN(10000), r.IntN(100), r.IntN(100), r.IntN(60), r.IntN(60))
		}))
	})
	b.Run("whole", func(b *testing.B) {
		bench(b, Spec{Format: FormatJSON, Fields: threeFields, Whole: true}, workload(jsonLine))
	})
}

func BenchmarkDelimited(b *testing.B) {
	declared := []Declared{{Name: "user", Path: Path{{Name: "user"}}, Type: TypeString}, {Name: "ts", Path: Path{{Name: "ts"}}, Type: TypeInt}}
	bench(b, Spec{Format: FormatDelimited, Declared: declared, Fields: []Field{{Name: "user"}, {Name: "ts"}}}, workload(delimitedLine))
}

func BenchmarkText(b *testing.B) {
	csv := func(i int, r *rand.Rand) string {
		return fmt.Sprintf(`%d,user-%08d,eu-west-1,login,%.2f,%d`, 1700000000000+i/50-r.IntN(2000), r.IntN(10000), float64(r.IntN(100000))/100, 10000000+i)
	}
	quoted := func(i int, r *rand.Rand) string {
		return fmt.Sprintf(`%d,"user-%08d","eu-west-1","said ""hi""",%.2f,%d`, 1700000000000+i/50-r.IntN(2000), r.IntN(10000), float64(r.IntN(100000))/100, 10000000+i)
	}
	parse := func(all ...string) (out []Declared) {
		for _, s := range all {
			d, err := ParseDeclared(s)
			if err != nil {
				b.Fatal(err)
			}
			out = append(out, d)
		}
		return out
	}
	columns := parse("ts:int", "key:string", "region", "type", "value:float", "seq:int")
	for _, c := range []struct {
		name string
		spec Spec
		line func(i int, r *rand.Rand) string
	}{
		{"csv", Spec{Format: FormatCSV, Declared: columns, Fields: threeFields}, csv},
		{"csv quoted", Spec{Format: FormatCSV, Declared: columns, Fields: threeFields}, quoted},
		{"csv whole", Spec{Format: FormatCSV, Declared: columns, Whole: true, Fields: threeFields}, csv},
		{"logfmt", Spec{Format: FormatLogfmt, Declared: parse("ts:int", "value:float"), Fields: threeFields}, func(i int, r *rand.Rand) string {
			return fmt.Sprintf(`ts=%d key=user-%08d region="eu-west-1" type=login value=%.2f seq=%d`, 1700000000000+i/50-r.IntN(2000), r.IntN(10000), float64(r.IntN(100000))/100, 10000000+i)
		}},
		{"clf", Spec{Format: FormatCLF, Fields: []Field{{Name: "time"}, {Name: "status"}, {Name: "path"}}}, func(i int, r *rand.Rand) string {
			return fmt.Sprintf(`192.0.2.%d - - [10/Oct/2023:13:%02d:%02d -0700] "GET /index/%d.html HTTP/1.1" 200 %d "-" "Mozilla/5.0 (X11; Linux)"`, r.IntN(256), i/30000%60, i/500%60, r.IntN(1000), r.IntN(100000))
		}},
		{"syslog", Spec{Format: FormatSyslog, Fields: []Field{{Name: "time"}, {Name: "app"}, {Name: "severity"}}}, func(i int, r *rand.Rand) string {
			return fmt.Sprintf(`<34>1 2023-10-11T22:%02d:%02d.003Z host%d su - ID47 - su root failed for lonvick`, i/60%60, i%60, r.IntN(100))
		}},
		{"regex", Spec{Format: FormatRegex, Pattern: `(?P<ts>\d+) (?P<key>\S+) (?P<rest>.*)`, Fields: []Field{{Name: "key"}, {Name: "ts", Type: TypeInt}}}, func(i int, r *rand.Rand) string {
			return fmt.Sprintf(`%d user-%08d GET /index.html`, 1700000000000+i, r.IntN(10000))
		}},
		{"raw", Spec{Format: FormatRaw, Fields: []Field{{Name: "message"}}}, csv},
	} {
		b.Run(c.name, func(b *testing.B) { bench(b, c.spec, workload(c.line)) })
	}
}

func BenchmarkTimestamps(b *testing.B) {
	run := func(name, unit string, spec Spec, line func(i int, r *rand.Rand) string) {
		b.Run(name, func(b *testing.B) {
			batches := workload(line)
			d, errs := New(spec)
			if errs != nil {
				b.Fatal(errs)
			}
			for _, x := range batches {
				d.Decode(x)
			}
			t, err := NewTimestamps(unit, TimeOptions{})
			if err != nil {
				b.Fatal(err)
			}
			out := make([]int64, benchRows)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				x := batches[n%len(batches)]
				t.Column(x, &x.Columns[0], out)
				if len(x.Bad) > 0 {
					b.Fatal(x.Bad[0])
				}
				n++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*benchRows), "ns/row")
			b.ReportMetric(0, "ns/op")
		})
	}
	ts := []Field{{Name: "ts"}}
	run("ms", UnitMillis, Spec{Format: FormatJSON, Fields: ts}, jsonLine)
	run("s", UnitSeconds, Spec{Format: FormatJSON, Fields: ts}, func(i int, r *rand.Rand) string {
		return fmt.Sprintf(`{"ts":%d}`, 1700000000+i)
	})
	run("us", UnitMicros, Spec{Format: FormatJSON, Fields: ts}, func(i int, r *rand.Rand) string {
		return fmt.Sprintf(`{"ts":%d}`, 1700000000000000+i)
	})
	run("float of s", UnitSeconds, Spec{Format: FormatJSON, Fields: ts}, func(i int, r *rand.Rand) string {
		return fmt.Sprintf(`{"ts":%d.%06d}`, 1700000000+i, r.IntN(1000000))
	})
	run("text of ms", UnitMillis, Spec{Format: FormatJSON, Fields: ts}, func(i int, r *rand.Rand) string {
		return fmt.Sprintf(`{"ts":"%d"}`, 1700000000000+i)
	})
	run("rfc3339", UnitRFC3339, Spec{Format: FormatJSON, Fields: ts}, func(i int, r *rand.Rand) string {
		return fmt.Sprintf(`{"ts":"2024-01-%02dT14:%02d:%02d.%03dZ"}`, 1+i/3000%30, i/60%60, i%60, r.IntN(1000))
	})
	run("layout, same second", "02/Jan/2006:15:04:05 -0700", Spec{Format: FormatJSON, Fields: ts}, func(i int, r *rand.Rand) string {
		return fmt.Sprintf(`{"ts":"01/Jan/2024:14:%02d:%02d +0200"}`, i/30000%60, i/500%60)
	})
	run("layout, other seconds", "02/Jan/2006:15:04:05 -0700", Spec{Format: FormatJSON, Fields: ts}, func(i int, r *rand.Rand) string {
		return fmt.Sprintf(`{"ts":"%02d/Jan/2024:14:%02d:%02d +0200"}`, 1+i/3000%30, i/60%60, i%60)
	})
}

// BenchmarkStandardLibrary is what the others are compared with: encoding/json into a struct of the three fields.
func BenchmarkStandardLibrary(b *testing.B) {
	batches := workload(jsonLine)
	n, best := 0, time.Hour
	b.ReportAllocs()
	for b.Loop() {
		x := batches[n%len(batches)]
		start := time.Now()
		for i := range x.N {
			var row struct {
				Key   string  `json:"key"`
				TS    int64   `json:"ts"`
				Value float64 `json:"value"`
			}
			if err := json.Unmarshal(x.Row(i), &row); err != nil {
				b.Fatal(err)
			}
		}
		best = min(best, time.Since(start))
		n++
	}
	b.ReportMetric(float64(best.Nanoseconds())/benchRows, "best-ns/row")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*benchRows), "ns/row")
	b.ReportMetric(0, "ns/op")
}
