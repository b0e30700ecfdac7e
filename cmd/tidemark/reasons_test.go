package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What sets a record aside is told to operators as it is: the guide has each reason, and no other.
func TestTheGuideHasEveryReason(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "docs/guide/operate.md"))
	require.NoError(t, err)
	table := "| reason | of a record |\n| --- | --- |\n"
	for _, r := range reasons {
		require.True(t, knownReason(r.code))
		table += fmt.Sprintf("| `%s` | %s |\n", r.code, r.meaning)
	}
	require.Contains(t, string(page), table+"\n")
}
