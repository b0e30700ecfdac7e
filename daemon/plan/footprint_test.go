package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompare edits a working file and says what that means for its state.
func TestCompare(t *testing.T) {
	before, problems := build(t, "f.toml", working)
	require.Empty(t, problems)
	require.Empty(t, Compare(before.Footprint(), before.Footprint()))
	for what, c := range map[string]struct{ old, new, want string }{
		"comments, sinks' formats and batches change nothing": {`plugin = "stdout"`, "plugin = \"stdout\"\nformat = \"text\"\ntemplate = \"{{.user}}\"\nbatch = { rows = 1 }", ""},
		"a filter has no state":                               {`user != 'bot'`, `user != 'robot'`, ""},
		"another window": {`size = "10s"`, `size = "1m"`,
			"window per_user: resets: window was tumbling windows of 10s, by event time, is tumbling windows of 1m, by event time; its open windows would be dropped"},
		"another key":           {`key_by    = ["user"]`, `key_by = ["ts"]`, "window per_user: resets: key_by was user, is ts; its open windows would be dropped"},
		"another aggregate":     {`events = "count()"`, `events = "count(ts)"`, "window per_user: resets: aggregate was events = count(), is events = count(ts); its open windows would be dropped"},
		"more lateness":         {`key_by    = ["user"]`, "key_by = [\"user\"]\nallowed_lateness = \"1m\"", "window per_user: keeps state: allowed_lateness was 0s, is 1m"},
		"another bound":         {`"5s"`, `"6s"`, `assigner clicks.time: keeps state: options was {"max_out_of_orderness":"5s"}, is {"max_out_of_orderness":"6s"}`},
		"another address":       {`localhost`, `example.org`, `source clicks: keeps state: options was {"address":"localhost:9999"}, is {"address":"example.org:9999"}`},
		"another source plugin": {"plugin  = \"socket\"\naddress = \"localhost:9999\"", "plugin = \"file\"\npath = \"x\"", "source clicks: resets: plugin was socket, is file; its positions would be dropped"},
		"another name": {`[transforms.per_user]`, `[transforms.by_user]`,
			"window per_user: resets: it is no longer there; its open windows would be dropped\nwindow by_user: starts without state: it was not there before"},
	} {
		t.Run(what, func(t *testing.T) {
			require.Contains(t, working, c.old)
			text := strings.Replace(working, c.old, c.new, 1)
			text = strings.Replace(text, `inputs = ["per_user"]`, `inputs = ["`+name(text)+`"]`, 1)
			after, problems := build(t, "f.toml", text)
			require.Empty(t, problems)

			// The old one comes from the store.
			stored, err := json.Marshal(before.Footprint())
			require.NoError(t, err)
			var old Footprint
			require.NoError(t, json.Unmarshal(stored, &old))
			var got []string
			for _, change := range Compare(old, after.Footprint()) {
				got = append(got, change.String())
			}
			require.Equal(t, c.want, strings.Join(got, "\n"))
		})
	}
}

func name(text string) string {
	if strings.Contains(text, "by_user]") {
		return "by_user"
	}
	return "per_user"
}
