package framing

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"pgregory.net/rapid"
)

// piece is what comes out of a stream: a row, or a reject with its code and whole length.
type piece struct {
	text   string
	code   string
	length int64
}

func (p piece) String() string {
	if p.code != "" {
		return fmt.Sprintf("!%s %d", p.code, p.length)
	}
	return p.text
}

// drive feeds input in chunks of the given sizes (then one byte at a time) and returns everything in order. It checks on the way
// that each row stands in the input where its position says.
func drive(t require.TestingT, o Options, last End, input []byte, chunks []int, at Place) (out []piece, cuts []Place) {
	s, err := New(o, at)
	require.NoError(t, err)
	take := func(b *batch.Batch) {
		s.Finish(b)
		require.Len(t, b.Offsets, b.N+1)
		r := 0
		for i := range b.N + 1 {
			for ; r < len(b.Rejects) && int(b.Rejects[r].After) == i; r++ {
				j := b.Rejects[r]
				require.True(t, len(j.Data) <= KeptPrefix || j.Code == Partial)
				require.True(t, bytes.HasPrefix(input[j.Position:], j.Data), "reject %q is not at %d", j.Data, j.Position)
				out = append(out, piece{text: string(j.Data), code: j.Code, length: j.Length})
			}
			if i < b.N {
				row := b.Row(i)
				at := b.RowPosition(i)
				require.True(t, bytes.HasPrefix(input[at:], row), "row %q is not at %d", row, at)
				out = append(out, piece{text: string(row)})
			}
		}
		require.Equal(t, r, len(b.Rejects), "a reject stands nowhere")
		cuts = append(cuts, s.Place())
		b.Reset()
	}
	b := new(batch.Batch)
	s.Begin(b)
	for left := input[at.Offset:]; len(left) > 0; {
		n := 1
		if len(chunks) > 0 {
			n, chunks = chunks[0], chunks[1:]
		}
		n = min(n, len(left))
		full := s.Cut(b, copy(s.Room(b, n), left[:n]))
		left = left[n:]
		for full {
			take(b)
			s.Begin(b)
			full = s.Cut(b, 0)
		}
	}
	for done := false; !done; {
		done = s.End(b, last)
		take(b)
		s.Begin(b)
	}
	require.Equal(t, int64(len(input)), s.Place().Offset)
	require.False(t, s.Pending())
	return out, cuts
}

func texts(pieces []piece) []string {
	out := []string{}
	for _, p := range pieces {
		out = append(out, p.String())
	}
	return out
}

