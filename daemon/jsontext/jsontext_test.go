package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// oracle is what encoding/json writes, which escapes two characters more.
func oracle(t require.TestingT, v any) string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029", `\ufffd`, "\ufffd").Replace(strings.TrimSuffix(text.String(), "\n"))
}

func TestStrings(t *testing.T) {
	for _, s := range []string{
		"", "plain", `a "quoted" \ path`, "line\nfeed\r\ttab\b\f", "\x00\x1f\x7f", "窗口", "😀", "cut \xe7\xaa", "\xff\xfe", "\u2028\u2029",
	} {
		require.Equal(t, oracle(t, s), string(AppendString([]byte(nil), []byte(s))), "%q", s)
	}
	require.Equal(t, `x"y"`, string(AppendString([]byte("x"), []byte("y"))))
}

func TestFloats(t *testing.T) {
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1.5, 0.1, 1e-6, 9.99e-7, 1e-9, 1e-10, 1e20, 1e21, -1e300, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		require.Equal(t, oracle(t, f), string(AppendNumber(nil, f)))
		require.Equal(t, oracle(t, f), string(AppendFloat(nil, f)))
	}
	require.Equal(t, `"NaN"`, string(AppendNumber(nil, math.NaN())))
	require.Equal(t, `"Infinity"`, string(AppendNumber(nil, math.Inf(1))))
	require.Equal(t, `-Infinity`, string(AppendFloat(nil, math.Inf(-1))))
}

// What is written for numbers with few places, and for their neighbours, is what the general way writes.
func TestShortDecimalsAreThoseOfTheGeneralWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Int64Range(-1e6, 1e6), rapid.Int64Range(-1e15, 1e15), rapid.Int64()).Draw(t, "digits")
		f := float64(n) / math.Pow10(rapid.IntRange(0, 8).Draw(t, "places"))
		for range rapid.IntRange(0, 2).Draw(t, "neighbour") {
			f = math.Nextafter(f, math.Inf(1))
		}
		require.Equal(t, oracle(t, f), string(AppendFloat(nil, f)))
	})
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		require.Equal(t, oracle(t, f), string(AppendFloat(nil, f)))
	})
}

// Every byte at every place of a string, alone among plain ones.
func TestEveryByteEverywhere(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			s := []byte("abcdefghijklmnopqrst")
			s[at] = byte(c)
			require.Equal(t, oracle(t, string(s)), string(AppendString(nil, s)), "%q", s)
		}
	}
}

func BenchmarkAppendFloat(b *testing.B) {
	for name, f := range map[string]float64{"places=2": 512.37, "places=0": 17, "sum": 0.1 + 0.2, "mean": 1000.0 / 3} {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			for range b.N {
				dst = AppendFloat(dst[:0], f)
			}
		})
	}
}

func BenchmarkAppendString(b *testing.B) {
	for name, s := range map[string]string{"key": "user-00005191", "escape": "a \"quoted\" word", "long": strings.Repeat("plain text ", 20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			var dst []byte
			for range b.N {
				dst = AppendString(dst[:0], []byte(s))
			}
		})
	}
}

func FuzzStrings(f *testing.F) {
	f.Add([]byte("a\"\\\n\xff"))
	f.Fuzz(func(t *testing.T, s []byte) {
		got := AppendString(nil, s)
		require.True(t, json.Valid(got))
		require.Equal(t, oracle(t, string(s)), string(got))
	})
}
