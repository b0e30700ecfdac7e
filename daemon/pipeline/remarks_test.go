package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A window that stays open may have given results: early ones, those of a count, or one that late records would still change.
func TestWhatIsStillOpenIsNotSaidToHaveGivenNothing(t *testing.T) {
	s := Summary{Open: 3}
	require.Equal(t, []string{"3 windows are still open: nothing has said that their time is over, so what came since the last result, if there was one, is in none"}, s.Remarks())
	s.Open = 1
	require.Contains(t, s.Remarks()[0], "1 window is still open")
	s.Open = 0
	require.Empty(t, s.Remarks())
}
