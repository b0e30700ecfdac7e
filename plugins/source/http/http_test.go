package http

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/plugins/source/sourcetest"
	"github.com/tidemark-stream/tidemark/sdk/wire"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serving starts the source and returns its URL.
func serving(t *testing.T, o sourcetest.Options, restored ...wire.RestoredPartition) (*sourcetest.Run, string) {
	if o == nil {
		o = sourcetest.Options{}
	}
	o["listen"] = "127.0.0.1:0"
	r := sourcetest.StartFramed(t, Plugin(), o, wire.Framing{Format: "lines", MaxRecord: 100}, restored...)
	var address string
	r.Until("the address", func(r *sourcetest.Run) bool {
		_, rest, ok := strings.Cut(r.Log(), "listening: listen=")
		address, _, _ = strings.Cut(rest, "\n")
		return ok
	})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return r, "http://" + address + "/"
}

type reply struct {
	status int
	answer
	header http.Header
}

// post sends a request in the background.
func post(t *testing.T, url, body string, header ...string) chan reply {
	out := make(chan reply, 1)
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	go func() {
		defer close(out)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return
		}
		defer res.Body.Close()
		p := reply{status: res.StatusCode, header: res.Header}
		if json.NewDecoder(res.Body).Decode(&p.answer) == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			out <- p
		}
	}()
	return out
}

// exchange posts, acknowledges once the rows are there, and returns the answer.
func exchange(t *testing.T, r *sourcetest.Run, rows int, url, body string, header ...string) reply {
	n := len(r.Rows())
	c := post(t, url, body, header...)
	r.UntilRows(n + rows)
	r.Ack()
	return <-c
}

func TestARequestIsAnsweredWhenItIsCommitted(t *testing.T) {
	r, url := serving(t, nil)
	c := post(t, url, "a\nb")
	r.UntilRows(2)
	select {
	case <-c:
		require.Fail(t, "answered before the commit")
	default:
	}
	r.Ack()
	p := <-c
	require.Equal(t, 200, p.status)
	require.Equal(t, answer{Accepted: 2, Rejected: []refusal{}}, p.answer)
	r.Stop()

	again, url := serving(t, nil, r.Restore()...)
	require.Equal(t, 200, exchange(t, again, 1, url, "c\n").status)
	require.Equal(t, "3", string(again.Of(partitionName).Position()), "numbers go on")
}

func TestReceivedIsAtOnce(t *testing.T) {
	r, url := serving(t, sourcetest.Options{"answer": "received"})
	require.Equal(t, 200, (<-post(t, url, "a\n")).status)
	r.UntilRows(1)
}