func TestRecords(t *testing.T) {
	long := strings.Repeat("x", 20)
	for _, c := range []struct {
		name  string
		kind  Kind
		last  End
		input string
		want  []string
	}{
		{"lines end with a line feed", Lines, KeepLast, "a\nbb\n\nc\n", []string{"a", "bb", "", "c"}},
		{"a carriage return is left to decoding", Lines, KeepLast, "a\r\nb\r\n", []string{"a\r", "b\r"}},
		{"a file's last line needs no line end", Lines, KeepLast, "a\nb", []string{"a", "b"}},
		{"a connection's last line does", Lines, RejectLast, "a\nb", []string{"a", "!partial 1"}},
		{"nothing gives nothing", Lines, KeepLast, "", []string{}},
		{"a byte order mark is not data", Lines, KeepLast, "\xef\xbb\xbfa\nb\n", []string{"a", "b"}},
		{"half a byte order mark is", Lines, KeepLast, "\xef\xbb", []string{"\xef\xbb"}},
		{"a byte order mark inside is", Lines, KeepLast, "a\n\xef\xbb\xbfb\n", []string{"a", "\xef\xbb\xbfb"}},
		{"only a byte order mark is nothing", Lines, KeepLast, "\xef\xbb\xbf", []string{}},
		{"exactly the limit is kept", Lines, KeepLast, "0123456789\na\n", []string{"0123456789", "a"}},
		{"one more is not", Lines, KeepLast, "01234567890\na\n", []string{"!too_long 11", "a"}},
		{"over-long between others", Lines, KeepLast, "a\n" + long + "\nb\n" + long + "\n" + long + "\nc\n",
			[]string{"a", "!too_long 20", "b", "!too_long 20", "!too_long 20", "c"}},
		{"over-long at the end, without line end", Lines, KeepLast, "a\n" + long, []string{"a", "!too_long 20"}},
		{"over-long cut by the peer is told once", Lines, RejectLast, long, []string{"!too_long 20"}},
		{"csv without quotes is lines", CSV, KeepLast, "a,b\nc,d", []string{"a,b", "c,d"}},
		{"a line feed inside quotes belongs to the record", CSV, KeepLast, "a,\"b\nc\"\nd\n", []string{"a,\"b\nc\"", "d"}},
		{"doubled quotes do not close", CSV, KeepLast, "\"a\"\"\nb\"\nc\n", []string{"\"a\"\"\nb\"", "c"}},
		{"a stray quote does not open", CSV, KeepLast, "5\" x\ny\n", []string{"5\" x", "y"}},
		{"text after a closing quote opens nothing", CSV, KeepLast, "\"a\"b\"\nc\n", []string{"\"a\"b\"", "c"}},
		{"the last quote closes at the end of the file", CSV, KeepLast, "a,\"b\"", []string{"a,\"b\""}},
		{"an open quote at the end gives lines", CSV, KeepLast, "\"a\nb\nc", []string{"\"a", "b", "c"}},
		{"an open quote cut by the peer is one reject", CSV, RejectLast, "\"a\nb\nc", []string{"!partial 6"}},
		{"an open quote costs one line, not the rest", CSV, KeepLast, "\"a\nb\nc\nd\ne\nf\n\"g\nh\"\n",
			[]string{"\"a", "b", "c", "d", "e", "f", "\"g\nh\""}},
		{"over-long inside quotes, no line feed", CSV, KeepLast, "\"" + long + "\"\na\n", []string{"!too_long 22", "a"}},
		{"over-long inside quotes, line feed behind the limit", CSV, KeepLast, "\"" + long + "\nx\"\na\n",
			[]string{"!too_long 21", "x\"", "a"}},
		{"none is the whole stream", None, KeepLast, "a\nb\n", []string{"a\nb\n"}},
		{"none has a limit too", None, KeepLast, long, []string{"!too_long 20"}},
		{"an empty stream is no record", None, KeepLast, "", []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Kind: c.kind, MaxRecord: 10}
			whole, _ := drive(t, o, c.last, []byte(c.input), []int{len(c.input)}, Place{})
			require.Equal(t, c.want, texts(whole))
			single, _ := drive(t, o, c.last, []byte(c.input), nil, Place{})
			require.Equal(t, whole, single, "one byte at a time")
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := New(Options{Kind: "line"}, Place{})
	require.ErrorContains(t, err, `framing "line" is not known; use lines, csv or none`)
	_, err = New(Options{MaxRecord: LargestMaxRecord + 1}, Place{})
	require.ErrorContains(t, err, "1 to 1073741824 bytes, not 1073741825")
	_, err = New(Options{MaxRecord: -1}, Place{})
	require.Error(t, err)
}

func TestAnOverLongRecordTakesNoMemory(t *testing.T) {
	s, err := New(Options{MaxRecord: 100}, Place{})
	require.NoError(t, err)
	b := new(batch.Batch)
	s.Begin(b)
	for range 1000 {
		room := s.Room(b, 1000)
		for i := range room {
			room[i] = 'x'
		}
		require.False(t, s.Cut(b, len(room)))
		require.LessOrEqual(t, cap(b.Data), 4096)
	}
	require.Equal(t, int64(0), s.Place().Offset, "a restart must meet the whole record again")
	require.False(t, s.Cut(b, copy(s.Room(b, 2), "\na")))
	s.Finish(b)
	require.Equal(t, int64(1_000_000), b.Rejects[0].Length)
	require.Equal(t, KeptPrefix, len(b.Rejects[0].Data))
	require.Equal(t, int64(1_000_001), s.Place().Offset)
}

// A datagram is a stream of its own that shares its batch with others.
func TestDatagramsShareABatch(t *testing.T) {
	s, err := New(Options{}, Place{})
	require.NoError(t, err)
	b := new(batch.Batch)
	s.Begin(b)
	for _, d := range []string{"a\nb", "c\n", "d"} {
		require.False(t, s.Cut(b, copy(s.Room(b, len(d)), d)))
		require.True(t, s.End(b, KeepLast))
	}
	s.Finish(b)
	require.Equal(t, 4, b.N)
	for i, want := range []string{"a", "b", "c", "d"} {
		require.Equal(t, want, string(b.Row(i)))
	}
}

// model cuts a whole input byte by byte.
func model(o Options, last End, in []byte) (out []piece) {
	in = bytes.TrimPrefix(in, byteOrderMark)
	plainUntil := 0
	for pos := 0; pos < len(in); {
		end, open := len(in), false
		quoted := false
	scan:
		for i := pos; i < len(in); i++ {
			switch {
			case quoted && in[i] == '"' && i+1 < len(in) && in[i+1] == '"':
				i++
			case quoted && in[i] == '"':
				quoted = false
			case quoted:
			case o.Kind == CSV && pos >= plainUntil && in[i] == '"' && (i == pos || in[i-1] == ','):
				quoted = true
			case in[i] == '\n' && o.Kind != None:
				end = i
				break scan
			}
		}
		open = quoted
		firstLine := bytes.IndexByte(in[pos:], '\n')
		if firstLine < 0 {
			firstLine = len(in) - pos
		}
		n := end - pos
		switch {
		case n <= o.MaxRecord && (!open || last == RejectLast):
		case n > o.MaxRecord && o.Kind == CSV && firstLine <= o.MaxRecord:
			plainUntil = pos + o.MaxRecord + 1
			continue
		case n > o.MaxRecord:
			if o.Kind == CSV {
				n = firstLine
			}
			end = pos + n
			out = append(out, piece{text: string(in[pos : pos+min(n, KeptPrefix)]), code: TooLong, length: int64(n)})
			pos = end + 1
			continue
		default: // open to the end of the stream
			plainUntil = len(in)
			continue
		}
		if end == len(in) && last == RejectLast {
			out = append(out, piece{text: string(in[pos:]), code: Partial, length: int64(n)})
		} else {
			out = append(out, piece{text: string(in[pos:end])})
		}
		pos = end + 1
		if o.Kind == None {
			break
		}
	}
	return out
}

func TestChunksNeverShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Kind:      rapid.SampledFrom([]Kind{Lines, CSV, None}).Draw(t, "kind"),
			MaxRecord: rapid.IntRange(1, 12).Draw(t, "max"),
			MaxRows:   rapid.IntRange(1, 5).Draw(t, "rows"),
		}
		last := rapid.SampledFrom([]End{KeepLast, RejectLast}).Draw(t, "last")
		input := []byte(rapid.StringOfN(rapid.SampledFrom([]rune("aaa\n\n,,\"\"\ufeff")), 0, 60, -1).Draw(t, "input"))
		chunks := rapid.SliceOf(rapid.IntRange(1, 20)).Draw(t, "chunks")
		want := model(o, last, input)
		got, cuts := drive(t, o, last, input, chunks, Place{})
		require.Equal(t, texts(want), texts(got))
		require.Equal(t, want, append([]piece(nil), got...))

		// A stream that is taken up again after any batch goes on as if nothing had happened.
		at := rapid.SampledFrom(cuts).Draw(t, "restart")
		rest, _ := drive(t, o, last, input, nil, at)
		require.Equal(t, texts(want[len(want)-len(rest):]), texts(rest))
	})
}

