package scenario_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/daemon/scenario"
)

// TestAnswers compares what is answered about files that were read.
func TestAnswers(t *testing.T) {
	for name, files := range map[string][]string{
		"one-file":  {"testdata/replay/a.txt"},
		"two-files": {"testdata/replay/a.txt", "testdata/replay/b.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			r, list, err := scenario.NewReplay("testdata/replay/clicks.toml", settings(t))
			require.NoError(t, list.Err())
			require.NoError(t, err)
			defer r.Close()
			var questions []*scenario.WindowQuestion
			for _, text := range []string{"alice@0", "bob@1970-01-01T00:00:10Z", "alice@10000", "carol@20000", "nobody@0"} {
				q, err := scenario.ParseWindow(text)
				require.NoError(t, err)
				require.NoError(t, r.Watch(q))
				questions = append(questions, q)
			}
			var inputs []scenario.Input
			for _, f := range files {
				inputs = append(inputs, scenario.Input{Source: "clicks", Path: f})
			}
			require.NoError(t, r.Feed(context.Background(), inputs...))
			var out strings.Builder
			for _, q := range questions {
				a, err := r.Window(q)
				require.NoError(t, err)
				out.WriteString(a.String() + "\n")
			}
			for _, n := range []int{1, 6, 7} {
				a, err := r.Record("", n)
				require.NoError(t, err)
				out.WriteString(a.String() + "\n")
			}
			for _, a := range append(r.Late(), r.Standing()...) {
				out.WriteString(a.String() + "\n")
			}
			golden(t, "testdata/replay/"+name+".want", out.String())
		})
	}
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	r, list, err := scenario.NewReplay("testdata/replay/clicks.toml", settings(t))
	require.NoError(t, list.Err())
	require.NoError(t, err)
	defer r.Close()
	_, err = scenario.ParseWindow("alice")
	require.ErrorContains(t, err, "KEY@START")
	_, err = scenario.ParseWindow("alice@noon")
	require.ErrorContains(t, err, "no time")
	require.ErrorContains(t, r.Watch(&scenario.WindowQuestion{Step: "per_usr"}), `did you mean "per_user"?`)
	q, err := scenario.ParseWindow("alice@3000")
	require.NoError(t, err)
	require.NoError(t, r.Watch(q))
	require.ErrorContains(t, r.Feed(context.Background(), scenario.Input{Source: "clicks", Path: "testdata/replay/nowhere.txt"}), "nowhere.txt")
	require.NoError(t, r.Feed(context.Background(), scenario.Input{Source: "clicks", Path: "testdata/replay/a.txt"}))
	_, err = r.Window(q)
	require.ErrorContains(t, err, "the one around it begins at 1970-01-01T00:00:00Z")
	_, err = r.Record("clicks", 99)
	require.ErrorContains(t, err, "8 records, so there is no record 99")
}

// Sessions that are open are told from their records also where each record says how long its gap is, and where sessions are cut.
func TestOpenSessionsAreExplained(t *testing.T) {
	r, list, err := scenario.NewReplay("testdata/replay/sessions.toml", settings(t))
	require.NoError(t, list.Err())
	require.NoError(t, err)
	defer r.Close()
	var questions []*scenario.WindowQuestion
	for _, text := range []string{"a@1050000", "b@1030000", "b@1149999", "b@1150000", "b@999000"} {
		q, err := scenario.ParseWindow(text)
		require.NoError(t, err)
		require.NoError(t, r.Watch(q))
		questions = append(questions, q)
	}
	require.NoError(t, r.Feed(context.Background(), scenario.Input{Source: "s", Path: "testdata/replay/sessions.jsonl"}))
	var out strings.Builder
	for _, q := range questions {
		if a, err := r.Window(q); err != nil {
			out.WriteString(err.Error() + "\n")
		} else {
			out.WriteString(a.String() + "\n")
		}
	}
	golden(t, "testdata/replay/sessions.want", out.String())
}

// A record that waits for other partitions is told as that.
func TestARecordThatWaitsForOthersIsExplained(t *testing.T) {
	r, list, err := scenario.NewReplay("testdata/pass/drift_partitions.toml", settings(t))
	require.NoError(t, list.Err())
	require.NoError(t, err)
	defer r.Close()
	dir := t.TempDir()
	inputs := make([]scenario.Input, 2)
	for i, text := range []string{"o1 0\n", "n1 100\n" + strings.Repeat("n 101\n", 600)} {
		path := filepath.Join(dir, []string{"old", "new"}[i])
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		inputs[i] = scenario.Input{Source: "files", Path: path}
	}
	require.NoError(t, r.Feed(context.Background(), inputs...))
	a, err := r.Record("files", 602)
	require.NoError(t, err)
	require.Contains(t, a.String(), "It has not been read yet: what stands before it is more than max_drift (1m) ahead of others")
	a, err = r.Record("files", 2)
	require.NoError(t, err)
	require.Contains(t, a.String(), "It was not late")
}
