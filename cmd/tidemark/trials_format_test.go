package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// formatTrials are about what records look like and where they end.
var formatTrials = []trialCase{
	{"039-csv-with-byte-order-mark", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "country", p.rows())
		p.counted(0, 0)

		p = t.start("unknown.toml")
		require.Equal(t, exitFailed, p.wait())
		p.says(`the header has no column "tiem"; it has time, country, city, users`)
	}},
	{"040-csv-with-crlf", func(t *trial) {
		t.same("expect.jsonl", "site", t.run("file.toml").rows())

		f := t.feed()
		p := t.start("socket.toml", f.env())
		for _, part := range strings.SplitAfter(t.read("input.csv")+"1700000030000,0,end\r\n", "\r") {
			f.send(part) // the line feed begins the next packet
		}
		t.until("three rows", func() bool { return len(p.out.lines()) >= 3 })
		p.stop()
		t.same("expect.jsonl", "site", p.rows())
		p.counted(0, 0)
	}},
	{"041-csv-newline-inside-quotes", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "shop", p.rows())
		t.sameRows(t.file("expect-records.jsonl"), "shop", t.file("records.jsonl"))
		p.counted(0, 0)
	}},
	{"043-csv-header-after-rotation", func(t *trial) {
		first, second := t.read("input-1.csv"), t.read("input-2.csv")
		for name, rotate := range map[string]func(){
			"emptied and written anew, and larger than before": func() { t.write("data.csv", second) },
			"emptied and written anew, bit by bit": func() {
				t.write("data.csv", second[:len(first)-2])
				t.until("three records", func() bool { return t.linesIn("records.jsonl") >= 3 })
				t.append("data.csv", second[len(first)-2:])
			},
			"renamed": func() {
				require.NoError(t, os.Rename(t.path("data.csv"), t.path("data.csv.1")))
				t.write("data.csv", second)
			},
		} {
			for _, left := range []string{"state", "data.csv", "data.csv.1", "records.jsonl"} {
				require.NoError(t, os.RemoveAll(t.path(left)))
			}
			t.write("data.csv", first)
			p := t.start("pipeline.toml")
			t.until("two records", func() bool { return t.linesIn("records.jsonl") == 2 })
			rotate()
			t.until("five records", func() bool { return t.linesIn("records.jsonl") == 5 })
			t.append("data.csv", "1700000030000,9,end\n")
			t.until("two rows", func() bool { return len(p.out.lines()) >= 2 })
			p.stop()
			t.Log(name)
			t.same("expect.jsonl", "a", p.rows())
			p.counted(0, 0)
		}
	}},
	{"044-taxi-rows-with-extra-columns", func(t *trial) {
		p := t.run("tolerant.toml")
		t.same("expect.jsonl", "VendorID", p.rows())
		require.Equal(t, 1, strings.Count(p.err.String(), `extra = "reject"`), "told once")

		p = t.run("strict.toml")
		require.Empty(t, p.rows())
		p.counted(0, 6)

		want := t.file("expect.jsonl")
		for _, r := range want {
			for _, f := range []string{"start", "end"} {
				at, err := r[f].(json.Number).Int64()
				require.NoError(t, err)
				r[f] = at - 4*3600*1000
			}
		}
		t.sameRows(want, "VendorID", t.run("utc.toml").rows())
	}},
	{"045-json-integers-above-2-to-the-53", func(t *trial) {
		t.same("expect.jsonl", "id", t.run("pipeline.toml").rows())
		require.Equal(t, t.read("input.jsonl"), t.read("records.jsonl"))
	}},
	{"046-json-duplicate-names", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "k", p.rows())
		p.counted(0, 0)
		require.Equal(t, "200 400", fmt.Sprint(p.rows()[0]["lowest"], " ", p.rows()[0]["highest"]), "record 2 has status 200")
	}},
	{"047-json-names-with-dots", func(t *trial) {
		keys := t.file("expect-keys.jsonl")
		for _, file := range []string{"nested", "flat"} {
			p := t.run(file + ".toml")
			var got []string
			for _, r := range p.rows() {
				n, err := r["count"].(json.Number).Int64()
				require.NoError(t, err)
				for range n {
					got = append(got, fmt.Sprint(r["a.b"]))
				}
			}
			t.sameLines(fields(keys, file), got)
			p.counted(0, 0)
		}
		require.Equal(t, t.read("input.jsonl"), t.read("records.jsonl"))
	}},
	{"048-invalid-utf-8-in-a-line", func(t *trial) {
		p := t.run("replace.toml")
		t.same("expect.jsonl", "k", p.rows())
		p.counted(0, 0)
		records := t.file("records.jsonl")
		require.Len(t, records, 5)
		for i, replaced := range []bool{true, true, false, true, false} {
			require.Equal(t, replaced, strings.Contains(fmt.Sprint(records[i]["rest"]), "\ufffd"), "%v", records[i])
		}
		require.Equal(t, "fine ü", records[2]["rest"])

		p = t.run("reject.toml")
		p.counted(0, 3)
		require.Len(t, t.letters("reject"), 3)
	}},
	{"049-line-longer-than-64-kib", func(t *trial) {
		var input strings.Builder
		for _, r := range t.file("expect-lengths.jsonl") {
			length, err := strconv.Atoi(fmt.Sprint(r["length"]))
			require.NoError(t, err)
			head := fmt.Sprintf(`{"k":"l","ts":%d,"pad":"`, 1700000000000)
			fmt.Fprintf(&input, "%s%s\"}\n", head, strings.Repeat("x", length-len(head)-2))
		}
		t.write("input.jsonl", input.String())
		p := t.run("file-8MB.toml")
		t.same("expect-limit-8mb.jsonl", "k", p.rows())
		require.Equal(t, fmt.Sprint(input.Len()-9*(1+len(`{"k":"l","ts":1700000000000,"pad":""}`))), fmt.Sprint(p.rows()[0]["length"]))
		p.counted(0, 0)

		tooLong := func(p *program, name string) {
			t.same("expect-limit-2mb.jsonl", "k", p.rows())
			p.counted(0, 1)
			letters := t.letters(name)
			require.Len(t, letters, 1)
			require.EqualValues(t, 5_000_000, letters[0].RawLength)
			require.Less(t, len(letters[0].Raw), 1<<20, "its beginning")
		}
		p = t.run("file-2MB.toml")
		tooLong(p, "file-2MB")

		f := t.feed()
		p = t.start("socket.toml", f.env())
		f.send(input.String())
		f.lines(`{"k":"end","ts":1700000100000,"pad":""}`)
		t.until("a row", func() bool { return len(p.out.lines()) >= 1 })
		p.stop()
		tooLong(p, "socket")
		require.Equal(t, 1, f.accepted, "connections")
	}},
	{"050-no-line-end-at-the-end", func(t *trial) {
		p := t.run("file.toml")
		t.same("expect.jsonl", "k", p.rows())

		f := t.feed()
		p = t.start("socket.toml", f.env())
		f.send(t.read("input.jsonl"))
		f.close()
		t.until("three records", func() bool { return t.linesIn("records.jsonl") == 3 })
		f.lines(`{"k": "end", "ts": 1700000030000}`)
		t.until("a row", func() bool { return len(p.out.lines()) >= 1 })
		p.stop()
		t.same("expect.jsonl", "k", p.rows())

		// In a file that is followed the third line waits for its end, and comes once, also when the program is killed meanwhile.
		require.NoError(t, os.Remove(t.path("records.jsonl")))
		t.write("followed.jsonl", t.read("input.jsonl"))
		p = t.start("follow.toml")
		t.until("two records", func() bool { return t.linesIn("records.jsonl") == 2 })
		p.kill()
		p = t.start("follow.toml")
		t.append("followed.jsonl", "\n"+`{"k": "end", "ts": 17000`)
		t.until("three records", func() bool { return t.linesIn("records.jsonl") == 3 })
		t.append("followed.jsonl", "00030000}\n")
		t.until("four records and a row", func() bool { return t.linesIn("records.jsonl") == 4 && len(p.out.lines()) >= 1 })
		p.stop()
		t.same("expect.jsonl", "k", p.rows())
		p.counted(0, 0)
		require.Equal(t, 4, t.linesIn("records.jsonl"))
	}},
	{"051-logfmt-corners", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "level", p.rows())
		p.counted(0, 1)
		t.lettersAre("pipeline", `ts=1700000005000 level=error msg="no end quote`)
		var want []row
		for _, r := range t.file("expect-records.jsonl") {
			if fmt.Sprint(r["line"]) == "4" {
				r["flag"] = true // a bare word is true
			}
			r["ts"] = fmt.Sprintf("170000000%v000", r["line"])
			delete(r, "line")
			want = append(want, r)
		}
		require.Equal(t, render(want, whole), render(t.file("records.jsonl"), whole))
		require.NotContains(t, t.read("records.jsonl"), `"a":"1"`, "of a name that comes twice the last one counts")
	}},
	{"052-access-log-strange-requests", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "status", p.rows())
		p.counted(0, 1)
		t.lettersAre("pipeline", "this is not an access log line")
		sizes := 0
		for _, s := range fields(p.rows(), "sizes") {
			n, err := strconv.Atoi(s)
			require.NoError(t, err)
			sizes += n
		}
		require.Equal(t, 4, sizes, "a size of - is null")
	}},
	{"053-gzip-with-several-members", func(t *trial) {
		var members bytes.Buffer
		for m := range 3 {
			z := gzip.NewWriter(&members)
			for i := 10 * m; i < 10*m+10; i++ {
				fmt.Fprintf(z, `{"id": %d, "k": "m%d", "ts": %d}`+"\n", i, m, 1700000000000+1000*i)
			}
			require.NoError(t, z.Close())
		}
		t.write("members.jsonl.gz", members.String())
		var cut bytes.Buffer
		z := gzip.NewWriter(&cut)
		for i := range 5000 {
			fmt.Fprintf(z, `{"id": %d, "k": "cut", "ts": %d, "r": %d}`+"\n", i, 1700000000000+i, i*2654435761%4294967296)
		}
		require.NoError(t, z.Close())
		t.write("cut.jsonl.gz", cut.String()[:cut.Len()/2])

		p := t.run("pipeline.toml")
		var joined []row
		for _, r := range p.rows() {
			if r["k"] != "cut" {
				joined = append(joined, r)
			}
		}
		t.same("expect.jsonl", "k", joined)
		require.Equal(t, 1, strings.Count(p.err.String(), "path=cut.jsonl.gz"), "told once")
		n := 0
		for _, r := range t.file("records.jsonl") {
			if r["k"] == "cut" {
				require.Equal(t, fmt.Sprint(n), fmt.Sprint(r["id"]))
				n++
			}
		}
		require.Greater(t, n, 1000)
		require.Less(t, n, 5000)

		p = t.run("pipeline.toml")
		require.Zero(t, p.summary().In)
		require.Empty(t, p.rows())
	}},
	{"055-gps-sentences", func(t *trial) {
		p := t.run("pipeline.toml")
		t.same("expect.jsonl", "status", p.rows())
		p.counted(0, 2)
		t.lettersAre("pipeline", "$GPRMC,,V,,,,,,,,,,N*53\r", "$GPRMC,181536.000,A,3809.79K,D*31\r")
		require.EqualValues(t, 1, p.summary().Filtered)
	}},
	{"056-github-archive-hours", func(t *trial) {
		p := t.run("type.toml")
		t.same("expect.jsonl", "type", p.rows())
		p.counted(0, 0)
		p = t.run("unique.toml")
		t.same("expect-unique.jsonl", "type", p.rows())
		p.counted(0, 0)
		repos := t.run("repo.toml").rows()
		require.ElementsMatch(t, []string{"org/repo0", "org/repo1", "org/repo0", "org/repo1"}, fields(repos, "repo.name"))
	}},
}