func FuzzChunksNeverShow(f *testing.F) {
	f.Add([]byte("a,\"b\nc\"\nd\n"), []byte{3, 1}, uint8(1), uint8(8))
	f.Add([]byte("\xef\xbb\xbfxxxxxxxxxxxx\ny"), []byte{1, 1}, uint8(0), uint8(4))
	f.Fuzz(func(t *testing.T, input, sizes []byte, mode, limit uint8) {
		o := Options{Kind: []Kind{Lines, CSV, None}[mode%3], MaxRecord: int(limit) + 1, MaxRows: int(mode/6) + 1}
		last := End(mode / 3 % 2)
		chunks := make([]int, len(sizes))
		for i, n := range sizes {
			chunks[i] = int(n) + 1
		}
		got, _ := drive(t, o, last, input, chunks, Place{})
		require.Equal(t, texts(model(o, last, input)), texts(got))
	})
}

func BenchmarkCut(b *testing.B) {
	for _, c := range []struct {
		kind Kind
		line string
	}{
		{Lines, `{"key":"user-00005191","ts":1699999999894,"region":"eu-west-1","type":"login","value":88.04,"seq":10000000}`},
		{CSV, `user-00005191,1699999999894,eu-west-1,login,88.04,10000000`},
		{CSV, `user-00005191,1699999999894,"eu-west-1, north",login,88.04,10000000`},
	} {
		b.Run(fmt.Sprintf("%s/%dB", c.kind, len(c.line)), func(b *testing.B) {
			s, err := New(Options{Kind: c.kind}, Place{})
			require.NoError(b, err)
			chunk := []byte(strings.Repeat(c.line+"\n", 1200))
			bt := new(batch.Batch)
			b.SetBytes(int64(len(c.line) + 1))
			b.ReportAllocs()
			for left := b.N; left > 0; left -= 1200 {
				s.Begin(bt)
				s.Cut(bt, copy(s.Room(bt, len(chunk)), chunk))
				s.Finish(bt)
			}
		})
	}
}

// Where a stream ends inside quotes, the reject says where they open, in a later chunk and a later batch as well.
func TestTheRejectOfAnOpenQuoteSaysWhereItOpens(t *testing.T) {
	s, err := New(Options{Kind: CSV}, Place{})
	require.NoError(t, err)
	b := batch.Get()
	for _, chunk := range []string{"1,\"x\ny\",2\n3,", "\"a\nb", "\nc"} {
		s.Begin(b)
		require.False(t, s.Cut(b, copy(s.Room(b, len(chunk)), chunk)))
		s.Finish(b)
	}
	s.Begin(b)
	require.True(t, s.End(b, RejectLast))
	require.Len(t, b.Rejects, 1)
	require.Equal(t, "the stream ended after 8 bytes of this record, inside the value whose quote opens at byte 3", b.Rejects[0].Message)
	require.Equal(t, "3,\"a\nb\nc", string(b.Rejects[0].Data))
}
