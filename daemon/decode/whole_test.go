package decode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// A whole record never has a name twice: the last one counts, as it does for single fields.
func TestWholeHasEachNameOnce(t *testing.T) {
	var many, want []string
	for i := range 40 {
		many, want = append(many, fmt.Sprintf("n%d=old", i)), append(want, fmt.Sprintf(`"n%d":"new"`, i))
	}
	for i := range 40 {
		many = append(many, fmt.Sprintf("n%d=new", i))
	}
	for _, c := range []struct {
		spec      Spec
		row, want string
	}{
		{Spec{Format: FormatLogfmt}, "a=1 a=2", `{"a":"2"}`},
		{Spec{Format: FormatLogfmt}, "a=1 b=x a=2 a", `{"b":"x","a":true}`},
		{Spec{Format: FormatLogfmt}, strings.Join(many, " "), "{" + strings.Join(want, ",") + "}"},
		{Spec{Format: FormatLogfmt}, "a=1 aa=2", `{"a":"1","aa":"2"}`},
		{Spec{Format: FormatCSV, Header: true}, "1,x,2", `{"b":"x","a":"2"}`},
		{Spec{Format: FormatCSV, Header: true}, "1,x", `{"b":"x"}`},
	} {
		c.spec.Whole = true
		d, errs := New(c.spec)
		require.NoError(t, errs.Err())
		for range 2 { // nothing is left over from the row before
			b := lines(c.row)
			if c.spec.Header {
				b.Header = []byte("a,b,a")
			}
			d.Decode(b)
			require.Empty(t, b.Bad)
			w := b.Column(WholeColumn)
			require.Equal(t, batch.JSON, w.Kinds[0])
			require.Equal(t, c.want, string(b.Text(w.Bits[0])))
		}
	}
}