func TestEachRefusedRecordHasItsReason(t *testing.T) {
	long := strings.Repeat("x", 101)
	for _, c := range []struct {
		name, kind, body string
		check            string
		rows             []string
		want             []refusal
	}{
		{"an over-long line", "", "a\n" + long + "\nb\n", "none", []string{"a", "b"},
			[]refusal{{1, "too_long", "the record has 101 bytes, max_record allows 100"}}},
		{"lines that are no JSON", "application/x-ndjson", "{}\n{\n" + long + "\n[1]\n", "json", []string{"{}", "[1]"},
			[]refusal{{1, "malformed", "not JSON"}, {2, "too_long", "the record has 101 bytes, max_record allows 100"}}},
		{"an array", "application/json", ` [ {"a":1}, 2 ]`, "none", []string{`{"a":1}`, `2`}, nil},
		{"an array without a type", "application/x-www-form-urlencoded", "\n[\n {\"a\":1},\n {\"b\":2} ]\n", "json", []string{`{"a":1}`, `{"b":2}`}, nil},
		{"a broken array without a type", "", `[{"a":1}, `, "json", []string{`{"a":1}`}, []refusal{{1, "malformed", "not JSON from here on: unexpected EOF"}}},
		{"lines that are arrays", "", "[1,2]\n[3]\n", "json", []string{"[1,2]", "[3]"}, nil},
		{"lines of a type, that are arrays", "application/x-ndjson", "[{}]\n[{}]\n", "json", []string{"[{}]", "[{}]"}, nil},
		{"an array that is no JSON record", "", `[{"a":1}]`, "none", []string{`[{"a":1}]`}, nil},
		{"an object over several lines", "application/json; charset=utf-8", "{\n\"a\":1\n}", "none", []string{"{\n\"a\":1\n}"}, nil},
		{"several values", "application/json", `{"a":1} [2] 3`, "none", []string{`{"a":1}`, `2`, `3`}, nil},
		{"a broken array", "application/json", `[{"a":1}, {"b":2}, {"c"`, "none", []string{`{"a":1}`, `{"b":2}`},
			[]refusal{{2, "malformed", "not JSON from here on: unexpected EOF"}}},
		{"an over-long element", "application/json", `["` + long + `", 1]`, "none", []string{"1"},
			[]refusal{{0, "too_long", "the record has 103 bytes, max_record allows 100"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, url := serving(t, sourcetest.Options{"check": c.check})
			p := exchange(t, r, len(c.rows), url, c.body, "Content-Type", c.kind)
			require.Equal(t, 200, p.status)
			require.Equal(t, c.rows, r.Rows())
			require.Equal(t, append([]refusal{}, c.want...), p.Rejected)
			require.Len(t, r.Rejects(), len(c.want), "the errors port sees them too")
			require.Equal(t, len(c.rows), p.Accepted)
		})
	}
}

func TestWhatCannotBeDecodedIsSaidInTheAnswer(t *testing.T) {
	body := []byte("{}\n{\n\n" + strings.Repeat("x", 5000) + "\n[1]\n")
	cut := func(check, records string) (accepted int, refused []refusal, kept int) {
		r, err := http.NewRequest(http.MethodPost, "http://localhost", nil)
		require.NoError(t, err)
		batches, accepted, refused, err := (&Config{Check: check}).cutBody(r, bytes.Clone(body), wire.Framing{Format: "lines", MaxRecord: 10_000, Records: records})
		require.NoError(t, err)
		for _, b := range batches {
			for _, j := range b.Rejects {
				kept += len(j.Data)
			}
			b.Release()
		}
		return accepted, refused, kept
	}
	want := []refusal{{1, "malformed", "not JSON"}, {2, "empty", "the row is empty"}, {3, "malformed", "not JSON"}}
	accepted, refused, kept := cut("auto", "json")
	require.Equal(t, 2, accepted)
	require.Equal(t, want, refused)
	require.Equal(t, 5001, kept, "the errors port gets them whole")
	for _, other := range [][2]string{{"auto", "csv"}, {"auto", ""}, {"none", "json"}} {
		accepted, refused, _ := cut(other[0], other[1])
		require.Equal(t, 5, accepted, other)
		require.Empty(t, refused, other)
	}
}

func TestNothingButRefusedRecords(t *testing.T) {
	r, url := serving(t, nil)
	c := post(t, url, strings.Repeat("x", 200))
	r.Until("the reject", func(r *sourcetest.Run) bool { return len(r.Of(partitionName).Rejects) > 0 })
	r.Ack()
	p := <-c
	require.Equal(t, 400, p.status)
	require.Equal(t, 0, p.Accepted)
	require.Len(t, p.Rejected, 1)
}

func TestCompressedBodies(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte("a\nb\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	e, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer e.Close()
	r, url := serving(t, sourcetest.Options{"max_body": "1000"})
	require.Equal(t, 200, exchange(t, r, 2, url, packed.String(), "Content-Encoding", "gzip").status)
	require.Equal(t, 200, exchange(t, r, 1, url, string(e.EncodeAll([]byte("c"), nil)), "Content-Encoding", "zstd").status)
	require.Equal(t, []string{"a", "b", "c"}, r.Rows())

	bomb := string(e.EncodeAll(make([]byte, 100_000), nil))
	require.Equal(t, 413, (<-post(t, url, bomb, "Content-Encoding", "zstd")).status)
	require.Equal(t, 413, (<-post(t, url, strings.Repeat("x", 1001))).status)
	require.Equal(t, 400, (<-post(t, url, "x", "Content-Encoding", "gzip")).status)
	require.Equal(t, 400, (<-post(t, url, "x", "Content-Encoding", "br")).status)
}

func TestWhoMaySend(t *testing.T) {
	r, url := serving(t, sourcetest.Options{"token": "secret", "path": "/in"})
	require.Equal(t, 404, (<-post(t, url, "a")).status)
	url += "in"
	require.Equal(t, 401, (<-post(t, url, "a")).status)
	require.Equal(t, 401, (<-post(t, url, "a", "Authorization", "Bearer wrong")).status)
	require.Equal(t, 200, exchange(t, r, 1, url, "a", "Authorization", "Bearer secret").status)
	req, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer secret")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 405, res.StatusCode)
}

func TestAFullPipelineSaysSo(t *testing.T) {
	s := newSource(Config{Path: "/", MaxWaiting: 2, MaxBody: 1000})
	s.queue <- &job{}
	s.queue <- &job{}
	r, err := http.NewRequest(http.MethodPost, "/", strings.NewReader("a"))
	require.NoError(t, err)
	w := &recorder{header: http.Header{}}
	s.handler().ServeHTTP(w, r)
	require.Equal(t, 429, w.status)
	require.Equal(t, "1", w.header.Get("Retry-After"))
}

type recorder struct {
	header http.Header
	status int
	bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(s int)   { r.status = s }

func TestStopAnswersThoseWhoWait(t *testing.T) {
	r, url := serving(t, nil)
	c := post(t, url, "a\n")
	r.UntilRows(1)
	r.Stop()
	p := <-c
	require.Equal(t, 503, p.status)
	require.Equal(t, "1", p.header.Get("Retry-After"))
}

// Dead letters name a record by its number, so no two have the same one, refused ones included.
func TestNoTwoRecordsHaveOneNumber(t *testing.T) {
	r, url := serving(t, sourcetest.Options{"check": "json"})
	exchange(t, r, 3, url, "1\n{\n2\n{\n3\n")
	exchange(t, r, 1, url, "4\n{\n")
	p := r.Of(partitionName)
	require.Equal(t, []int64{0, 1, 2, 5}, p.At)
	require.Equal(t, []int64{3, 4, 6}, p.RejectedAt)
}

// A checkpoint in the middle of a request must not take it for done.
func TestABigRequestCountsAsAWhole(t *testing.T) {
	r, url := serving(t, nil)
	c := post(t, url, strings.Repeat("a line\n", 10_000))
	r.UntilRows(10_000)
	positions := r.Of(partitionName).Positions
	require.Equal(t, []string{"0", "0", "10000"}, positions)
	r.Ack()
	require.Equal(t, 10_000, (<-c).Accepted)
}

func TestOptionsThatCannotBe(t *testing.T) {
	for options, want := range map[string]string{
		`{}`:                                    "listen",
		`{"listen":"x"}`:                        `"x" has no port`,
		`{"listen":":99999"}`:                   "there is no port 99999",
		`{"listen":":1","path":"a"}`:            "does not begin",
		`{"listen":":1","answer":"x"}`:          "answer",
		`{"listen":":1","max_waiting":0}`:       "at least 1",
		`{"listen":":1","tls":{"cert":"a"}}`:    "belong together",
		`{"listen":":1","answer_timeout":"0s"}`: "above 0",
	} {
		require.ErrorContains(t, Plugin().CheckOptions([]byte(options)), want, options)
	}
}
