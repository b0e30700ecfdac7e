package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidemark-stream/tidemark/cmd/tidemark/internal/scaffold"
	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

func TestOptionsOnTheCommandLineAreWrittenAsInAFile(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want sdktest.Options
	}{
		{"none", nil, sdktest.Options{}},
		{"a number, a boolean, a list", []string{"n=3", "fast=true", `hosts=["a","b"]`}, sdktest.Options{"n": int64(3), "fast": true, "hosts": []any{"a", "b"}}},
		{"a string needs no quotes", []string{"delay=5s", "path=/tmp/x y", `quoted="5"`}, sdktest.Options{"delay": "5s", "path": "/tmp/x y", "quoted": "5"}},
		{"a text that TOML takes for a date is a string", []string{"from=2026-01-01", "at=10:00:00"}, sdktest.Options{"from": "2026-01-01", "at": "10:00:00"}},
		{"quotes and backslashes in a string", []string{`text=it's "x" \d`}, sdktest.Options{"text": `it's "x" \d`}},
		{"a value with =", []string{"when=a == b"}, sdktest.Options{"when": "a == b"}},
		{"an empty value", []string{"text="}, sdktest.Options{"text": ""}},
		{"a dotted name leads into a table", []string{"tls.cert=a.pem", "tls.key=b.pem"}, sdktest.Options{"tls": map[string]any{"cert": "a.pem", "key": "b.pem"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseOptions(c.args)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	for _, wrong := range []string{"", "delay", "=5s", "a b=1"} {
		_, err := parseOptions([]string{wrong})
		require.Error(t, err, wrong)
	}
}

func TestWhereANewPluginFindsTheSDK(t *testing.T) {
	checkout, err := scaffold.FindCheckout(".")
	require.NoError(t, err)
	elsewhere := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "go.mod"), []byte("module example.com/other\n"), 0o600))

	s, err := whichSDK(filepath.Join(checkout, "sdk", "wire"), "v1.2.3")
	require.NoError(t, err)
	require.Equal(t, scaffold.SDK{Checkout: checkout}, s, "the checkout that was named, or that the named folder lies in")
	_, err = whichSDK(elsewhere, "v1.2.3")
	require.ErrorIs(t, err, scaffold.ErrNoCheckout)

	t.Chdir(elsewhere)
	s, err = whichSDK("", "v1.2.3")
	require.NoError(t, err)
	require.Equal(t, scaffold.SDK{Version: "v1.2.3"}, s, "outside of any checkout: the program's own version")
	_, err = whichSDK("", "development")
	require.ErrorContains(t, err, "--sdk DIR", "a version that nobody can fetch")
	t.Chdir(filepath.Join(checkout, "docs"))
	s, err = whichSDK("", "v1.2.3")
	require.NoError(t, err)
	require.Equal(t, scaffold.SDK{Checkout: checkout}, s, "inside of a checkout: the checkout")
}
