package workload_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"go.uber.org/goleak"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/workload"
	"github.com/tidemark-stream/tidemark/plugins/source/generate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Figures are compared over years: the first thousand lines of each workload must never change.
func TestTheInputsAreTheSameForEver(t *testing.T) {
	want := map[string]string{
		"w1":      "d6014b83e685f976",
		"w10":     "3896c934eaf995df",
		"w1unix":  "d6014b83e685f976",
		"w1x4":    "d6014b83e685f976",
		"w2a":     "98aff8353434e956",
		"w2b":     "3896c934eaf995df",
		"w3":      "32cbb7b632a22748",
		"w4":      "57cdda0436585676",
		"w4zipf":  "ee84e6b424af2922",
		"w5":      "3896c934eaf995df",
		"w5many":  "c76d22ff0c86ac83",
		"w6":      "a5f9f8e2f62dd6db",
		"w7":      "48eb577824d5afcc",
		"w8":      "32cbb7b632a22748",
		"w8large": "57cdda0436585676",
		"w9":      "98aff8353434e956",
	}
	got := map[string]string{}
	for _, w := range workload.All() {
		in := w.Input
		in.Lines = 1000
		var b bytes.Buffer
		require.NoError(t, in.Write(&b))
		require.Equal(t, 1000, bytes.Count(b.Bytes(), []byte("\n")))
		got[w.Name] = fmt.Sprintf("%016x", xxh3.Hash(b.Bytes()))
	}
	require.Equal(t, want, got)
}

// Lines are written side by side, in chunks; nobody may see that.
func TestLinesComeInTheirOrder(t *testing.T) {
	w, err := workload.Find("w2b")
	require.NoError(t, err)
	for _, n := range []int64{0, 1, 4095, 4096, 4097, 50_000} {
		in := w.Input
		in.Lines = n
		g, err := generate.NewGenerator(in.Events)
		require.NoError(t, err)
		var want []byte
		for range n {
			want = generate.AppendJSON(want, g.Next())
		}
		var got bytes.Buffer
		require.NoError(t, in.Write(&got))
		require.True(t, bytes.Equal(want, got.Bytes()), "%d lines", n)
	}
}

func TestPaddedLines(t *testing.T) {
	in := workload.Input{Events: generate.DefaultWorkload(), Lines: 1, Shape: workload.JSON, Pad: 5}
	var b bytes.Buffer
	require.NoError(t, in.Write(&b))
	require.Equal(t, `{"key":"user-00005191","ts":1699999999894,"region":"eu-west-1","type":"login","value":88.04,"seq":10000000,"pad":"xxxxx"}`+"\n", b.String())
	in.Shape = workload.Pairs
	require.ErrorContains(t, in.Write(io.Discard), "cannot be padded")
}

// A reader that goes away (head, a full disk) ends the writing, and no goroutine stays behind.
func TestWritingEndsWithItsReader(t *testing.T) {
	w, err := workload.Find("w3")
	require.NoError(t, err)
	full := errors.New("full")
	n := 0
	err = w.Input.Write(writerFunc(func(p []byte) (int, error) {
		if n++; n == 3 {
			return 0, full
		}
		return len(p), nil
	}))
	require.ErrorIs(t, err, full)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestNames(t *testing.T) {
	w, err := workload.Find("W2")
	require.NoError(t, err)
	require.Equal(t, "w2b", w.Name)
	_, err = workload.Find("w99")
	require.ErrorContains(t, err, "w2a")
}

func BenchmarkWrite(b *testing.B) {
	b.ReportAllocs()
	w, err := workload.Find("w2b")
	require.NoError(b, err)
	in := w.Input
	in.Lines = int64(b.N)
	require.NoError(b, in.Write(io.Discard))
}
