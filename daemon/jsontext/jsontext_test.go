package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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

func FuzzStrings(f *testing.F) {
	f.Add([]byte("a\"\\\n\xff"))
	f.Fuzz(func(t *testing.T, s []byte) {
		got := AppendString(nil, s)
		require.True(t, json.Valid(got))
		require.Equal(t, oracle(t, string(s)), string(got))
	})
}
